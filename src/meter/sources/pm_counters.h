/* SPDX-License-Identifier: MIT */
/*
 * pm_counters - the counters of energy that the controller of a Cray node (XC, EX) keeps: of the
 * node, its processors, memory and accelerators.
 *
 * Below sys/cray/pm_counters a file a number, "N J TIME us"; all of them change together, ten times
 * a second, and `freshness` with them: those that were read between two equal ones belong together.
 * `startup` changes when they began anew.  (HPE, "User Access to Compute Node Power Data".)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PM_COUNTERS_MAX 16

/* "36084 J 1427313093433457 us", "36084 J", "36084": the number, if it is in @unit or in none.
 * -EINVAL, -ERANGE: it is none, or in another unit. */
int pm_counter_parse(const char *text, const char *unit, uint64_t *ret);

/* The place in the table of counters, "cpu_energy"; and a reading of all that there are. */
struct pm_counters {
	uint64_t freshness, startup;
	uint32_t known; /* a bit a counter: it was there, and in joules */
	uint64_t joules[PM_COUNTERS_MAX];
};

/* All of one moment.  -EAGAIN: they changed in the midst each time that they were read; -ENOENT,
 * -EINVAL: there are none, or `freshness` is no number. */
int pm_counters_read(int root_fd, struct pm_counters *ret);
