/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * polls - tasks that use CPU time while they wait: the number of polls that found nothing, and the
 * time in code that waits.
 *
 * Calls alone do not measure the time: a library polls the system now and then, whether it waits or
 * not.  So each CPU takes a sample some 50 times a second: does the task run the code of a library
 * that spins while it waits, or is it inside a poll with a timeout of zero?  Programs that spin in
 * their own code are not seen.  Costs some look-ups a poll, nothing for any other call, and
 * a walk of the task's mappings a sample.
 */
#pragma once

#include "bpf/files.h"
#include "bpf/tasks.h"
#include "bpf/lost.bpf.h"
#include "bpf/slots.bpf.h"

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

	return get_or_add(&polls, &key, &no_polls);
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
	struct call_slot *slot = get_slot();
	bool is_yield = kind->limit == ARGUMENT_NONE;

	if (slot) /* of a poll that it left on this CPU nothing stays */
		slot->looking = slot->looked = is_yield || must_not_wait(regs, kind)
						       ? (__u64)current_task()
						       : 0;
	return 0;
}

static __always_inline int end_poll(const struct call_kind *kind, long result)
{
	struct task_struct *task = current_task();
	struct call_slot *slot = get_slot();
	bool is_yield = kind->limit == ARGUMENT_NONE, is_poll;
	struct polls *counts;
	__u64 cgroup;

	if (!slot)
		return 0;
	is_poll = is_yield || slot->looking == (__u64)task;
	slot->looking = 0;
	if (!is_poll || result || !judge(slot, task, &cgroup) || is_compat_call(task))
		return 0;
	counts = get_polls(cgroup);
	if (!counts)
		return count_lost_of(cgroup, LOST_POLL);
	__sync_fetch_and_add(is_yield ? &counts->yields : &counts->polls, 1); /* CPUs share it in a
										 user's groups */
	return 0;
}

/*
 * ---- samples ----
 *
 * Libraries that spin while they wait, by the first eight characters of their files' names at most:
 * those of MPI with what they load (Open MPI's modules are mca_*), their transports, and OpenMP's.
 */
#define LIBRARY(name)                                        \
	{                                                    \
		name, ~0ULL >> (64 - 8 * (sizeof(name) - 1)) \
	}
static const struct {
	char name[8];
	__u64 mask; /* of the characters that count; both kinds of machines are little-endian */
} waiting_libraries[] = {
	LIBRARY("libmpi"),  LIBRARY("libpmpi"), LIBRARY("libopen-"), LIBRARY("libprrte"),
	LIBRARY("libpmix"), LIBRARY("mca_"),	LIBRARY("liboshme"), LIBRARY("libucp"),
	LIBRARY("libuct"),  LIBRARY("libucs"),	LIBRARY("libfabri"), LIBRARY("libpsm2"),
	LIBRARY("libpsm_"), LIBRARY("libgomp"), LIBRARY("libiomp5"), LIBRARY("libomp"),
};

/* As @ret: is the mapping of one of them? */
static long judge_mapping(struct task_struct *task, struct vm_area_struct *mapping, void *ret)
{
	const unsigned char *from = BPF_CORE_READ(mapping, vm_file, f_path.dentry, d_name.name);
	__u64 name = 0;

	bpf_probe_read_kernel(&name, sizeof(name), from); /* the kernel has room for 32 in each */
	for (__u32 i = 0; i < sizeof(waiting_libraries) / sizeof(waiting_libraries[0]); i++) {
		if ((name & waiting_libraries[i].mask) == *(const __u64 *)waiting_libraries[i].name)
			*(bool *)ret = true;
	}
	return 0;
}

/* In an interrupt, which may have come in the midst of another program: so it leaves the slot as it
 * is. */
static __always_inline int count_sample(__u64 address, bool is_poll)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cgroup *cgrp = cgroup_of(task);
	struct polls *counts;
	__u64 cgroup;

	if (!is_watched(cgrp))
		return 0;
	if (!is_poll) /* while the mappings are being changed it is unknown, and taken for work */
		bpf_find_vma(task, address, judge_mapping, &is_poll, 0);
	if (!is_poll)
		return 0;
	cgroup = fold_cgroup(task, cgroup_id(cgrp));
	counts = get_polls(cgroup);
	if (!counts)
		return count_lost_of(cgroup, LOST_POLL);
	__sync_fetch_and_add(&counts->ns, SPIN_SAMPLE_NS);
	return 0;
}
