/* SPDX-License-Identifier: MIT */
/*
 * pinned - a meter that outlives its process, for the test that ends it.
 *
 *     pinned --key                                  the directory of the key hierarchy
 *     pinned PIN_DIR GROUP-ID [MAP=ENTRIES]...      watch that group; answers a line for each word
 * on its input
 *
 * Words: "read" (what was done by operation, in each row that has a mount), "seal", "keep", "close"
 * and "hooks". The first line tells how it began.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "selftest/canary.h"
#include "basic/cleanup.h"
#include "counters/cgroups.h"
#include "counters/task_sums.h"
#include "basic/error.h"
#include "cgroup/hierarchy.h"
#include "load/meter.h"
#include "basic/parse.h"

#define SIZES_MAX 16
#define SETTLE_MS 200

static int fail(const char *what)
{
	fprintf(stderr, "pinned: %s\n", what);
	return 1;
}

static int take_sizes(char **argv, struct map_size sizes[SIZES_MAX])
{
	for (int i = 0; argv[i]; i++) {
		char *number = strchr(argv[i], '=');
		int entries;

		if (!number || i == SIZES_MAX - 1 ||
		    parse_int(number + 1, 1, 1 << 24, &entries) < 0)
			return -EINVAL;
		*number = '\0';
		sizes[i] = (struct map_size){ argv[i], (unsigned int)entries };
	}
	return 0;
}

static int tell_key(const struct hierarchy *h)
{
	printf("%s\n", h->is_v2 ? h->v2_mount : h->mount[h->key]);
	return 0;
}

static void tell_ops(const struct mount_row *row)
{
	for (size_t op = 0; op < OP_COUNT; op++) {
		if (row->ops[op].calls)
			printf(" %s,%s,%" PRIu64 ",%" PRIu64, row->mount,
			       file_op_name((enum file_op)op), row->ops[op].calls,
			       row->ops[op].bytes);
	}
}

static int tell_reading(struct meter *m)
{
	_cleanup_(reading_clear) struct reading reading = {};
	struct error err = {};

	(void)task_sums_wait(m, SETTLE_MS); /* the test sees whether all are in */
	if (counted_all_read(m, &reading, &err) < 0)
		return fail(err.text);
	printf("ended=%" PRIu64, (uint64_t)reading.values[METRIC_TASKS_ENDED].number);
	for (size_t i = 0; i < reading.mount_count; i++) {
		if (reading.mounts[i].kind == ROW_MOUNT)
			tell_ops(&reading.mounts[i]);
	}
	printf("\n");
	return 0;
}

static int tell_hooks(const struct meter *m)
{
	size_t count;
	const struct hook *hooks = meter_hooks(m, &count);

	for (size_t i = 0; i < count; i++)
		printf("%s:%d%d:%s%s", hooks[i].program, hooks[i].is_on, hooks[i].is_checked,
		       hooks[i].why, i + 1 < count ? "; " : "\n");
	return 0;
}

static int answer(struct meter *m, const char *word)
{
	struct error err = {};

	if (strcmp(word, "read") == 0)
		return tell_reading(m);
	if (strcmp(word, "hooks") == 0)
		return tell_hooks(m);
	if (strcmp(word, "keep") == 0)
		meter_keep(m);
	else if (strcmp(word, "seal") != 0 || meter_seal(m, &err) < 0)
		return fail(*err.text ? err.text : "no such word");
	printf("ok\n");
	return 0;
}

static int begin(struct meter *m, int root_fd, const struct hierarchy *h, uint64_t id)
{
	struct error err = {};

	if (!meter_is_taken_over(m) && canary_run(m, root_fd, h, id, false, &err) < 0)
		return fail(err.text);
	printf("%s%s\n", meter_is_taken_over(m) ? "taken" : "made",
	       meter_has_removed_pins(m) ? ", removed" : "");
	return 0;
}

static int serve(int root_fd, const struct hierarchy *h, const char *pin_dir, uint64_t id,
		 const struct map_size *sizes)
{
	const struct meter_options options = { .root_fd = root_fd,
					       .tiers = METER_ALL,
					       .has_clock = true,
					       .has_histograms = true,
					       .sizes = sizes,
					       .watched_id = id,
					       .hierarchy = h,
					       .pin_dir = pin_dir };
	_cleanup_(meter_closep) struct meter *m = NULL;
	char word[32];
	int r;

	if (meter_open(&options, &m) < 0)
		return fail("cannot open a meter");
	if (meter_why_unpinned(m))
		return fail(meter_why_unpinned(m));
	r = begin(m, root_fd, h, id);
	while (r == 0 && fgets(word, sizeof(word), stdin)) {
		word[strcspn(word, "\n")] = '\0';
		if (strcmp(word, "close") == 0)
			break;
		r = answer(m, word);
	}
	return r;
}

int main(int argc, char **argv)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	struct map_size sizes[SIZES_MAX] = {};
	struct error err = {};
	uint64_t id;

	setlinebuf(stdout);
	if (hierarchy_read(root_fd, &h, &err) < 0)
		return fail(err.text);
	if (argc == 2 && strcmp(argv[1], "--key") == 0)
		return tell_key(&h);
	if (argc < 3 || parse_u64(argv[2], &id) < 0 || take_sizes(argv + 3, sizes) < 0)
		return fail("usage: pinned PIN_DIR GROUP-ID [MAP=ENTRIES]...");
	return serve(root_fd, &h, argv[1], id, sizes);
}
