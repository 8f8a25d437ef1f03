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
struct syscall_row;
struct syscalls;

/* T3: what was done with each file that was followed; @naming as above.  @reading holds the rows by
 * now.
 * @knows_dropped: all files that were not followed are in the map of those. */
int collect_hot_files(const struct objects *objects, struct naming *naming, bool has_clock,
		      bool knows_dropped, struct reading *reading, struct hot_files *ret);

/* T3: each system call by its name, over all groups.  -ENOENT: that object is not loaded. */
int collect_syscalls(const struct objects *objects, bool has_groups, struct syscalls *ret);
/* Where groups are told apart: a row a cgroup, name and CPU, of the @count cgroups in @cgroups,
 * which are sorted; NULL: of all.  What @visit returns below 0 ends it, and is its result. */
typedef int (*syscall_visitor)(void *context, uint64_t cgroup, const struct syscall_row *row);
int visit_syscalls(const struct objects *objects, const uint64_t *cgroups, size_t count,
		   syscall_visitor visit, void *context);
/* How many threads, of these cgroups or of all, sleep in a call that goes on, and is not counted
 * yet. */
uint64_t count_open_syscalls(const struct objects *objects, const uint64_t *cgroups, size_t count);

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
