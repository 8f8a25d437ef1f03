/* SPDX-License-Identifier: MIT */
/*
 * idle power - the idle power of a pool of sensors, learned from nearly idle intervals.
 *
 * The 5th percentile of the powers of the last intervals in which less than 2 % of the node's CPU
 * time was used; until there is any, a fifth of the greatest power so far, as SPECpower's servers
 * have it (2017 and later: 0.16 to 0.23), or the least power, if that is less.  Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define IDLE_POWERS_MAX 64

struct idle_power { /* begins as {} */
	uint64_t uw[IDLE_POWERS_MAX]; /* of idle intervals, a ring */
	uint64_t count; /* of all that there were */
	uint64_t least_uw, greatest_uw; /* of all intervals that were long enough; 0: none was */
};

/* An interval, with the CPU time that was used in it on @cpus. */
void idle_power_learn(struct idle_power *p, uint64_t uj, uint64_t ns, uint64_t busy_ns,
		      uint64_t cpus);
uint64_t idle_power_get(const struct idle_power *p); /* uW */
