/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * threads - the balance of work over the threads of a process.
 *
 * The CPU time of each thread is stored at its end, with the main thread, which is freed last; then
 * the process is compared with its cgroup's busiest so far.  At the end of a thread its CPU time is
 * known up to the last tick.  If a thread other than the main one starts another program, the
 * earlier work of the threads is forgotten.
 */
#pragma once

#include "bpf/buckets.bpf.h"
#include "bpf/compat.bpf.h"
#include "bpf/lost.bpf.h"
#include "bpf/tasks.h"

/*
 * In the main thread itself, of processes of which other threads ended; until Linux 5.12 that is
 * not offered. a10787e6d58c "bpf: Enable task local storage for tracing programs"
 */
#ifndef OLD_KERNEL
#define MAKE_TRIES 3

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE); /* goes with the main thread */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_levels);
} ended_threads SEC(".maps");

static __always_inline struct thread_levels *find_levels(struct task_struct *leader)
{
	return bpf_task_storage_get(&ended_threads, leader, 0, 0);
}

/* If two threads create it at once one of them gets nothing, and finds it on its next try. */
static __always_inline struct thread_levels *make_levels(struct task_struct *leader)
{
	struct thread_levels *levels = NULL;

	for (int i = 0; i < MAKE_TRIES && !levels; i++)
		levels = bpf_task_storage_get(&ended_threads, leader, 0,
					      BPF_LOCAL_STORAGE_GET_F_CREATE);
	return levels;
}

static __always_inline void drop_levels(struct task_struct *task)
{
}
#else
struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: it is written while a task is freed */
	__uint(max_entries, 512);
	__type(key, __u64); /* task_struct's address; removed when the task is freed */
	__type(value, struct thread_levels);
} ended_threads SEC(".maps");

static const struct thread_levels no_levels;

static __always_inline struct thread_levels *find_levels(struct task_struct *leader)
{
	__u64 key = (__u64)leader;

	return bpf_map_lookup_elem(&ended_threads, &key);
}

static __always_inline struct thread_levels *make_levels(struct task_struct *leader)
{
	__u64 key = (__u64)leader;

	bpf_map_update_elem(&ended_threads, &key, &no_levels, BPF_NOEXIST);
	return bpf_map_lookup_elem(&ended_threads, &key);
}

static __always_inline void drop_levels(struct task_struct *task)
{
	__u64 key = (__u64)task;

	bpf_map_delete_elem(&ended_threads, &key);
}
#endif

/* 0 to THREAD_LEVELS - 1. */
static __always_inline __u32 thread_level(__u64 on_ns)
{
	__u64 level = bucket_of(on_ns >> THREAD_LEVELS_FROM);

	level -= level != 0; /* the first holds all under 2^25 ns */
	return level < THREAD_LEVELS ? level : THREAD_LEVELS - 1;
}

/* A task of @process ends.  Others of it may end at the same time. */
static __always_inline void join_threads(struct task_struct *task, struct task_struct *leader,
					 const struct signal_struct *process, __u64 cgroup)
{
	__u64 on_ns = task->se.sum_exec_runtime;
	__u32 level = thread_level(on_ns);
	struct thread_levels *levels;

	if (task->pid == task->tgid && process->nr_threads == 1)
		levels = find_levels(leader); /* none: it was alone all the time */
	else if (!(levels = make_levels(leader)))
		count_lost_of(cgroup, LOST_THREADS);
	if (!levels || level >= THREAD_LEVELS)
		return;
	raise(&levels->greatest_ns, on_ns);
	if (level + THREADS_REACH >= thread_level(levels->greatest_ns)) {
		levels->are_apart |= levels->first_end_ns &&
				     task->start_boottime > levels->first_end_ns;
		if (!levels->first_end_ns)
			levels->first_end_ns = bpf_ktime_get_boot_ns();
	}
	__sync_fetch_and_add(&levels->sums_ns[level], on_ns);
	__sync_fetch_and_add(&levels->counts[level], 1);
}

struct threads_choice {
	const struct thread_levels *levels;
	__u64 level; /* the busiest's */
	struct busiest_threads busiest;
};

static __always_inline long choose_level(__u32 i, void *context)
{
	struct threads_choice *choice = context;

	if (i >= THREAD_LEVELS)
		return 1;
	if (i + THREADS_REACH < choice->level)
		return 0;
	choice->busiest.count += choice->levels->counts[i];
	choice->busiest.sum_ns += choice->levels->sums_ns[i];
	return 0;
}

static __always_inline void choose_threads(const struct thread_levels *levels,
					   struct busiest_threads *ret)
{
	struct threads_choice choice = {
		.levels = levels,
		.level = thread_level(levels->greatest_ns),
		.busiest.greatest_ns = levels->greatest_ns,
	};

	repeat(THREAD_LEVELS, choose_level, &choice);
	if (levels->are_apart) /* their balance is unknown */
		choice.busiest.count = choice.busiest.greatest_ns = 0;
	*ret = choice.busiest;
}

/*
 * A process is freed, @leader last.  CPUs share the entries of users' groups, so the entry is
 * locked, for some nanoseconds; if the lock is held longer, its owner may be preempted, and this
 * process is left out.
 */
static __always_inline void keep_threads(struct task_totals *totals, struct task_struct *leader,
					 __u64 cgroup)
{
	__u64 on_ns = leader->se.sum_exec_runtime;
	struct thread_levels *levels = find_levels(leader);
	struct busiest_threads busiest = {};

	if (levels)
		choose_threads(levels, &busiest);
	else
		busiest = (struct busiest_threads){ 1, on_ns, on_ns };
	if (busiest.sum_ns <= totals->busiest.sum_ns)
		return;
	if (!take(&totals->is_taken)) {
		count_lost_of(cgroup, LOST_THREADS);
		return;
	}
	if (busiest.sum_ns > totals->busiest.sum_ns)
		totals->busiest = busiest;
	give_back(&totals->is_taken);
}
