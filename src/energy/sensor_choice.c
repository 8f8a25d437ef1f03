/* SPDX-License-Identifier: MIT */
#include "energy/sensor_choice.h"

#include <string.h>

static bool is_counted_level(const struct energy_sensor *s)
{
	return s->level == ENERGY_NODE || s->level == ENERGY_COMPONENT;
}

/* Anything that an estimate covers; GPUs are not. */
static bool has_measured(const struct energy_readings *readings)
{
	for (size_t i = 0; i < readings->count; i++) {
		const struct energy_sensor *s = &readings->items[i].sensor;

		if (is_counted_level(s) && s->quality == ENERGY_MEASURED &&
		    energy_pool_of(s) != POOL_GPU)
			return true;
	}
	return false;
}

/* A duplicate of another sensor. */
static bool is_same_thing(const struct energy_sensor *a, const struct energy_sensor *b)
{
	return a->level == b->level && a->part == b->part &&
	       (a->level == ENERGY_NODE || a->socket == b->socket || a->source != b->source);
}

static bool is_beaten(const struct energy_readings *readings, size_t index, bool is_measured)
{
	const struct energy_sensor *s = &readings->items[index].sensor;

	for (size_t i = 0; i < readings->count; i++) {
		const struct energy_sensor *other = &readings->items[i].sensor;

		if (i == index || !is_same_thing(s, other) ||
		    (is_measured && other->quality != ENERGY_MEASURED))
			continue;
		if (other->rank < s->rank || (other->rank == s->rank && i < index))
			return true;
	}
	return false;
}

static bool has_inside(const struct energy_readings *readings, const struct energy_sensor *board)
{
	for (size_t i = 0; i < readings->count; i++) {
		const struct energy_sensor *s = &readings->items[i].sensor;

		if (s != board && s->level == ENERGY_COMPONENT && board->contains & 1u << s->part &&
		    (s->socket == board->socket || s->socket == ENERGY_SOCKET_ANY))
			return true;
	}
	return false;
}

void energy_choose(const struct energy_readings *readings, bool ret[ENERGY_SENSORS_MAX])
{
	const bool is_measured = has_measured(readings);

	for (size_t i = 0; i < readings->count; i++) {
		const struct energy_sensor *s = &readings->items[i].sensor;

		ret[i] = is_counted_level(s) && (!is_measured || s->quality == ENERGY_MEASURED) &&
			 !is_beaten(readings, i, is_measured) && !has_inside(readings, s);
	}
}

enum energy_pool energy_pool_of(const struct energy_sensor *sensor)
{
	if (sensor->level == ENERGY_NODE)
		return POOL_NODE;
	if (sensor->part == ENERGY_MEMORY)
		return POOL_MEMORY;
	return sensor->part == ENERGY_GPU ? POOL_GPU : POOL_PACKAGE;
}
