/* SPDX-License-Identifier: MIT */
#include "model/energy_sensor.h"

#include <errno.h>
#include <stdlib.h>

#include "basic/array.h"

const char *const energy_level_names[ENERGY_LEVEL_COUNT] = {
	[ENERGY_NODE] = "node",
	[ENERGY_COMPONENT] = "component",
	[ENERGY_PART] = "part",
};

const char *const energy_part_names[ENERGY_PART_COUNT] = {
	[ENERGY_ALL] = "node",	    [ENERGY_PACKAGE] = "package", [ENERGY_MEMORY] = "memory",
	[ENERGY_GPU] = "gpu",	    [ENERGY_MODULE] = "module",	  [ENERGY_CORES] = "cores",
	[ENERGY_UNCORE] = "uncore", [ENERGY_IO] = "io",
};

const char *const energy_quality_names[ENERGY_QUALITY_COUNT] = {
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
	return energy_level_names[level];
}

const char *energy_part_name(enum energy_part part)
{
	return energy_part_names[part];
}

const char *energy_quality_name(enum energy_quality quality)
{
	return energy_quality_names[quality];
}
