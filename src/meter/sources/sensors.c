/* SPDX-License-Identifier: MIT */
#include "sources/sensors.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/file.h"
#include "basic/macro.h"

#define FIGURES "{energy*_input,power*_{input,average}}"
#define OLDER "/device/" /* where files of older drivers are, unless the chip has them itself */

/* clang-format off */
static const struct kind {
	const char *source, *pattern; /* below the root */
	const char *name; /* NULL: its directory has one */
	bool has_figures; /* several in a directory, named by their files */
} kinds[] = {
	{ "powercap",    "sys/class/powercap/intel-rapl:*/energy_uj", NULL,         false }, /* -mmio is the same package again */
	{ "hwmon",       "sys/class/hwmon/*/" FIGURES,                NULL,         true },
	{ "hwmon",       "sys/class/hwmon/*" OLDER FIGURES,           NULL,         true },
	{ "ipmi",        "dev/ipmi0",                                 "DCMI power", false },
	{ "pm_counters", "sys/cray/pm_counters/energy",               "energy",     false },
	{ "pm_counters", "sys/cray/pm_counters/power",                "power",      false },
};
/* clang-format on */

/* A file names the directory, or its device; else its own name does. */
static void read_name(int root_fd, const char *dir, char *ret, size_t size)
{
	static const char *const files[] = { "name", "device/name" };
	char path[192];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		(void)file_read_one_line(root_fd, path, ret, size);
		if (*ret)
			return;
	}
	snprintf(ret, size, "%.60s", strrchr(dir, '/') + 1);
}

static int add(struct sensors *s, int root_fd, const struct kind *kind, const char *path)
{
	const char *older = strstr(path, OLDER), *file = strrchr(path, '/');
	char dir[128], newer[192], name[64] = "";
	_cleanup_close_ int fd = -EBADF;
	struct sensor *items;

	if (s->count == SENSORS_MAX || strlen(path) >= sizeof(items->path))
		return 0;
	snprintf(dir, sizeof(dir), "%.*s", (int)((older ? older : file) - path), path);
	snprintf(newer, sizeof(newer), "%s%s", dir, file);
	if (older && faccessat(root_fd, newer, F_OK, 0) == 0)
		return 0;
	items = reallocarray(s->items, s->count + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	s->items = items;
	items = &items[s->count++];
	*items = (struct sensor){ .source = kind->source };
	snprintf(items->path, sizeof(items->path), "%s", path);
	if (!kind->name)
		read_name(root_fd, dir, name, sizeof(name));
	snprintf(items->name, sizeof(items->name), "%s%s%.*s", kind->name ? kind->name : name,
		 kind->has_figures ? " " : "", kind->has_figures ? (int)strcspn(file + 1, "_") : 0,
		 file + 1);
	fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	items->is_readable = fd >= 0;
	return 0;
}

int sensors_read(int root_fd, struct sensors *ret)
{
	_cleanup_(sensors_clear) struct sensors s = {};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == 0; i++) {
		char pattern[160];
		int root = snprintf(pattern, sizeof(pattern), "/proc/self/fd/%d/", root_fd);
		glob_t found = {};

		snprintf(pattern + root, sizeof(pattern) - (size_t)root, "%s", kinds[i].pattern);
		if (glob(pattern, GLOB_BRACE, NULL, &found) == GLOB_NOSPACE)
			r = -ENOMEM;
		for (size_t k = 0; k < found.gl_pathc && r == 0; k++)
			r = add(&s, root_fd, &kinds[i], found.gl_pathv[k] + root);
		globfree(&found);
	}
	if (r < 0)
		return r;
	*ret = s;
	s = (struct sensors){};
	return 0;
}

void sensors_clear(struct sensors *s)
{
	free(s->items);
	*s = (struct sensors){};
}
