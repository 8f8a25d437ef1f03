/* SPDX-License-Identifier: MIT */
/* lost - what could not be counted is counted: one number a reason and CPU. */
#pragma once

#include "compat.bpf.h"
#include "lost.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOST_COUNT);
	__type(key, __u32); /* enum lost_reason */
	__type(value, __u64);
} lost SEC(".maps");

/* Returns 0, so that a program can end with it. */
static __always_inline int count_lost(__u32 reason)
{
	__u64 *count = bpf_map_lookup_elem(&lost, &reason);

	if (count)
		__sync_fetch_and_add(count, 1); /* programs may nest on one CPU */
	return 0;
}
