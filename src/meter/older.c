/* SPDX-License-Identifier: MIT */
#include "older.h"

#include <stdio.h>

void older_note(struct older *o, enum object_id id, const char *why)
{
	snprintf(o->why[id], sizeof(o->why[id]), "%s", *why ? why : "no reason given");
}

bool older_is(const struct older *o, enum object_id id)
{
	return *o->why[id] != '\0';
}

size_t older_count(const struct older *o)
{
	size_t count = 0;

	for (size_t id = 0; id < OBJECT_COUNT; id++)
		count += older_is(o, (enum object_id)id);
	return count;
}
