// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * syscalls - T3: every system call by its number, on demand: calls, errors and time.
 *
 * A call waits in its CPU's slot; only if its task leaves the CPU meanwhile is it parked in a hash.
 * It is counted when it returns, or when its task ends in it.
 *
 * These programs run with preemption off, so a slot and a row have one writer.  For one group rows
 * are an array with a place for each number: none lacks room.  With has_groups they are a hash by
 * cgroup, of which each has a share.  Costs both hooks of each call on the machine, and for watched
 * ones three look-ups, one perhaps in a hash, and two clock reads.
 */
#include "bpf/cgroup.bpf.h"
#include "bpf/lost.bpf.h"
#include "bpf/own.bpf.h"
#include "bpf/restart.bpf.h"
#include "bpf/syscall_counts.h"

#define EEXIST 17

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SYSCALL_ROWS); /* 1 if groups are counted separately */
	__type(key, __u32); /* see syscall_counts.h */
	__type(value, struct syscall_counts);
} syscall_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before load, if groups are counted separately: see sizing */
	__type(key, struct syscall_key); /* added here; removed by user space when the cgroup has
					    gone */
	__type(value, struct syscall_counts);
} syscalls_by_cgroup SEC(".maps");

struct syscall_slot {
	struct syscall_now now;
	__u64 judged_cgroup, judged_for; /* what is_judged_watched is for; and watch.id */
	__u64 counted_cgroup; /* that the cgroup is counted as */
	__u64 is_judged_watched;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct syscall_slot);
} syscall_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: written under the run queue's lock */
	__uint(max_entries, 16384); /* tasks asleep in a call, which a job's threads mostly are */
	__type(key, __u64); /* task_struct's address; removed at the call's end or the task's */
	__type(value, struct syscall_now);
} parked_syscalls SEC(".maps");

const volatile __u8 syscall_traits[SYSCALL_ROWS]; /* set by user space */

/* Number of parked calls that are interrupted; as long as it is 0, no call has to search for one.
 * */
__u64 interrupted_syscalls SEC(".data.syscalls");

static __always_inline struct syscall_slot *get_syscall_slot(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&syscall_slots, &zero);
}

/* Is the task of a cgroup that we watch?  Keeps the last answer. */
static __always_inline bool judge(struct syscall_slot *slot, struct task_struct *task)
{
	struct cgroup *cgrp = cgroup_of(task);
	__u64 cgroup = cgroup_id(cgrp);

	if (cgroup != slot->judged_cgroup || watch.id != slot->judged_for) {
		slot->judged_for = watch.id;
		slot->is_judged_watched = is_watched(cgrp);
		if (settings.has_groups)
			slot->counted_cgroup = fold_cgroup(task, cgroup);
		slot->judged_cgroup = cgroup;
	}
	return slot->is_judged_watched;
}

static __always_inline __u32 row_of(const struct task_struct *task, long number)
{
	__u64 nr = number;

	if (is_compat_call(task))
		return nr < SYSCALL_X32 - SYSCALL_COMPAT ? SYSCALL_COMPAT + nr : SYSCALL_BEYOND;
	if (nr < SYSCALL_COMPAT)
		return nr;
	nr ^= SYSCALL_X32_BIT; /* which other machines have no numbers with */
	return nr < SYSCALL_BEYOND - SYSCALL_X32 ? SYSCALL_X32 + nr : SYSCALL_BEYOND;
}

static __always_inline __u8 traits_of(__u32 row)
{
	return row < SYSCALL_ROWS ? syscall_traits[row] : 0;
}

static const struct syscall_counts no_counts;

static __always_inline struct syscall_key key_for(__u64 cgroup, __u32 row)
{
	struct syscall_key key = {
		.cgroup = cgroup,
		.row = row,
		.cpu = bpf_get_smp_processor_id(),
	};

	return key;
}

