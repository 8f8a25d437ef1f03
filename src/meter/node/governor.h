/* SPDX-License-Identifier: MIT */
/*
 * governor - holds the programs to their budget, a share of each core.
 *
 * Their cost on a CPU is what our hooks add to each system call, and their own run time, sampled at
 * one run in 1,024. If a CPU is over the budget for a while, calls are no longer timed; counts and
 * bytes go on. If all CPUs stay below half of it for long, calls are timed again.
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
#define GOVERNOR_SHORTEST_NS UINT64_C(500000000) /* shorter intervals tell nothing */

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
	uint64_t cost_ns; /* cost on all CPUs */
	uint64_t unclocked_total_ns; /* in which no times were taken */
	uint64_t worst; /* the greatest share of a core between the last two readings, in millionths
			 */
};
struct governor_state governor_state(const struct governor *g, uint64_t boot_ns);

/* How long, between two moments of CLOCK_BOOTTIME, no times of calls were taken. */
uint64_t governor_unclocked(const struct governor *g, uint64_t from_ns, uint64_t to_ns);

/* Read the cost of the programs and switch timing off or on; *news has a line when it changes.
 * -Exxx: it could not be read. */
int governor_hold(struct governor *g, const struct objects *objects, uint64_t budget,
		  uint64_t boot_ns, struct error *news);

/* Note in a record for which part of that time calls were not timed. -ENOMEM, -ENOSPC. */
int governor_describe(const struct governor *g, uint64_t from_ns, uint64_t to_ns,
		      struct record *record);

/* For programs loaded for one job: note their cost on all CPUs in its record, an estimate that
 * includes calls of other programs. Not for very short jobs. */
int governor_describe_cost(const struct objects *objects, struct record *record);
