/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * task_baselines - the cgroup in which a watched task was born or to which it moved, and its
 * counters at that time. All functions take a task as a tracepoint passes it.
 */
#pragma once

#include "bpf/compat.bpf.h"
#include "bpf/lost.bpf.h"
#include "bpf/tasks.h"

/* Counters of a task when it came to its cgroup: earlier work is another cgroup's. */
struct task_baseline {
	__u64 cgroup;
	__u64 counted; /* the cgroup that it is counted as: see groups.bpf.h */
	struct task_counters base;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* in use only while an agent starts */
	__uint(max_entries, 512); /* user space puts no more in at once */
	__type(key, __u64); /* a pid; added and removed by user space */
	__type(value, struct earlier_task);
} earlier_tasks SEC(".maps");

/*
 * In the task itself; until Linux 5.12 that is not offered.
 * a10787e6d58c "bpf: Enable task local storage for tracing programs"
 */
#ifndef OLD_KERNEL
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE); /* one a live, watched task; goes with it */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_baseline);
} task_baselines SEC(".maps");

static __always_inline struct task_baseline *find_baseline(struct task_struct *task)
{
	return bpf_task_storage_get(&task_baselines, task, 0, 0);
}

/* An empty one; NULL: there is no room. */
static __always_inline struct task_baseline *make_baseline(struct task_struct *task)
{
	return bpf_task_storage_get(&task_baselines, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline void drop_baseline(struct task_struct *task)
{
}
#else
struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: it is written while a task is freed */
	__uint(max_entries, 16384); /* live, watched tasks */
	__type(key, __u64); /* task_struct's address; removed when the task is freed */
	__type(value, struct task_baseline);
} task_baselines SEC(".maps");

static const struct task_baseline no_baseline;

static __always_inline struct task_baseline *find_baseline(struct task_struct *task)
{
	__u64 key = (__u64)task;

	return bpf_map_lookup_elem(&task_baselines, &key);
}

static __always_inline struct task_baseline *make_baseline(struct task_struct *task)
{
	__u64 key = (__u64)task;

	if (bpf_map_update_elem(&task_baselines, &key, &no_baseline, BPF_ANY) < 0)
		count_lost(LOST_BASELINE);
	return bpf_map_lookup_elem(&task_baselines, &key);
}

static __always_inline void drop_baseline(struct task_struct *task)
{
	__u64 key = (__u64)task;

	bpf_map_delete_elem(&task_baselines, &key);
}
#endif
