/* SPDX-License-Identifier: MIT */
/*
 * governor - holds the programs to their budget: a share of each core.
 *
 * What they cost on a CPU is what each system call takes longer for our hooks, and what they take
 * inside, known from one run in 1,024.  Where that is over the budget on some CPU for a while, no
 * times of calls are taken any more; counts and bytes go on.  Where all CPUs are under half of it
 * for long, times are taken again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/own_costs.h"

struct error;
struct governor;
struct objects;
struct record;

#define GOVERNOR_OVER_READINGS 3 /* one after the other, */
#define GOVERNOR_OVER_NS                                                                         \
	UINT64_C(20000000000) /* and for so long: many short jobs at once are no load that stays \
			       */
#define GOVERNOR_CALM_NS UINT64_C(300000000000) /* under half of it for so long */
#define GOVERNOR_SHORTEST_NS UINT64_C(500000000) /* between two readings that tell anything */

/* @unclocked_ns: since when no times are taken, as an agent before us left it; 0: they are.  NULL:
 * no memory. */
struct governor *governor_new(uint64_t unclocked_ns);
struct governor *governor_free(struct governor *g); /* NULL is fine; returns NULL */

struct governor_feed {
	const struct own_costs *costs; /* by CPU, since the programs were loaded */
	size_t cpus;
	struct own_bases bases;
	uint64_t boot_ns; /* now */
	uint64_t budget; /* of each core, in millionths */
};

/* Since when no times are to be taken from now on; 0: they are.  -ENOMEM. */
int governor_feed(struct governor *g, const struct governor_feed *feed, uint64_t *ret_unclocked_ns);

struct governor_state {
	uint64_t calls; /* system calls that passed our hooks, since the first reading */
	uint64_t cost_ns; /* what all of it cost on all CPUs, as said above */
	uint64_t unclocked_total_ns; /* in which no times were taken */
	uint64_t worst; /* the greatest share of a core between the last two readings, in millionths
			 */
};
struct governor_state governor_state(const struct governor *g, uint64_t boot_ns);

/* How long, between two moments of CLOCK_BOOTTIME, no times of calls were taken. */
uint64_t governor_unclocked(const struct governor *g, uint64_t from_ns, uint64_t to_ns);

/* Read what the programs cost, and have them take no times, or times again: *news says so, in a
 * line, where it changes.  -Exxx: it could not be read. */
int governor_hold(struct governor *g, const struct objects *objects, uint64_t budget,
		  uint64_t boot_ns, struct error *news);

/* Say in a record of that time what no times were taken of.  -ENOMEM, -ENOSPC. */
int governor_describe(const struct governor *g, uint64_t from_ns, uint64_t to_ns,
		      struct record *record);

/* Of programs that were loaded for one job: say in its record what they cost on all CPUs.  It is an
 * estimate, and other programs' calls are in it.  Too short a job is not told. */
int governor_describe_cost(const struct objects *objects, struct record *record);
