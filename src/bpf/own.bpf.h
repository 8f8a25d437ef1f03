/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * own - what our programs cost: how often they run, and how long one run in 1,024 takes.
 *
 * For programs that run with preemption off, and not in each other on one CPU.
 */
#pragma once

#include "bpf/compat.bpf.h"
#include "bpf/own.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OWN_COUNT);
	__type(key, __u32); /* enum own_program */
	__type(value, struct own_cost);
} own_costs SEC(".maps");

/* What is noted stays in the map: else the verifier would follow the program twice, timed and not.
 */
static __always_inline struct own_cost *own_begin(__u32 program)
{
	struct own_cost *cost = bpf_map_lookup_elem(&own_costs, &program);

	if (cost && !(cost->runs++ % OWN_TIMED_EVERY))
		cost->started_ns = bpf_ktime_get_ns();
	return cost;
}

/* Returns 0, so that a program can end with it. */
static __always_inline int own_end(struct own_cost *cost)
{
	if (!cost || !cost->started_ns)
		return 0;
	cost->timed_ns += bpf_ktime_get_ns() - cost->started_ns;
	cost->timed++;
	cost->started_ns = 0;
	return 0;
}
