// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * reference_switch - what the cost of T1 is compared with where no tool is at hand: the usual
 * design of two meters, one of the wait for a CPU and one of the time off it, done with care.
 *
 * The wait: the moment at which a task became ready in a hash by thread, and a log2 histogram as it
 * gets its CPU. The time off the CPU: the moment and both stacks in a hash by thread as it leaves,
 * and as it comes back a sum by thread and stacks.  Two programs on the switch, as two meters are.
 * Nobody's code is copied.
 *
 * Where designs differ it takes the cheaper way: one histogram, and nothing of tasks of other
 * processes but their process id.
 */
#include "bpf/compat.bpf.h"
#include "log2.bpf.h"
#include "reference_switch.h"

#define TASKS_MAX 10240
#define STACKS_MAX 65536 /* so many that two hardly ever want the same place */
#define DEPTH_MAX 127

const volatile __s32 wanted_tgid; /* set before load */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TASKS_MAX);
	__type(key, __u32); /* thread id; added as it is ready, removed as it runs */
	__type(value, __u64); /* since when */
} ready SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SWITCH_BUCKETS);
	__type(key, __u32); /* log2 of us */
	__type(value, __u64); /* waits for a CPU */
} waits SEC(".maps");

struct absence {
	__u64 since_ns;
	struct absence_key key;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TASKS_MAX);
	__type(key, __u32); /* thread id; added as it leaves its CPU, removed as it comes back */
	__type(value, struct absence);
} absences SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, STACKS_MAX);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, DEPTH_MAX * sizeof(__u64));
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TASKS_MAX);
	__type(key, struct absence_key);
	__type(value, __u64); /* us off the CPU */
} totals SEC(".maps");

static __always_inline int note_ready(struct task_struct *task)
{
	__u32 tid = task->pid;
	__u64 now;

	if (task->tgid != wanted_tgid)
		return 0;
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&ready, &tid, &now, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(note_woken, struct task_struct *task)
{
	return note_ready(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(note_born, struct task_struct *task)
{
	return note_ready(task);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(count_wait, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 tid = next->pid, bucket;
	__u64 *since, *count;

	if (!task_state(prev))
		note_ready(prev);
	since = bpf_map_lookup_elem(&ready, &tid);
	if (!since)
		return 0;
	bucket = log2_of((bpf_ktime_get_ns() - *since) / 1000, SWITCH_BUCKETS);
	count = bpf_map_lookup_elem(&waits, &bucket);
	if (count)
		__sync_fetch_and_add(count, 1);
	bpf_map_delete_elem(&ready, &tid);
	return 0;
}

static __always_inline void begin_absence(void *ctx, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct absence absence = { .key = { .tid = tid, .tgid = task->tgid } };

	if (task->tgid != wanted_tgid)
		return;
	absence.since_ns = bpf_ktime_get_ns();
	absence.key.user_stack = (__s32)bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	absence.key.kernel_stack = (__s32)bpf_get_stackid(ctx, &stacks, 0);
	bpf_map_update_elem(&absences, &tid, &absence, BPF_ANY);
}

static __always_inline void end_absence(struct task_struct *task)
{
	__u32 tid = task->pid;
	struct absence *absence = bpf_map_lookup_elem(&absences, &tid);
	__u64 *total, us;

	if (!absence)
		return;
	us = (bpf_ktime_get_ns() - absence->since_ns) / 1000;
	total = bpf_map_lookup_elem(&totals, &absence->key);
	if (total)
		__sync_fetch_and_add(total, us);
	else
		bpf_map_update_elem(&totals, &absence->key, &us, BPF_NOEXIST);
	bpf_map_delete_elem(&absences, &tid);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(count_absence, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	begin_absence(ctx, prev);
	end_absence(next);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
