/* SPDX-License-Identifier: MIT */
#include "basic/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 16

int array_reserve(void *items, size_t *room, size_t count, size_t size)
{
	size_t wanted = *room ? *room * 2 : ROOM_MIN;
	void *at;

	if (count < *room)
		return 0;
	memcpy(&at, items, sizeof(at)); /* of whatever type it is */
	at = reallocarray(at, wanted, size);
	if (!at)
		return -ENOMEM;
	memcpy(items, &at, sizeof(at));
	*room = wanted;
	return 0;
}

int array_compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int array_compare_floats(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}
