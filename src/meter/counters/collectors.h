/* SPDX-License-Identifier: MIT */
/* collectors - one source of numbers a file; each adds what it knows to a reading. */
#pragma once

#include <stdbool.h>

#include "model/sections/load_balance.h"
#include "cgroup/group.h"
#include "model/reading.h"

struct error;
struct hot_files;
struct naming;
struct objects;
struct syscalls;

/* T3: what was done with each file that was followed; @naming as above.  @reading holds the rows by
 * now.
 * @knows_dropped: all files that were not followed are in the map of those. */
int collect_hot_files(const struct objects *objects, struct naming *naming, bool has_clock,
		      bool knows_dropped, struct reading *reading, struct hot_files *ret);

/* T3: each system call by its name.  -ENOENT: that object is not loaded. */
int collect_syscalls(const struct objects *objects, struct syscalls *ret);
/* How many threads sleep in a call that goes on, and is not counted yet; at most OPEN_SYSCALLS_MAX.
 */
uint64_t count_open_syscalls(const struct objects *objects);
#define OPEN_SYSCALLS_MAX 16384
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
