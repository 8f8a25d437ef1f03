/* SPDX-License-Identifier: MIT */
/* collectors - one source of numbers a file; each adds what it knows to a reading. */
#pragma once

#include <stdbool.h>

#include "group.h"
#include "reading.h"

struct error;
struct hot_files;
struct naming;
struct objects;

/* T2: the rows of files, summed over leaves and CPUs; @naming needs no map of superblocks yet. */
int collect_files(const struct objects *objects, struct naming *naming, bool has_clock,
		  bool has_histograms, struct reading *to);

/* T3: what was done with each file that was followed; @naming as above.  @reading holds the rows by now.
 * @knows_dropped: all files that were not followed are in the map of those. */
int collect_hot_files(const struct objects *objects, struct naming *naming, bool has_clock,
		      bool knows_dropped, struct reading *reading, struct hot_files *ret);

/* T0: totals of ended tasks, and the live ones; over all leaves. */
int collect_tasks(const struct objects *objects, struct reading *to);

/*
 * Without BPF: what wait() and proc give the calling process of the children that it waited for.
 * _begin remembers what was before; @to gets the difference.
 */
struct children_usage {
	uint64_t before[METRIC_JOB_COUNT];
	bool has_io;
};
void children_usage_begin(int root_fd, struct children_usage *ret);
void collect_children(int root_fd, const struct children_usage *before, struct reading *to);

/* Is it one of the numbers that collect_children() can give? */
bool children_know(enum metric_id metric);

/* CPU time in ns of the children that were waited for. */
uint64_t children_cpu_ns(const struct children_usage *before);
/* Raise what @to knows to what the children are known to have used. */
void raise_to_children(const struct children_usage *before, struct reading *to);
