/* SPDX-License-Identifier: MIT */
/*
 * efficiency - used over allocated, the reasons for the difference, and a score.
 *
 * The score is 100 times the mean of used over allocated, weighted by the bill of each resource;
 * without a site's weights only cores count. Unknown parts are left out, and listed: they are never
 * zero.
 */
#pragma once

#include <stddef.h>

#include "analysis/amount.h"
#include "analysis/core_time.h"

struct billing;
struct document;
struct record;

#define EFFICIENCY_FORMULA 2 /* goes up when the same record would give another score */

/* used/allocated of the cores as a product: touched x balance x not_blocked x not_waiting x other.
 */
enum chain_link {
	CHAIN_USED, /* cores that worked at all, of those allocated */
	CHAIN_BALANCE, /* how evenly these worked */
	CHAIN_NOT_BLOCKED, /* of the time in which there was something to do: not lost to files,
			      locks... */
	CHAIN_NOT_WAITING, /* of the rest: not lost to waiting for a CPU, or for one that was stolen
			    */
	CHAIN_OTHER, /* the rest: work did not last all of the time */
	CHAIN_COUNT,
};

enum resource { RESOURCE_CORES, RESOURCE_MEMORY, RESOURCE_COUNT };

struct use {
	struct amount used, allocated, share;
};

#define EFFICIENCY_PARTS 5

struct efficiency {
	struct use uses[RESOURCE_COUNT];
	struct amount chain[CHAIN_COUNT];
	struct core_time core_time;
	struct amount score; /* 0 to 100 */
	const struct billing *billing; /* the site's weights; NULL: cores alone */
	struct amount parts[RESOURCE_COUNT]; /* of the score's bill: 0 to 1 each, 1 together; not
						known: left out */
	struct amount coverage; /* known parts over all: the uses, cores touched, their balance,
				   causes */
	const char *missing[EFFICIENCY_PARTS];
	size_t missing_count;
};

/* @billing: outlives it, or NULL. */
struct efficiency efficiency_of(const struct record *r, const struct billing *billing);

const char *resource_name(enum resource resource); /* "cores"... */

/* Behind the score, for people: ", as billed" by a site's weights, else nothing. */
const char *efficiency_basis(const struct efficiency *e);

void efficiency_format(const struct efficiency *e, struct document *d);
