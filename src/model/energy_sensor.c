/* SPDX-License-Identifier: MIT */
#include "model/energy_sensor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"

static const char *const levels[ENERGY_LEVEL_COUNT] = {
	[ENERGY_NODE] = "node",
	[ENERGY_COMPONENT] = "component",
	[ENERGY_PART] = "part",
};

static const char *const parts[ENERGY_PART_COUNT] = {
	[ENERGY_ALL] = "node",	    [ENERGY_PACKAGE] = "package", [ENERGY_MEMORY] = "memory",
	[ENERGY_GPU] = "gpu",	    [ENERGY_MODULE] = "module",	  [ENERGY_CORES] = "cores",
	[ENERGY_UNCORE] = "uncore", [ENERGY_IO] = "io",
};

static const char *const qualities[ENERGY_QUALITY_COUNT] = {
	[ENERGY_MEASURED] = "measured",
	[ENERGY_ATTRIBUTED] = "attributed",
	[ENERGY_ESTIMATED] = "estimated",
	[ENERGY_GAP] = "gap",
};

int energy_readings_add(struct energy_readings *list, const struct energy_reading *one)
{
	int r;

	if (list->count >= ENERGY_SENSORS_MAX)
		return -ENOSPC;
	r = array_reserve(&list->items, &list->room, list->count, sizeof(*list->items));
	if (r < 0)
		return r;
	list->items[list->count++] = *one;
	return 0;
}

int energy_readings_add_all(struct energy_readings *to, const struct energy_readings *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->count; i++)
		r = energy_readings_add(to, &from->items[i]);
	to->unheld_uj += from->unheld_uj;
	return r;
}

void energy_readings_clear(struct energy_readings *list)
{
	free(list->items);
	*list = (struct energy_readings){};
}

const char *energy_level_name(enum energy_level level)
{
	return levels[level];
}

const char *energy_part_name(enum energy_part part)
{
	return parts[part];
}

const char *energy_quality_name(enum energy_quality quality)
{
	return qualities[quality];
}

static bool find(const char *const *names, size_t count, const char *name, size_t *ret)
{
	for (*ret = 0; *ret < count; (*ret)++) {
		if (strcmp(names[*ret], name) == 0)
			return true;
	}
	return false;
}

bool energy_level_find(const char *name, enum energy_level *ret)
{
	size_t i;
	const bool is_found = find(levels, ENERGY_LEVEL_COUNT, name, &i);

	*ret = is_found ? (enum energy_level)i : *ret;
	return is_found;
}

bool energy_part_find(const char *name, enum energy_part *ret)
{
	size_t i;
	const bool is_found = find(parts, ENERGY_PART_COUNT, name, &i);

	*ret = is_found ? (enum energy_part)i : *ret;
	return is_found;
}

bool energy_quality_find(const char *name, enum energy_quality *ret)
{
	size_t i;
	const bool is_found = find(qualities, ENERGY_QUALITY_COUNT, name, &i);

	*ret = is_found ? (enum energy_quality)i : *ret;
	return is_found;
}
