/* SPDX-License-Identifier: MIT */
/*
 * group_sums - what a tracer of all processes counts, by cgroup: each group includes the calls of
 * the groups below it, as a job's group does.
 *
 * Memory is bounded: rows of ended processes are folded, and a group that is silent for an hour is
 * forgotten.  Losses are known for the node only, so they are added to each group that has called
 * the function since then: its own share is at most that.  A group's process time is exact to one
 * round.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct group_sums;
struct sites;
struct traced_calls;
struct tracer;

struct group_sum { /* valid during the call */
	uint64_t group_id; /* as the kernel numbers it */
	uint64_t begin_ns; /* CLOCK_BOOTTIME; unique among the sums of one group */
	bool is_live; /* a process that called any of it is there */
	const struct traced_calls *calls; /* since the begin */
};
typedef int (*group_sums_visitor)(void *context, const struct group_sum *sum);

/* @sites are the tracer's, and outlive it.  NULL: no memory. */
struct group_sums *group_sums_new(const struct sites *sites);
struct group_sums *group_sums_free(struct group_sums *s); /* NULL is fine; returns NULL */

/* A round: visit the groups whose sums grew since the last round, and those that are live. -ENOMEM,
 * or the error of reading the maps or of @visit. */
int group_sums_read(struct group_sums *s, struct tracer *t, group_sums_visitor visit,
		    void *context);
