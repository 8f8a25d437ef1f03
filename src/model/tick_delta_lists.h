/* SPDX-License-Identifier: MIT */
/* tick_delta_lists - the lists of numbers of a tick_delta, and the names by whose places they stand. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "json_place.h"
#include "record.h"

#define DELTA_NAMES_MAX 256 /* of one list: so many a newer agent may have */

struct delta_names { /* what the places of a list are here; SIZE_MAX: a name that we do not know, its numbers are left out */
	size_t of[DELTA_NAMES_MAX];
	size_t count;
};

struct delta_lists { /* begins as {} */
	struct delta_names values, fields, ops, ways, sockets, network;
	const json_t *mounts; /* the document's; NULL: files were not looked at */
	bool has_seconds;
};

/* The names, out of the whole document, which must outlive them. */
int delta_lists_take(const struct place *place, const json_t *root, struct delta_lists *ret);

/* Lists of a job's @map; one that is not there leaves @to as it is.  -EINVAL: it is no such list. */
int delta_take_values(const struct delta_lists *lists, const struct place *place, const json_t *map,
		      struct value to[METRIC_JOB_COUNT]);
int delta_take_fields(const struct delta_lists *lists, const struct place *place, const json_t *map, struct record *to);
int delta_take_network(const struct delta_lists *lists, const struct place *place, const json_t *map,
		       struct network *to);
/* Those of @before (NULL: there are none) where there is no list; @to has none yet. */
int delta_take_rows(const struct delta_lists *lists, const struct place *place, const json_t *map,
		    const struct reading *before, struct reading *to);
