/* SPDX-License-Identifier: MIT */
/* metric_json - metrics' numbers in a record's text: in their unit, null where not known. */
#pragma once

#include <jansson.h>

#include "model/reading.h"

struct document;
struct place;

/* Write "KEY: NUMBER". */
void metric_format(const struct metric *metric, bool is_known, uint64_t number, struct document *d);
/* A histogram is a list of counts that ends with the last which is not zero.
 * Write "KEY: [COUNTS]"; null where @h is NULL. */
void histogram_format(const struct metric *metric, const struct histogram *h, struct document *d);

/* The member of @map of that metric's key, added to an empty @ret.  *ret_is_known: it is there. */
int histogram_take(const struct place *place, const json_t *map, const struct metric *metric,
		   struct histogram *ret, bool *ret_is_known);

/* The number of that key, in units of 10^-@places; not known where there is none.  -EINVAL: it is
 * no number. */
int value_take(const struct place *place, const json_t *map, const char *key, unsigned int places,
	       struct value *ret);

/* Write the members of one section of a job's values ("cpu"), and each section right below it
 * ("cpu.causes") as a map among them. */
void values_format(const struct value *values, const char *section, struct document *d);
/* The same back; @map is the section's, or NULL. */
int values_take(const struct place *place, const json_t *map, const char *section,
		struct value *values);

/* Is any member right in that section known? */
bool values_know(const struct value *values, const char *section);

/* All sections, each a map, but what some kernels do not have at all (pressure) only where
 * something of it is known; and back. */
/* Some machines have no such thing at all: then the section is not written. */
bool metric_section_is_optional(const char *section);
void values_format_all(const struct value *values, struct document *d);
int values_take_all(const struct place *place, const json_t *map, struct value *values);
