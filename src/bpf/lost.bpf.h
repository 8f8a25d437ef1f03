/* SPDX-License-Identifier: MIT */
/*
 * lost - counts events that could not be counted properly: one number a reason and CPU; and, if
 * groups are counted separately, by the charged group (see groups.h), as far as there is room.
 */
#pragma once

#include "bpf/compat.bpf.h"
#include "bpf/lost.h"

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

/* Nobody knows where.  Returns 0, so that a program can end with it. */
static __always_inline int count_lost(__u32 reason)
{
	add_lost(reason, 1);
	add_lost(LOST_COUNT + reason, 1);
	return 0;
}
