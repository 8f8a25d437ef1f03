/* SPDX-License-Identifier: MIT */
#include "sources/sensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/file.h"
#include "basic/dir.h"
#include "basic/macro.h"

#define NAMES_MAX 4096 /* in one directory */
#define NAME_MAX_LENGTH 60 /* the kernel's own are shorter; what was cut would be another's */

/* clang-format off */
static const char *const hwmon_suffixes[] = { "_input", "_average" };
static const struct fixed { const char *source, *name, *path; } fixed[] = {
	{ "ipmi",        "DCMI power", "dev/ipmi0" },
	{ "pm_counters", "energy",     "sys/cray/pm_counters/energy" },
	{ "pm_counters", "power",      "sys/cray/pm_counters/power" },
};
/* clang-format on */

static int add(struct sensors *s, int root_fd, const char *source, const char *path,
	       const char *name)
{
	_cleanup_close_ int fd = -EBADF;
	struct sensor *items;

	if (s->count == SENSORS_MAX || strlen(path) >= sizeof(items->path))
		return 0;
	items = reallocarray(s->items, s->count + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	s->items = items;
	items[s->count] = (struct sensor){ .source = source };
	snprintf(items[s->count].name, sizeof(items->name), "%.63s", name);
	snprintf(items[s->count].path, sizeof(items->path), "%s", path);
	fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	items[s->count].is_readable = fd >= 0;
	s->count++;
	return 0;
}

static void read_name(int root_fd, const char *path, const char *otherwise, char *ret, size_t size)
{
	(void)file_read_small(root_fd, path, ret, size);
	ret[strcspn(ret, "\n")] = '\0';
	if (!*ret)
		snprintf(ret, size, "%.60s", otherwise);
}

/* Zones and the zones in them; intel-rapl-mmio is the same package a second time. */
static int read_powercap(int root_fd, struct sensors *s)
{
	_cleanup_(dir_clear) struct dir zones = {};
	int r = 0;

	if (dir_read(root_fd, "sys/class/powercap", NAMES_MAX, &zones) < 0)
		return 0;
	for (size_t i = 0; i < zones.count && r >= 0; i++) {
		const char *zone = zones.names[i];
		char path[320], name[64];

		if (!strchr(zone, ':') || strncmp(zone, "intel-rapl-mmio", 15) == 0)
			continue;
		snprintf(path, sizeof(path), "sys/class/powercap/%s/name", zone);
		read_name(root_fd, path, zone, name, sizeof(name));
		snprintf(path, sizeof(path), "sys/class/powercap/%s/energy_uj", zone);
		if (faccessat(root_fd, path, F_OK, 0) == 0)
			r = add(s, root_fd, "powercap", path, name);
	}
	return r;
}

/* "energy1_input", "power1_average". */
static bool is_hwmon_figure(const char *file)
{
	const char *suffix = strchr(file, '_');

	if (!suffix || strlen(file) > NAME_MAX_LENGTH ||
	    (strncmp(file, "energy", 6) != 0 && strncmp(file, "power", 5) != 0))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(hwmon_suffixes); i++) {
		if (strcmp(suffix, hwmon_suffixes[i]) == 0)
			return true;
	}
	return false;
}

/* @dir: the chip's, or of older drivers its device's. */
static int read_figures(int root_fd, const char *name, const char *dir, struct sensors *s)
{
	_cleanup_(dir_clear) struct dir files = {};
	char path[320], label[136];
	int r = 0;

	if (dir_read(root_fd, dir, NAMES_MAX, &files) < 0)
		return 0;
	for (size_t i = 0; i < files.count && r >= 0; i++) {
		if (!is_hwmon_figure(files.names[i]))
			continue;
		snprintf(path, sizeof(path), "%.160s/%.60s", dir, files.names[i]);
		snprintf(label, sizeof(label), "%s %.*s", name, (int)strcspn(files.names[i], "_"),
			 files.names[i]);
		r = add(s, root_fd, "hwmon", path, label);
	}
	return r;
}

static int read_chip(int root_fd, const char *chip, struct sensors *s)
{
	const size_t before = s->count;
	char dir[160], own[64], name[64];
	int r;

	snprintf(dir, sizeof(dir), "sys/class/hwmon/%.60s/device/name", chip);
	read_name(root_fd, dir, chip, own, sizeof(own));
	snprintf(dir, sizeof(dir), "sys/class/hwmon/%.60s/name", chip);
	read_name(root_fd, dir, own, name, sizeof(name));
	snprintf(dir, sizeof(dir), "sys/class/hwmon/%.60s", chip);
	r = read_figures(root_fd, name, dir, s);
	if (r < 0 || s->count > before)
		return r;
	snprintf(dir, sizeof(dir), "sys/class/hwmon/%.60s/device", chip);
	return read_figures(root_fd, name, dir, s);
}

static int read_hwmon(int root_fd, struct sensors *s)
{
	_cleanup_(dir_clear) struct dir chips = {};
	int r = 0;

	if (dir_read(root_fd, "sys/class/hwmon", NAMES_MAX, &chips) < 0)
		return 0;
	for (size_t i = 0; i < chips.count && r >= 0; i++) {
		if (strlen(chips.names[i]) <= NAME_MAX_LENGTH)
			r = read_chip(root_fd, chips.names[i], s);
	}
	return r;
}

int sensors_read(int root_fd, struct sensors *ret)
{
	_cleanup_(sensors_clear) struct sensors s = {};
	int r = read_powercap(root_fd, &s);

	if (r >= 0)
		r = read_hwmon(root_fd, &s);
	for (size_t i = 0; i < ARRAY_SIZE(fixed) && r >= 0; i++) {
		if (faccessat(root_fd, fixed[i].path, F_OK, 0) == 0)
			r = add(&s, root_fd, fixed[i].source, fixed[i].path, fixed[i].name);
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
