/* SPDX-License-Identifier: MIT */
/*
 * sized - measures a command as `jobmeter run` does, with maps of any size; or tells what each map
 * takes.
 *
 *     sized RECORD.json [MAP=ENTRIES]... -- COMMAND [ARGUMENT]...
 *     sized --maps [MAP=ENTRIES]...    "MAP TYPE ENTRIES BYTES KERNEL-SAYS" a line
 *
 * Where parked_syscalls is one of the maps, system calls are counted by name, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "cli/measure.h"
#include "load/meter.h"
#include "basic/parse.h"
#include "saved.h"

#define SIZES_MAX 16

static int fail(const char *what)
{
	fprintf(stderr, "sized: %s\n", what);
	return 1;
}

/* The arguments of the form MAP=ENTRIES, of which it cuts off the number.  Returns how many. */
static int take_sizes(char **argv, struct map_size sizes[SIZES_MAX])
{
	int count = 0;

	for (; argv[count] && strcmp(argv[count], "--") != 0 && count < SIZES_MAX - 1; count++) {
		char *number = strchr(argv[count], '=');
		int entries;

		if (!number || parse_int(number + 1, 1, 1 << 24, &entries) < 0)
			return -EINVAL;
		*number = '\0';
		sizes[count] = (struct map_size){ argv[count], (unsigned int)entries };
	}
	return count;
}

static bool names_syscalls(const struct map_size *sizes)
{
	for (; sizes->map; sizes++) {
		if (strcmp(sizes->map, "parked_syscalls") == 0)
			return true;
	}
	return false;
}

/* The kernel's own figure. */
static uint64_t ask_kernel(int fd)
{
	char path[64], text[1024];
	uint64_t bytes;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) < 0 ||
	    parse_keyed_u64(text, "memlock", ':', &bytes) < 0)
		return 0;
	return bytes;
}

static int tell_maps(const struct map_size *sizes)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct meter_options options = { .root_fd = root_fd,
					       .tiers = METER_ALL,
					       .has_clock = true,
					       .has_histograms = true,
					       .sizes = sizes,
					       .names_syscalls = names_syscalls(sizes),
					       .watched_id = UINT64_MAX };
	_cleanup_(meter_closep) struct meter *meter = NULL;
	struct object_map maps[MAPS_MAX];
	size_t count;

	if (meter_open(&options, &meter) < 0)
		return fail("cannot open a meter");
	count = meter_list_maps(meter, maps);
	for (size_t i = 0; i < count; i++)
		printf("%s %u %u %" PRIu64 " %" PRIu64 "\n", maps[i].form.name, maps[i].form.type,
		       maps[i].form.entries, maps[i].bytes, ask_kernel(maps[i].fd));
	return 0;
}

static int measure(const char *file, const struct map_size *sizes, char **command)
{
	const struct measure_options options = { .root = "/",
						 .tiers = METER_ALL,
						 .map_sizes = sizes,
						 .names_syscalls = names_syscalls(sizes) };
	struct error err = {};
	int code = saved_measure(&options, command, file, &err);

	return code < 0 ? fail(err.text) : code;
}

int main(int argc, char **argv)
{
	struct map_size sizes[SIZES_MAX] = {};
	int count = argc > 1 ? take_sizes(argv + 2, sizes) : -EINVAL;

	if (count >= 0 && strcmp(argv[1], "--maps") == 0)
		return tell_maps(sizes);
	if (count < 0 || !argv[2 + count] || !argv[3 + count])
		return fail("usage: sized RECORD.json [MAP=ENTRIES]... -- COMMAND [ARGUMENT]...");
	return measure(argv[1], sizes, argv + 3 + count);
}
