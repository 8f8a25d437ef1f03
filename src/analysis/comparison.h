/* SPDX-License-Identifier: MIT */
/* comparison - the differences between two records, number by number. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analysis/variables.h"

struct document;

struct change {
	const struct variable *variable;
	const char *mount; /* of a variable of one; else NULL; the record's */
	struct amount before, after;
	unsigned int place; /* among the numbers that are always compared first, from 1; 0: it is
			       not one of them */
	double weight; /* how much it changed, the same for up and down; from or to nothing is the
			  most */
	bool is_large; /* not noise: at least a twentieth, and enough to be noticed */
};

/* What everybody asks of a job first, in this order. */
struct first_number {
	const char *variable, *label; /* "elapsed_seconds", "elapsed" */
};
#define FIRST_NUMBERS 6
extern const struct first_number first_numbers[FIRST_NUMBERS];

struct comparison { /* begins as {}; must not outlive the variables and both records */
	struct change *items; /* elapsed and CPU time, cores, memory, bytes read and written, then
				 by the size of the change, noise last */
	size_t count;
};

/* All numbers that both know, but those that are 0 in both.  -ENOMEM. */
int comparison_make(const struct variables *variables, const struct record *before,
		    const struct record *after, struct comparison *ret);
void comparison_clear(struct comparison *c);

/* After less before, and after by before (not known from 0). */
struct amount change_difference(const struct change *change);
struct amount change_ratio(const struct change *change);

/* A list of maps. */
void comparison_format(const struct comparison *c, struct document *d);
