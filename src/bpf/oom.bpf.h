/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * oom - processes that the OOM killer ends.
 *
 * mark_victim reports each, after its SIGKILL; but until Linux 6.7 it has the pid only, and also
 * reports processes that are dying anyway.  So the signal is recorded, with the task and its
 * memory, and mark_victim confirms it: the kernel does both under a lock, on one CPU.  Costs a
 * comparison a signal. 72ba14deb40a "mm: update mark_victim tracepoints fields"
 */
#pragma once

#include "bpf/cgroup.bpf.h"
#include "bpf/lost.bpf.h"
#include "bpf/tasks.h"

#define SIGKILL 9
#define SEND_SIG_PRIV 1 /* in the place of a pointer: the kernel itself sent it */
#define SOON_NS 1000000000ULL
#define EEXIST 17

/* Of the last signal of that kind. */
struct oom_signal {
	__u64 sender; /* pid and thread of the task that needed memory */
	__u64 cgroup;
	struct oom_kill_entry oom_kill;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct oom_signal);
} oom_signals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 320);
	__type(key, struct cgroup_cpu); /* added here; removed by user space when the cgroup has
					   gone */
	__type(value, struct oom_kill_entry);
} oom_kills_by_task SEC(".maps");

/* f1a7941243c1 "mm: convert mm's rss stats into percpu_counter", Linux 6.2; what CPUs have not
 * added yet is not in it, as in the kernel's own log. */
struct percpu_counter {
	__s64 count;
} __attribute__((preserve_access_index));

struct mm_struct___percpu {
	struct percpu_counter rss_stat[4];
} __attribute__((preserve_access_index));

struct mm_rss_stat {
	struct long_counter count[4];
} __attribute__((preserve_access_index));

struct mm_struct___plain {
	struct mm_rss_stat rss_stat;
} __attribute__((preserve_access_index));

enum oom_pages { OOM_FILE, OOM_ANON, OOM_SWAP, OOM_SHMEM }; /* as the kernel numbers them */

static __always_inline __u64 oom_count_pages(const struct mm_struct *memory, enum oom_pages kind)
{
	const struct mm_struct___plain *old = (const void *)memory;
	const void *counts, *at;
	__s64 count = 0;

	if (bpf_core_field_exists(old->rss_stat.count)) {
		counts = (const void *)memory +
			 bpf_core_field_offset(struct mm_struct___plain, rss_stat.count);
		at = counts + kind * sizeof(struct long_counter);
	} else { /* the kernel's are larger than ours */
		counts = (const void *)memory +
			 bpf_core_field_offset(struct mm_struct___percpu, rss_stat);
		at = counts + kind * bpf_core_type_size(struct percpu_counter) +
		     bpf_core_field_offset(struct percpu_counter, count);
	}
	bpf_probe_read_kernel(&count, sizeof(count), at);
	return count > 0 ? count : 0;
}

static __always_inline void oom_describe(struct task_struct *task, struct oom_kill_entry *ret)
{
	const struct mm_struct *memory = BPF_CORE_READ(task, mm);
	const struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	ret->killed_ns = bpf_ktime_get_boot_ns();
	ret->pid = BPF_CORE_READ(task, tgid);
	ret->uid = BPF_CORE_READ(task, cred, uid.val);
	ret->has_pages = memory != NULL;
	ret->anon_pages = memory ? oom_count_pages(memory, OOM_ANON) : 0;
	ret->file_pages = memory ? oom_count_pages(memory, OOM_FILE) : 0;
	ret->shmem_pages = memory ? oom_count_pages(memory, OOM_SHMEM) : 0;
	bpf_probe_read_kernel_str(ret->command, sizeof(ret->command), leader->comm);
}

/* It may be one of @task, which is watched and counted as @cgroup. */
static __always_inline int note_oom_signal(struct task_struct *task, __u64 cgroup)
{
	__u32 zero = 0;
	struct oom_signal *signal = bpf_map_lookup_elem(&oom_signals, &zero);

	if (!signal)
		return 0;
	signal->sender = bpf_get_current_pid_tgid();
	signal->cgroup = cgroup;
	oom_describe(task, &signal->oom_kill);
	return 0;
}

/* It was one: keep it, once. */
static __always_inline int keep_oom_oom_kill(void)
{
	__u32 zero = 0;
	struct oom_signal *signal = bpf_map_lookup_elem(&oom_signals, &zero);
	struct cgroup_cpu key = {};
	struct oom_kill_entry *last;

	if (!signal || !signal->cgroup || signal->sender != bpf_get_current_pid_tgid() ||
	    bpf_ktime_get_boot_ns() - signal->oom_kill.killed_ns > SOON_NS)
		return 0;
	key.cgroup = signal->cgroup;
	signal->cgroup = 0; /* which the key has */
#pragma unroll
	for (int i = 0; i < OOM_KILLS_OF_CGROUP; i++) {
		long r;

		key.cpu = i;
		r = bpf_map_update_elem(&oom_kills_by_task, &key, &signal->oom_kill, BPF_NOEXIST);
		if (r == -EEXIST)
			continue;
		return r ? count_lost_of(key.cgroup, LOST_OOM_KILL) : 0;
	}
	last = bpf_map_lookup_elem(&oom_kills_by_task, &key);
	if (last)
		__sync_fetch_and_add(&last->more, 1);
	return 0;
}
