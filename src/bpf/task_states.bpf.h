/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * task_states - the time up to which a task's time is counted.
 *
 * In the task itself, made where memory may be taken: at its birth, as it moves, and by a reading.
 * The switch of tasks only looks it up: it holds the run queue's lock, under which taking memory
 * may wake another task, which takes that lock.
 */
#pragma once

#include "bpf/groups.bpf.h"
#include "bpf/cgroup.bpf.h"

#define CAUSE_NONE 0xffU /* it was not blocked: its time is on a CPU, or waiting for one */
#define STOLEN_UNIT_NS 4096
#define STOLEN_MAX 0xffffffffULL /* five hours without a switch */

struct moment {
	__u64 left_ns; /* until then all is counted: it left a CPU, or a reading found it blocked;
			  CLOCK_MONOTONIC */
	__u64 exec_ns, run_delay_ns; /* as it left the CPU */
	__u64 cgroup;
	__u64 counted; /* the cgroup that it is counted as; 0: none that is watched */
	__u64 judged_for; /* watch.id of that judgement */
	__u8 cause; /* what it waits for since it left the CPU */
	__u8 last_cause; /* what it waited for when it was blocked the last time */
	__u16 is_shared; /* all CPUs count in one entry */
	__u32 stolen; /* from it since it came to its CPU, and counted already; in STOLEN_UNIT_NS */
};
_Static_assert(sizeof(struct moment) == 56, "a word more would take each task another 64 bytes");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE); /* one a live, watched task; goes with it */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct moment);
} task_states SEC(".maps");

static __always_inline struct moment *find_task_state(struct task_struct *task)
{
	return bpf_task_storage_get(&task_states, task, 0, 0);
}

/* @first is what it holds where there is none yet: all at once, since its task may run.  NULL:
 * there is no room. */
static __always_inline struct moment *make_task_state(struct task_struct *task,
						      struct moment *first)
{
	return bpf_task_storage_get(&task_states, task, first, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/*
 * What users make may be many groups, and what was there before us are a node's services as a rule,
 * which come to run on every CPU some day: of those all CPUs count in one entry.
 */
static __always_inline bool is_shared(__u64 cgroup)
{
	struct group_entry *group;

	if (!has_groups())
		return false;
	group = bpf_map_lookup_elem(&groups, &cgroup);
	return !group || group->is_guest || !group->born_ns;
}

/* Of which group it is counted from now on. */
static __always_inline void judge_task_state(struct moment *m, struct task_struct *task,
					     struct cgroup *cgrp)
{
	__u64 cgroup = cgroup_id(cgrp), counted = is_watched(cgrp) ? fold_cgroup(task, cgroup) : 0;

	m->cgroup = cgroup;
	m->judged_for = watch.id;
	m->counted = counted;
	m->is_shared = is_shared(counted);
}

static __always_inline bool is_judged(const struct moment *m, __u64 cgroup)
{
	return m->cgroup == cgroup && m->judged_for == watch.id;
}
