/* SPDX-License-Identifier: MIT */
/* load balance - how many cores, ranks or threads worked, and how much alike; what each rank did.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/reading.h"

/* How many of a kind worked, and how evenly: the mean of their time on a CPU by the greatest. */
struct balance {
	struct value count;
	struct value balance; /* times 10^LOAD_BALANCE_PLACES; 1: all had the same */
};
/* Of that process of a job that did most: those threads that worked. */
struct threads {
	struct value count, balance;
	struct value cpu_ns; /* what they did together */
};
/* What each rank did, see rank_work(): of agents' records the tasks of the step that did most, or
 * of a `run` whose environment names its rank. */
#define RANK_NODE_SIZE 64
#define RANK_STEP_SIZE 32
#define RANK_TIMES_MAX 65536 /* of a merged record; further ones are left out */
struct rank_time {
	char node[RANK_NODE_SIZE], step[RANK_STEP_SIZE]; /* step: "": of a `run` */
	uint64_t rank, work_ns;
};
struct rank_times {
	bool is_known;
	struct rank_time *items; /* owned */
	size_t count;
};
struct record;
const struct rank_times *rank_times_of(const struct record *r);
/* -ENOMEM. */
int rank_times_add(struct rank_times *t, const char *node, const char *step, uint64_t rank,
		   uint64_t work_ns);
void rank_times_clear(struct rank_times *t);

#define LOAD_BALANCE_PLACES 4
#define LOAD_BALANCE_ONE 10000

/* Of @count times on a CPU; not known where there is none, or all are 0. */
struct balance load_balance_of(const uint64_t *times_ns, size_t count);

/* The same of @count times of which the sum and the greatest are known; so is nothing where one of
 * them is 0. */
struct balance load_balance_of_sum(uint64_t count, uint64_t sum_ns, uint64_t greatest_ns);

/* @count, @sum_ns and @greatest_ns as above. */
struct threads threads_of_sum(uint64_t count, uint64_t sum_ns, uint64_t greatest_ns);

/* A core is touched where a job was on it for so much of its time. */
#define CORES_USED_PERCENT 5
