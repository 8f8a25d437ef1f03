/* SPDX-License-Identifier: MIT */
/* timeline_json - a timeline as an agent writes it down to go on with it; timeline_section is that
 * of a record. */
#pragma once

#include <jansson.h>

struct document;
struct place;
struct timeline;

/* As a record's section with all that timeline_feed() wants to know, and short: in a series' list a
 * number below zero says how often the one before it comes once more. */
int timeline_save(const struct timeline *t, struct document *d); /* -ENOMEM */
int timeline_restore(const struct place *place, const json_t *map, struct timeline *ret);
