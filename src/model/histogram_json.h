/* SPDX-License-Identifier: MIT */
/* histogram_json - a histogram in a record's text: a list of counts, that ends with the last which
 * is not zero. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct document;
struct histogram;
struct metric;
struct place;

/* Write "KEY: [COUNTS]"; null where @h is NULL. */
void histogram_format(const struct metric *metric, const struct histogram *h, struct document *d);

/* The member of @map of that metric's key, added to an empty @ret.  *ret_is_known: it is there. */
int histogram_take(const struct place *place, const json_t *map, const struct metric *metric,
		   struct histogram *ret, bool *ret_is_known);