/* Make a row, of the cgroup's share; 0: it may have no more, or there is no room. */
__noinline int make_row(__u64 cgroup, __u32 row)
{
	struct syscall_key key = key_for(cgroup, row);
	long r;

	if (!settings.has_groups || !take_share(cgroup, SHARE_SYSCALLS))
		return 0;
	r = bpf_map_update_elem(&syscalls_by_cgroup, &key, &no_counts, BPF_NOEXIST);
	if (r < 0)
		untake_share(cgroup, SHARE_SYSCALLS);
	return r == 0 || r == -EEXIST;
}

static __always_inline struct syscall_counts *get_counts(__u64 cgroup, __u32 row)
{
	struct syscall_counts *counts;
	struct syscall_key key;

	if (!settings.has_groups)
		return bpf_map_lookup_elem(&syscall_rows, &row);
	key = key_for(cgroup, row);
	counts = bpf_map_lookup_elem(&syscalls_by_cgroup, &key);
	if (!counts && make_row(cgroup, row))
		counts = bpf_map_lookup_elem(&syscalls_by_cgroup, &key);
	return counts;
}

/* One call, or (@calls is 0) a part of one in progress. */
static __always_inline void count(const struct syscall_now *now, __u32 calls, bool has_failed,
				  __u64 ns)
{
	__u64 cgroup = now->cgroup;
	struct syscall_counts *counts = get_counts(cgroup, now->row);

	if (!counts) {
		if (calls)
			count_lost_of(cgroup, LOST_SYSCALL_ROW);
		return;
	}
	counts->calls += calls;
	counts->errors += has_failed;
	counts->ns += ns;
	if (ns > counts->longest_ns)
		counts->longest_ns = ns;
}

/* An interrupted call continues: the kernel restarts it, if no handler ran. */
static __always_inline void resume(struct syscall_now *now)
{
	struct syscall_now *before = bpf_map_lookup_elem(&parked_syscalls, &now->task);

	if (!before || !before->interrupted)
		return;
	if (traits_of(now->row) & SYSCALL_GOES_ON)
		now->row = before->row;
	bpf_map_delete_elem(&parked_syscalls, &now->task);
	__sync_fetch_and_add(&interrupted_syscalls, -1);
}

static __always_inline void begin(struct task_struct *task, long nr)
{
	struct syscall_slot *slot = get_syscall_slot();

	if (!slot || !judge(slot, task))
		return;
	slot->now.task = (__u64)task;
	slot->now.cgroup = slot->counted_cgroup;
	slot->now.row = row_of(task, nr);
	slot->now.interrupted = 0;
	if (interrupted_syscalls)
		resume(&slot->now);
	slot->now.start_ns = bpf_ktime_get_ns();
}

