/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lost - counts events that could not be counted properly: one number per reason and CPU; where
 * groups are counted separately also by the charged group (see groups.h), as far as there is room.
 */
#pragma once

#include "bpf/groups.bpf.h"
#include "bpf/lost.h"
#include "bpf/tasks.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOST_COUNT * 2);
	__type(key, __u32); /* enum lost_reason; LOST_COUNT more: the same, in an unknown group */
	__type(value, __u64);
} lost SEC(".maps");

static __always_inline void add_lost(__u32 at, __u64 number)
{
	__u64 *count = bpf_map_lookup_elem(&lost, &at);

	if (count)
		__sync_fetch_and_add(count, number); /* programs may nest on one CPU */
}

/* In an unknown group.  Returns 0, so that a program can end with it. */
static __always_inline int count_lost(__u32 reason)
{
	add_lost(reason, 1);
	add_lost(LOST_COUNT + reason, 1);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: it is written in interrupts */
	__uint(max_entries, 256); /* set before load: see the meter's sizing */
	__type(key, struct cgroup_cpu); /* the group that answers, and the reason; removed by user
					   space when it has gone */
	__type(value, __u64);
} lost_by_cgroup SEC(".maps");

/* Of @cgroup; returns 0. */
__noinline int count_losses_of(__u64 cgroup, __u32 reason, __u64 number)
{
	struct cgroup_cpu key = { .cpu = reason };
	const __u64 nothing = 0;
	__u64 *count;

	if (reason >= LOST_COUNT)
		return 0;
	add_lost(reason, number);
	if (!settings.has_groups)
		return 0;
	key.cgroup = answering_group(cgroup);
	count = get_or_add(&lost_by_cgroup, &key, &nothing);
	if (count)
		__sync_fetch_and_add(count, number);
	else
		add_lost(LOST_COUNT + reason, number);
	return 0;
}

static __always_inline int count_lost_of(__u64 cgroup, __u32 reason)
{
	count_losses_of(cgroup, reason, 1);
	return 0;
}
