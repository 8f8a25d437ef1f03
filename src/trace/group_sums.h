/* SPDX-License-Identifier: MIT */
/*
 * group_sums - what a tracer of all processes counts, by cgroup: each has what it and the groups
 * below it called, so that whoever knows which group is a job finds the job's.
 *
 * Nothing grows with time: rows of processes that are gone are folded, and a group that is silent
 * for an hour is forgotten.  What the kernel side loses it counts for the node, so each group that
 * called the function since then is told all of it: its own share is at most that.  A group's
 * process time is exact to what lies between two rounds.
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
	uint64_t begin_ns; /* CLOCK_BOOTTIME: of what was counted; no two of one group are the same
			    */
	bool is_live; /* a process that called any of it is there */
	const struct traced_calls *calls; /* since the begin */
};
typedef int (*group_sums_visitor)(void *context, const struct group_sum *sum);

/* @sites are the tracer's, and outlive it.  NULL: no memory. */
struct group_sums *group_sums_new(const struct sites *sites);
struct group_sums *group_sums_free(struct group_sums *s); /* NULL is fine; returns NULL */

/* A round: visit the groups whose sums grew since the round before, and those that are live.
 * -ENOMEM, what reading the kernel side's says, or what @visit does. */
int group_sums_read(struct group_sums *s, struct tracer *t, group_sums_visitor visit,
		    void *context);
