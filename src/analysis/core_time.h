/* SPDX-License-Identifier: MIT */
/*
 * core_time - where a job's core time (allocated cores times elapsed time) went: on a CPU, lost to
 * a cause, or idle.
 *
 * Unused core time is lost to the causes on which threads were blocked meanwhile: it is divided in
 * proportion over causes of loss (cause_is_lost(), and waiting for a CPU), and none gets more than
 * threads waited for it. The rest is idle. Time that a hypervisor or interrupts took from a core
 * with a thread on it is lost before that, in full, since it is core time itself.
 *
 * This is done for each bucket of the record's timeline, if that is complete, and for the time
 * before it; else over the whole, which takes waiting beside full cores for loss.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/cause.h"

struct record;

/* The causes, then waiting for a CPU, then stolen time. */
#define LOST_RUN_QUEUE CAUSE_COUNT
#define LOST_STOLEN (CAUSE_COUNT + 1)
#define LOST_COUNT (CAUSE_COUNT + 2)

struct core_time { /* in seconds */
	bool is_known; /* allocated cores, elapsed and CPU time are */
	bool has_causes; /* and wait times: else lost and idle time are not known */
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
