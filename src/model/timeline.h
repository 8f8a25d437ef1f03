/* SPDX-License-Identifier: MIT */
/*
 * timeline - what a job did over time: some forty series of at most TIMELINE_BUCKETS_MAX buckets,
 * however long it runs.
 *
 * A bucket is 1 s x 2^k, and begins at a multiple of that since the epoch.  When there would be too
 * many, neighbours are merged and the interval doubles.  A bucket of a counter holds what was added
 * in it, one of a gauge the greatest that was seen; so that the buckets of a counter, and what was
 * counted before the first one, are together what was fed last: not a count is lost, and none is
 * there twice.
 *
 * Idle jobs cost nothing: a series takes memory only where it changes.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "basic/packed.h"
#include "model/reading.h"
#include "model/sections/thermal_samples.h"

#define TIMELINE_BUCKETS_MAX 512
#define TIMELINE_SERIES 41
#define TIMELINE_UNKNOWN PACKED_NONE /* a bucket in which nobody looked */
#define TIMELINE_SHIFT_MAX 25 /* 388 days: 512 of them hold all times in 63 bits of ns */

struct document;
struct place;
struct timeline_series {
	struct packed closed; /* buckets that are over; behind them stands the open one */
	uint64_t open;
	uint64_t now : 63; /* what was fed last: the counter, or the gauge */
	uint64_t is_known : 1; /* at the last reading */
	uint64_t before : 63; /* of a counter: what was there before the first bucket */
	uint64_t was_known : 1; /* at any reading */
};

struct timeline { /* begins as {}: there is none */
	uint64_t start_ns; /* of the first bucket, since the epoch */
	uint64_t last_ns; /* of the last reading, by the clock that began it; in the last bucket */
	uint64_t last_boot_ns;
	unsigned int shift; /* a bucket is 1 s << shift */
	bool is_from_start; /* all counters began at zero with it */
	uint64_t changes; /* of what the job did, so far: whether it is worth to be written down
			     anew */
	struct timeline_series *series; /* NULL: there is no timeline */
	size_t room; /* series in it: a virtual machine has no sensors, whose series are the last */
};

/* Which metric a series is of: a counter or gauge of the job, the sum over its mounts or kinds of
 * sockets, or what its CPUs are now. */
enum metric_id timeline_metric(size_t series);
/* It is of the CPUs that the job may use, whoever uses them: thermal_now_value() has it. */
bool timeline_is_of_cpus(size_t series);
/* The series of a metric, by itself or its section and key; TIMELINE_SERIES: none, and nothing is
 * known of it. */
size_t timeline_series_of(enum metric_id id);
size_t timeline_find(const char *section, const char *key);
/* What a reading says of each series.  @now: NULL: nobody looked at the CPUs. */
void timeline_values(const struct reading *reading, const struct thermal_now *now,
		     struct value ret[TIMELINE_SERIES]);

/* Begin an empty timeline at a moment in which all counters were zero.  -ENOMEM: it is empty. */
int timeline_begin(struct timeline *t, uint64_t real_ns, uint64_t boot_ns);

/*
 * Take in a reading.  What a counter gained since the last one is divided over the buckets in
 * between, in proportion to time.  Of a timeline that was not begun, the first reading begins it,
 * and its counters were there before.  A counter that falls (after a restart its last reading may
 * be lost) gives back what was added last.  The wall clock is asked for the first reading only;
 * from then on time is CLOCK_BOOTTIME's, and one that goes back stands still.
 * -ENOMEM: the timeline is empty.
 */
int timeline_feed(struct timeline *t, uint64_t real_ns, uint64_t boot_ns,
		  const struct value values[TIMELINE_SERIES]);

/* What was measured at last, if anything, becomes the counters' end: as a feed at the last
 * reading's moment, but of series that were known before only. */
int timeline_settle(struct timeline *t, const struct value values[TIMELINE_SERIES]);

uint64_t timeline_interval_ns(const struct timeline *t);
/* How many buckets there are, up to the last reading; 0: there is no timeline. */
size_t timeline_count(const struct timeline *t);
/* Any series is known. */
bool timeline_is_known(const struct timeline *t);
/* False: nobody measured it. */
bool timeline_knows(const struct timeline *t, size_t series);
/* All buckets of a series.  Returns timeline_count(). */
size_t timeline_get(const struct timeline *t, size_t series, uint64_t ret[TIMELINE_BUCKETS_MAX]);
/* What the buckets of a counter are together, with what was before. */
uint64_t timeline_sum(const struct timeline *t, size_t series);

/* Put @count buckets into a series that has none; @count is the timeline's.  -ENOMEM: t is empty.
 */
int timeline_put(struct timeline *t, size_t series, const uint64_t *buckets, size_t count);
/* Of a series nothing is known any more. */
void timeline_forget(struct timeline *t, size_t series);
/* What was there of a counter before the first bucket. */
uint64_t timeline_before(const struct timeline *t, size_t series);
/* Make room for all series in a timeline whose times are set. */
int timeline_allocate(struct timeline *t);

/* Merge two neighbours each, where there may be fewer. */
int timeline_double(struct timeline *t);

/* @to is empty.  -ENOMEM: it still is. */
int timeline_copy(struct timeline *to, const struct timeline *from);
void timeline_clear(struct timeline *t); /* it is empty then */

/*
 * Merge those of ranks or nodes, in any order, into an empty one: counters and gauges are added,
 * but of what their CPUs were the greatest is taken, after all have the interval of the coarsest
 * or more.  Of a series that is not known in all of
 * them nothing is known; before it began and after its end, a timeline adds nothing.  Where one of
 * them is empty, so is the result.
 */
int timeline_merge(const struct timeline *const *timelines, size_t count, struct timeline *ret);

/* Leave in @later what came after @earlier, which is of the same job: its counters' sums become the
 * differences.  -ENOMEM: @later is empty. */
int timeline_subtract(struct timeline *later, const struct timeline *earlier);

/* ---- as an agent writes it down, to go on with it; timeline_section is that of a record ---- */

/* As a record's section with all that timeline_feed() wants to know, and short: in a series' list a
 * number below zero says how often the one before it comes once more. */
int timeline_save(const struct timeline *t, struct document *d); /* -ENOMEM */
int timeline_restore(const struct place *place, const json_t *map, struct timeline *ret);
