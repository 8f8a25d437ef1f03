/* SPDX-License-Identifier: MIT */
/*
 * core_time - where a job's core time (allocated cores times elapsed time) went.
 *
 * On a CPU, lost to a cause, or idle; the three are the whole.  A core that nobody used was lost to
 * what threads were blocked on meanwhile, as far as there were such threads: unused time is shared
 * out over the causes in which waiting is loss (cause_is_lost(), and waiting for a CPU) in
 * proportion, and none gets more than threads waited for it.  The rest is idle: nothing was there
 * to run.  What a hypervisor or interrupts took of a core on which a thread was is lost before
 * that, all of it, since it is core time itself.
 *
 * It is done for each bucket of the record's timeline, where that tells of all of it, and for the
 * time before it; else over the whole, which takes waiting beside full cores for loss.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/cause.h"

struct record;

/* The causes, and behind them waiting for a CPU, and what was stolen of one. */
#define LOST_RUN_QUEUE CAUSE_COUNT
#define LOST_STOLEN (CAUSE_COUNT + 1)
#define LOST_COUNT (CAUSE_COUNT + 2)

struct core_time { /* in seconds */
	bool is_known; /* allocated cores, elapsed and CPU time are */
	bool has_causes; /* and what threads were blocked on: else what was lost and idle is not
			    known */
	bool knows_stolen; /* records of before do not; it is taken for 0 there */
	double core, on_cpu, unused;
	double lost[LOST_COUNT]; /* 0 for causes in which nothing is lost */
	double idle;
	size_t intervals; /* over how many it was done; 1: the whole */
};

struct core_time core_time_of(const struct record *r);

/* How long threads waited for each cause in which time can be lost; false: not known of all. */
bool core_time_waits(const struct record *r, double waits[LOST_COUNT]);

/* "file_read"..., "run_queue", "stolen". */
const char *lost_name(size_t cause);
enum metric_id lost_metric(size_t cause);
/* Can time be lost to it? */
bool lost_can_be(size_t cause);
