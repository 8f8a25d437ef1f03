/* SPDX-License-Identifier: MIT */
/*
 * working_time - what a job's threads did while they worked: the time of all of them on a CPU,
 * stolen from there, waiting for a CPU, and blocked where waiting is loss (cause_is_lost()).
 *
 * A call on files takes CPU time, too: reads of cached files take nothing else.  So the part of
 * reads, writes, metadata and sync is the time inside such calls, whether on a CPU or blocked, and
 * computing is the CPU time outside of them (reports show as computing what of it was user time).
 * Inside a call a thread may also wait for a CPU, or have it stolen; how long is not measured
 * there, and is taken for as large a part as it is of all time that was not blocked.  Waiting for a
 * CPU and stolen time are whole, so that all parts make up the sum.
 */
#pragma once

#include <stdbool.h>

#include "analysis/amount.h"
#include "analysis/core_time.h"

struct working_time { /* in seconds, over all threads */
	bool is_known; /* CPU time, waiting for a CPU and all causes are */
	bool knows_calls; /* times inside calls are; else parts are what threads were blocked, and
			     computing is all CPU time */
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
};

struct record_times record_times_of(const struct record *r);

struct working_time working_time_of(const struct record *r);

/* What is spent @inside calls of that kind, which is all or a part of what the record has, as a
 * share of the working time.  @cause: one of reads, writes, metadata, sync. */
struct amount working_time_share(const struct working_time *t, enum cause cause,
				 struct amount inside);
