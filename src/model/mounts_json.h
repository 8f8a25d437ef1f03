/* SPDX-License-Identifier: MIT */
/* mounts_json - the mounts of a reading as a record's member `io`, a list, and back; of one that
 * has sums in their place `io_sums`. */
#pragma once

#include <jansson.h>

struct document;
struct place;
struct reading;

/* null where nobody looked at files. */
void reading_format_mounts(const struct reading *r, struct document *d);

/* @list is found at @place.  @ret has no mounts before, and is known to have some from then on.
 * -EINVAL: the place's error says why. */
int reading_parse_mounts(const struct place *place, const json_t *list, struct reading *ret);

/* The same of sums, which there are. */
void reading_format_sums(const struct reading *r, struct document *d);
int reading_parse_sums(const struct place *place, const json_t *list, struct reading *ret);