/* What it costs is a part of what the agent may take. */
static __always_inline struct own_cost *begin_own(__u32 program)
{
	return settings.has_groups ? own_begin(program) : NULL;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(enter_syscall, struct pt_regs *regs, long nr)
{
	struct task_struct *task = current_task();
	struct own_cost *own;

	if (!watch.is_following)
		return 0;
	own = begin_own(OWN_NAME_ENTER);
	begin(task, nr);
	return own_end(own);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(park_syscall, bool preempt, struct task_struct *prev)
{
	struct syscall_slot *slot = get_syscall_slot();
	__u64 task = (__u64)prev;

	if (!slot || slot->now.task != task)
		return 0;
	bpf_map_update_elem(&parked_syscalls, &task, &slot->now, BPF_ANY); /* else its return
									      shows it */
	slot->now.task = 0;
	return 0;
}

/* Bring the call of @task that is in progress back into the slot. */
static __always_inline bool unpark(struct syscall_slot *slot, struct task_struct *task)
{
	__u64 key = (__u64)task;
	struct syscall_now *parked;

	if (slot->now.task == key)
		return true;
	parked = bpf_map_lookup_elem(&parked_syscalls, &key);
	if (!parked || parked->interrupted)
		return false;
	slot->now = *parked;
	bpf_map_delete_elem(&parked_syscalls, &key);
	return true;
}

/* What was before the program that is waited for is not counted. */
static __always_inline bool is_before_program(const struct syscall_now *now, long result)
{
	if (watch.is_following != SYSCALL_FOLLOW_PROGRAM)
		return false;
	if (result || !(traits_of(now->row) & SYSCALL_EXECUTES))
		return true;
	watch.is_following = SYSCALL_FOLLOW_ALL;
	return false;
}

static __always_inline void interrupt(struct syscall_now *now, long result, __u64 ns)
{
	count(now, 0, false, ns);
	now->interrupted = result;
	if (bpf_map_update_elem(&parked_syscalls, &now->task, now, BPF_ANY) < 0)
		count_lost_of(now->cgroup, LOST_INTERRUPTED);
	else
		__sync_fetch_and_add(&interrupted_syscalls, 1);
}

static __always_inline void finish(struct syscall_now *now, long result, __u64 ns)
{
	bool has_result = !(traits_of(now->row) & SYSCALL_HAS_NO_RESULT);

	if (traits_of(now->row) & SYSCALL_IS_TRAP || is_before_program(now, result))
		return;
	if (has_result && is_restart(result))
		interrupt(now, result, ns);
	else
		count(now, 1, has_result && result < 0 && result >= -4095, ns);
}

static __always_inline void end(struct task_struct *task, const struct pt_regs *regs, long result)
{
	struct syscall_slot *slot = get_syscall_slot();
	__u32 row;

	if (!slot)
		return;
	if (unpark(slot, task)) {
		finish(&slot->now, result, bpf_ktime_get_ns() - slot->now.start_ns);
	} else if (judge(slot, task)) {
		row = row_of(task, call_number(regs));
		if (result == 0 && traits_of(row) & SYSCALL_MAKES_TASK)
			return; /* a new task, which called nothing */
		slot->now.task = (__u64)task;
		slot->now.cgroup = slot->counted_cgroup;
		slot->now.row = row;
		if (watch.is_following == SYSCALL_FOLLOW_ALL)
			count_lost_of(slot->now.cgroup, LOST_SYSCALL);
		finish(&slot->now, result, 0);
	}
	slot->now.task = 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(leave_syscall, struct pt_regs *regs, long result)
{
	struct task_struct *task = current_task();
	struct own_cost *own;

	if (!watch.is_following)
		return 0;
	own = begin_own(OWN_NAME_LEAVE);
	end(task, regs, result);
	return own_end(own);
}

/* The call in which a task ends, as exit() has it and whoever is killed in one, returns no more. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(end_syscall, struct task_struct *task)
{
	struct syscall_slot *slot = get_syscall_slot();
	__u64 key = (__u64)task;
	struct syscall_now *parked;

	if (!slot || !watch.is_following)
		return 0;
	parked = bpf_map_lookup_elem(&parked_syscalls, &key);
	if (parked && parked->interrupted) {
		count(parked, 1, false, 0);
		bpf_map_delete_elem(&parked_syscalls, &key);
		__sync_fetch_and_add(&interrupted_syscalls, -1);
	} else if (unpark(slot, task) && watch.is_following == SYSCALL_FOLLOW_ALL) {
		count(&slot->now, 1, false, bpf_ktime_get_ns() - slot->now.start_ns);
	}
	if (slot->now.task == key)
		slot->now.task = 0;
	return 0;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(settle_syscall, int sig, void *info, struct k_sigaction *action)
{
	__u64 key = (__u64)current_task();
	struct syscall_now *now;

	if (!interrupted_syscalls || !has_handler(action))
		return 0;
	now = bpf_map_lookup_elem(&parked_syscalls, &key);
	if (!now || !now->interrupted)
		return 0;
	if (is_given_up(now->interrupted, action))
		count(now, 1, true, 0);
	bpf_map_delete_elem(&parked_syscalls, &key);
	__sync_fetch_and_add(&interrupted_syscalls, -1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
