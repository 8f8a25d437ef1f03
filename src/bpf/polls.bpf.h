/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * looks - tasks that burn CPU time while they wait: they ask again and again whether there is
 * something to do, by polls that must not wait or by giving the CPU to whoever wants it.
 *
 * Between two looks that found nothing, with neither a wait nor a read nor a write nor a poll of
 * another kind in between, and not far apart, a task is taken to have done nothing else.  What
 * spins without a system call is not seen.  Costs some look-ups a look or poll, and nothing any
 * other call.
 */
#pragma once

#include "bpf/files.h"
#include "bpf/polls.h"
#include "bpf/lost_by_cgroup.bpf.h"
#include "bpf/slots.bpf.h"
#include "bpf/tasks.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024); /* set before load: see the meter's sizing */
	__type(key, struct cgroup_cpu); /* added here; removed by user space when the cgroup has
					   gone */
	__type(value, struct polls);
} polls SEC(".maps");

static const struct polls no_polls;

static __always_inline struct polls *get_polls(__u64 cgroup)
{
	struct cgroup_cpu key = { .cgroup = cgroup,
				  .cpu = is_guest(cgroup) ? 0 : bpf_get_smp_processor_id() };
	struct polls *found = bpf_map_lookup_elem(&polls, &key);

	if (found)
		return found;
	bpf_map_update_elem(&polls, &key, &no_polls, BPF_NOEXIST);
	return bpf_map_lookup_elem(&polls, &key);
}

/* A call's time limit is none at all: it is not to wait. */
static __always_inline bool must_not_wait(const struct pt_regs *regs, const struct call_kind *kind)
{
	__u64 limit = call_argument(regs, kind->limit);
	__u64 time[2] = {}; /* seconds, and a part of one */

	if (!(kind->traits & CALL_TIME_IS_POINTED))
		return (__u32)limit == 0;
	return limit && bpf_probe_read_user(time, sizeof(time), (void *)limit) == 0 && !time[0] &&
	       !time[1];
}

/* At a call's entry, since some write what is left of the time. */
static __always_inline int begin_poll(const struct pt_regs *regs, const struct call_kind *kind)
{
	struct call_slot *slot;

	if (kind->limit == ARGUMENT_NONE)
		return 0;
	slot = get_slot();
	if (slot) /* of a poll that it left on this CPU nothing stays */
		slot->looking = must_not_wait(regs, kind) ? (__u64)current_task() : 0;
	return 0;
}

/*
 * How long it has looked without a break; the next look begins from here.  A task's last look is
 * kept among the calls that are parked: a call that sleeps takes its place, and was a break.
 */
static __always_inline __u64 go_on_looking(struct call_slot *slot, struct task_struct *task)
{
	__u64 exec_ns = LOAD(task, se.sum_exec_runtime); /* as of the last tick */
	__u64 transfers = LOAD(task, ioac.syscr) + LOAD(task, ioac.syscw);
	__u64 key = (__u64)task, waits = LOAD(task, nvcsw), ns = 0;
	struct call *last = bpf_map_lookup_elem(&parked_calls, &key);

	if (!last) {
		slot->call =
			(struct call){ .on_ns = exec_ns, .transfers = transfers, .waits = waits };
		slot->call.kind.how = CALL_POLL;
		if (bpf_map_update_elem(&parked_calls, &key, &slot->call, BPF_NOEXIST) < 0)
			count_lost_of(slot->counted_cgroup, LOST_POLL);
		return 0;
	}
	if (last->is_interrupted) /* in a handler of the signal */
		return 0;
	if (last->kind.how == CALL_POLL && last->transfers == transfers && last->waits == waits)
		ns = exec_ns - last->on_ns;
	last->kind.how = CALL_POLL;
	last->is_by_path = 0;
	last->on_ns = exec_ns;
	last->transfers = transfers;
	last->waits = waits;
	return ns < LOOKS_APART_NS ? ns : 0;
}

static __always_inline void stop_looking(struct task_struct *task)
{
	__u64 key = (__u64)task;
	struct call *last = bpf_map_lookup_elem(&parked_calls, &key);

	if (last && last->kind.how == CALL_POLL)
		bpf_map_delete_elem(&parked_calls, &key);
}

static __always_inline int count_poll(__u64 cgroup, bool is_yield, __u64 ns)
{
	struct polls *counts = get_polls(cgroup);

	if (!counts)
		return count_lost_of(cgroup, LOST_POLL);
	__sync_fetch_and_add(is_yield ? &counts->yields : &counts->polls, 1); /* CPUs share it in a
										 user's groups */
	if (ns)
		__sync_fetch_and_add(&counts->ns, ns);
	return 0;
}

static __always_inline int end_poll(const struct call_kind *kind, long result)
{
	struct task_struct *task = current_task();
	struct call_slot *slot = get_slot();
	bool is_yield = kind->limit == ARGUMENT_NONE, is_poll;
	__u64 cgroup;

	if (!slot)
		return 0;
	is_poll = is_yield || slot->looking == (__u64)task;
	slot->looking = 0;
	if (!judge(slot, task, &cgroup) || is_compat_call(task))
		return 0;
	if (is_poll && result == 0)
		return count_poll(cgroup, is_yield, go_on_looking(slot, task));
	stop_looking(task);
	return 0;
}
