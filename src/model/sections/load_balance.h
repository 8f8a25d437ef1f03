/* SPDX-License-Identifier: MIT */
/* load balance - how many cores, ranks or threads worked, and how much alike. */
#pragma once

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
