/* SPDX-License-Identifier: MIT */
/*
 * task sums - totals of tasks by cgroup: of freed, of ended and of live tasks. This is the
 * arithmetic; task_sums_read() reads the kernel side's maps.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "basic/idmap.h"
#include "counters/cgroups.h"

struct traffic_counts;
struct meter;
struct objects;

struct sums {
	uint64_t only; /* all is of this cgroup; 0: each of its own */
	struct cgroup_tasks *items; /* sorted by cgroup once they are settled */
	size_t count, room;
	struct idmap index; /* by cgroup: the item's index plus one */
	struct task_bases *bases; /* the caller's, to which live tasks are added; NULL: they are not
				     asked for */
};

/* All that the kernel side knows, by T0, T1 and T2, as far as each is there; and, where @bases is
 * not NULL, the counters of each live task. @only: as in the struct. @ret need not be cleared
 * before; task_sums_clear() frees all. */
int task_sums_read(const struct objects *o, uint64_t only, struct task_bases *bases,
		   struct sums *ret);
void task_sums_clear(struct sums *t);

/* Wait until every task that ended is in the totals, or is a zombie whose counters are final, at
 * most @timeout_ms.  -ETIMEDOUT: not all are. */
int task_sums_wait(const struct meter *m, int timeout_ms);

/* ---- its parts; all return -ENOMEM or 0 ---- */

/* Totals of one cgroup and CPU. */
int task_sums_add_totals(struct sums *t, uint64_t cgroup, const struct task_totals *totals);

/* Times by cause of one cgroup and CPU. */
int task_sums_add_times(struct sums *t, uint64_t cgroup, const struct task_times *times);

/* Polls of one cgroup and CPU. */
int task_sums_add_polls(struct sums *t, uint64_t cgroup, const struct polls *polls);

/* Traffic of one kind of sockets, of one cgroup and CPU. */
int task_sums_add_traffic(struct sums *t, uint64_t cgroup, uint32_t kind,
			  const struct traffic_counts *counts);

/* All records of the iterator, which are changed and sorted, and all tasks that end.  A zombie has
 * ended, and its counters are final.  One that ended more than TASK_SUMS_PATIENCE_NS before @now_ns
 * and that the iterator no longer shows was freed unseen: its end is settled. */
#define TASK_SUMS_PATIENCE_NS UINT64_C(10000000000)
int task_sums_add_tasks(struct sums *t, struct task_record *live, size_t live_count,
			const struct leaving_task *leaving, size_t leaving_count, uint64_t now_ns);

/* Balance of the threads of a process: see bpf/tasks.h and bpf/threads.bpf.h.  Add a thread that
 * was on a CPU for @on_ns. */
void thread_levels_join(struct thread_levels *levels, uint64_t on_ns, uint64_t started_ns);

/* Those that worked. */
struct busiest_threads thread_levels_busiest(const struct thread_levels *levels);

/* Keep the busier of both. */
void busiest_threads_raise(struct busiest_threads *to, const struct busiest_threads *from);

/* Sort: nothing can be added afterwards. */
void task_sums_settle(struct sums *t);

/* ---- as metrics ---- */

/* Add the counters to the values, which are known from then on. */
void task_metrics_add(struct value values[METRIC_JOB_COUNT], const struct task_counters *from);
/* The same for time by cause. */
void task_times_add(struct value values[METRIC_JOB_COUNT], const struct task_times *from);
/* And for polls; @is_sampled: how long tasks spun is known. */
void polls_add(struct value values[METRIC_JOB_COUNT], const struct polls *from, bool is_sampled);
