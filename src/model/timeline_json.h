/* SPDX-License-Identifier: MIT */
/*
 * timeline_json - a timeline as a record's member `timeline`, and back; and as an agent writes it
 * down to go on with it.
 */
#pragma once

#include <jansson.h>

struct document;
struct place;
struct timeline;

/* There has to be one. */
void timeline_format(const struct timeline *t, struct document *d);

/* @map is found at @place.  Fills @ret, which must be empty; series of other names are passed over.
 * -EINVAL: the place's error says why, and @ret is empty. */
int timeline_parse(const struct place *place, const json_t *map, struct timeline *ret);

/* The same with all that timeline_feed() wants to know, and short: in a series' list a number below
 * zero says how often the one before it comes once more. */
int timeline_save(const struct timeline *t, struct document *d); /* -ENOMEM */
int timeline_restore(const struct place *place, const json_t *map, struct timeline *ret);
