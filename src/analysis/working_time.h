/* SPDX-License-Identifier: MIT */
/*
 * working_time - the time in which a job's threads worked: on a CPU, stolen, waiting for a CPU, and
 * blocked where waiting is loss (cause_is_lost()).
 *
 * File calls take CPU time, too; reads of cached files take nothing else. So the part of reads,
 * writes, metadata and sync is the time inside such calls, on a CPU or blocked, and computing is
 * the CPU time outside of them (reports show its user time as computing). Waiting for a CPU and
 * stolen time inside calls are not measured: they are assumed to have the same share there as in
 * all time that was not blocked. Waiting for a CPU and stolen time are whole, so that the parts add
 * up.
 */
#pragma once

#include <stdbool.h>

#include "analysis/amount.h"
#include "analysis/anomalies.h"
#include "analysis/core_time.h"

struct working_time { /* in seconds, over all threads */
	bool is_known; /* CPU time, waiting for a CPU and all causes are */
	bool knows_calls; /* times inside calls are; else parts are blocked time, and computing is
			     all CPU time */
	double seconds; /* the whole */
	double computing;
	double parts[LOST_COUNT]; /* 0 for causes in which nothing is lost */
	double inside[CAUSE_COUNT]; /* of calls that can be blocked by that cause; where knows_calls
				     */
};

/* What belongs to a record, and not to one of its mounts: taken once for all questions. */
struct record_times {
	struct core_time core;
	struct working_time working;
	const struct rank_time *odd_rank; /* of the record: rank_deviation() */
	struct deviation odd;
};

struct record_times record_times_of(const struct record *r);

struct working_time working_time_of(const struct record *r);

/* The share of working time of @inside, time in calls of that kind (all or a part of the
 * record's). @cause: one of reads, writes, metadata, sync. */
struct amount working_time_share(const struct working_time *t, enum cause cause,
				 struct amount inside);
