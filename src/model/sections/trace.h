/* SPDX-License-Identifier: MIT */
/*
 * trace - what functions a traced job called, by set and function: calls, time and bytes.
 *
 * It is of the time in which somebody traced, and of the functions that he asked for; so a part
 * that nobody traced adds nothing to a sum, which is known where any part is.  The first
 * TRACED_FUNCTIONS_MAX that are called have rows of their own; what comes then is one row,
 * "(other)/(other)".  Names are those of probe sets, and never a text of the job's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/metric.h"

struct parts;
struct record;
struct shape;

#define TRACED_FUNCTIONS_MAX 128 /* beside "(other)" */
#define TRACED_NAME_MAX 63 /* bytes, of a set and of a function */
#define TRACED_NUMBERS (METRIC_TRACE_END - METRIC_TRACE_FIRST)

struct traced_function {
	char set[TRACED_NAME_MAX + 1], function[TRACED_NAME_MAX + 1]; /* "mpi-io", "MPI_File_open"
								       */
	uint64_t numbers[TRACED_NUMBERS]; /* by metric, from METRIC_TRACE_FIRST on */
};

struct traced_calls {
	bool is_known;
	/* The time of each trace, times the processes that called any of them: of this time, calls
	 * took a share. */
	uint64_t process_ns;
	struct traced_function *items; /* owned */
	size_t count;
};

const struct traced_calls *traced_calls_of(const struct record *r);
const struct traced_calls *traced_calls_of_parts(const struct parts *p); /* never NULL */

uint64_t *traced_number_ref(struct traced_function *f, enum metric_id id);
uint64_t traced_number(const struct traced_function *f, enum metric_id id);
uint64_t traced_total(const struct traced_calls *c, enum metric_id id);

/* The row of that function, which is added if there is none, or that of all others; the list's
 * until its next call.  -EINVAL: they are no such names: some 1 to 63 printable characters of
 * ASCII, but
 * '"' and '\\', and in a set's no '/'; -ENOMEM. */
int traced_get(struct traced_calls *c, const char *set, const char *function,
	       struct traced_function **ret);

/* What is in @now and not in @before goes into @ret, which begins as {}; what is less than it was
 * adds nothing.  -ENOMEM. */
int traced_difference(const struct traced_calls *now, const struct traced_calls *before,
		      struct traced_calls *ret);

/* Leaves it empty, and unknown. */
void traced_calls_clear(void *section); /* struct traced_calls */

extern const struct shape traced_shape; /* for structures that have one among other members */
