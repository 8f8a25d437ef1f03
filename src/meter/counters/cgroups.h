/* SPDX-License-Identifier: MIT */
/*
 * cgroups - the kernel side's data by cgroup: births and deaths, totals of tasks, file operations.
 * Raw: other modules name jobs, mounts and metrics.
 *
 * A group's life is kept in a map, not sent as events, so nothing is lost without a reader. An
 * unknown group (the map was full, or users made too many: see bpf/groups.h) is counted with the
 * nearest one above it.
 *
 * The meter is one with meter_options.has_groups.  Open it watching no group (UINT64_MAX), walk the
 * tree once, let the canary run, and only then watch the node: so what is counted has its right
 * cgroup from the first call on.
 *
 * Of a meter without has_groups the group that it watches is the only cgroup, and all rows are its.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cgroup/group_tree.h"
#include "bpf/files.h" /* the kernel side's */
#include "bpf/tasks.h"
#include "model/reading.h"
#include "model/sections/oom_list.h"
#include "bpf/task_times.h"
#include "bpf/groups.h"

struct error;
struct meter;

struct cgroup_tasks {
	uint64_t cgroup;
	struct task_counters counters; /* of live and ended tasks, since they came here */
	uint64_t ended; /* tasks that ended */
	uint64_t crashed; /* processes that a fault ended */
	uint64_t live; /* tasks that live now */
	uint64_t unsettled; /* ended tasks with missing counters; 0: all is final */
	uint64_t process_peak_pages;
	uint32_t uid; /* of the first task that was not root's; UINT32_MAX: none was */
	struct task_times times; /* over all CPUs, waits in progress included up to now */
	struct polls polls; /* over all CPUs */
	struct network network; /* the same, its numbers alone */
	struct busiest_threads busiest; /* of that of its processes that did most */
};

/* Counters of a live task so far, over all its cgroups. */
struct task_base {
	uint64_t cgroup; /* where it is now */
	uint64_t started_ns; /* by CLOCK_BOOTTIME: no other task has had its pid and this */
	uint32_t pid, pad;
	struct task_counters counters;
};

struct task_bases { /* begins as {} */
	struct task_base *items;
	size_t count, room;
};
int task_bases_add(struct task_bases *b, const struct task_base *base); /* -ENOMEM */
void task_bases_clear(struct task_bases *b);

struct cgroup_core { /* time of one cgroup on one CPU */
	uint64_t cgroup, on_ns;
	uint32_t cpu; /* TIME_ALL_CPUS: CPUs are not distinguished */
	uint32_t pad;
};

struct cgroup_row { /* of one cgroup, place, operation, way and CPU */
	struct file_key key;
	struct file_counts counts;
};

/* What their amount is of that operation. */
static inline struct op_counts op_counts_of(uint8_t op, const struct file_counts *from)
{
	const bool is_data = op < OP_DATA_COUNT;

	return (struct op_counts){ .calls = from->calls,
				   .bytes = is_data ? from->amount : 0,
				   .errors = from->errors,
				   .ns = from->ns,
				   .not_found = is_data ? 0 : from->amount };
}

struct cgroup_block { /* of one cgroup, device and operation; of one CPU */
	uint64_t cgroup;
	struct block_row row;
};

struct cgroup_histograms {
	struct file_key key;
	struct file_histograms histograms;
};

/* Changes with every birth and death: while it is unchanged, groups need not be listed again. */
uint64_t cgroups_generation(const struct meter *m);

/* All groups that are known, dead ones until they are forgotten.  The caller frees *@ret. */
int cgroups_list_groups(struct meter *m, struct group_life **ret, size_t *ret_count,
			struct error *err);

/* Walk the tree of groups, add groups that the kernel side does not know (older ones, or the map
 * was full), and mark removed ones as dead. The safety net: copes with vanishing groups.  Returns
 * how many births and deaths it found. */
int cgroups_walk(struct meter *m, struct error *err);

/* One entry a cgroup; the caller frees.  @bases: each live task too, and what it has done so far;
 * NULL: not asked for. */
int cgroups_read_tasks(struct meter *m, struct cgroup_tasks **ret, size_t *ret_count,
		       struct task_bases *bases, struct error *err);

/* Subtract from live tasks the counts of another meter until @until_ns, by CLOCK_BOOTTIME: @bases,
 * and for other tasks of that time all their counters. Call it while no group is watched.
 * 1: there was no room for some tasks, whose earlier counts are missing or count again. */
int cgroups_take_off(struct meter *m, const struct task_bases *bases, uint64_t until_ns,
		     struct error *err);

/* One entry a cgroup and CPU that it was on; none without T1.  The caller frees. */
int cgroups_read_cores(struct meter *m, struct cgroup_core **ret, size_t *ret_count,
		       struct error *err);

/* All rows; the caller frees.  Those for which there was no room have the cgroup CGROUP_OTHER. */
#define CGROUP_OTHER UINT64_MAX
int cgroups_read_rows(struct meter *m, struct cgroup_row **ret, size_t *ret_count,
		      struct error *err);
struct file_counts cgroups_counts_of(const struct file_row *row);

/* The group as the kernel side keeps it; @page_bytes: of this machine. */
struct group_entry;
void group_life_fill(uint64_t id, const struct group_entry *from, uint64_t page_bytes,
		     struct group_life *ret);

/* Those of the @count cgroups in @cgroups, which are sorted; the caller frees. */
int cgroups_read_histograms(struct meter *m, const uint64_t *cgroups, size_t count,
			    struct cgroup_histograms **ret, size_t *ret_count, struct error *err);

/* Counts of block devices; none where nothing is counted.  The caller frees *@ret. */
int cgroups_read_blocks(struct meter *m, struct cgroup_block **ret, size_t *ret_count);

/* Processes that the OOM killer ended, in no order; none if the kernel side does not watch for
 * them.  A negative result of @visit ends the visit, and is its result. */
int cgroups_visit_kills(struct meter *m,
			int (*visit)(void *context, uint64_t cgroup, const struct oom_kill *kill),
			void *context);
/* Their number, including those that are not stored. */
int cgroups_count_kills(struct meter *m, uint64_t *ret);
/* @boot_ns and @real_ns: one time by CLOCK_BOOTTIME and since the epoch; @page_bytes: of this
 * machine. */
struct oom_kill oom_kill_describe(const struct oom_kill_entry *from, uint64_t boot_ns,
				  uint64_t real_ns, uint64_t page_bytes);

/* Erase all that is kept of dead cgroups: their rows, totals and lives.  @cgroups is sorted. */
int cgroups_forget(struct meter *m, const uint64_t *cgroups, size_t count);

/* Erase superblocks without a row that are not mounted now. */
int cgroups_forget_places(struct meter *m);

/* All that was counted so far, but histograms, summed over all cgroups into an empty @ret: for
 * self-tests. */
struct reading;
int counted_all_read(struct meter *m, struct reading *ret, struct error *err);

/* ---- for the parts of this module ---- */

/* Return @count of a share to @cgroup, which still exists.  Below 0: taken without the kernel side.
 * */
int cgroups_give_back(struct meter *m, uint64_t cgroup, enum share share, int count);

/* Forget what came late: of cgroups that are known no more. */
int cgroups_forget_strays(struct meter *m);
