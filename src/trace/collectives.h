/* SPDX-License-Identifier: MIT */
/*
 * collectives - matches calls of ranks to collective calls, and finds the rank that came last.
 *
 * In a collective call all ranks are inside at one moment: the last has entered, none has left.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct collective_call {
	uint32_t function, process; /* from 0 */
	uint64_t start_ns, end_ns;
	uint64_t group; /* of ranks that call together: a communicator of one run */
};

struct collective_sum { /* of one function */
	uint64_t matched; /* collective calls that all processes were in */
	uint64_t unmatched; /* calls of one process that are in none */
	uint64_t waited_ns; /* of all processes, for the last to come */
	uint32_t latest; /* the process for which the others waited longest */
	uint64_t latest_times; /* how often it was the last */
	uint64_t latest_ns; /* how long they waited for it */
};

/* By function, group, process and time, as collectives_sum() wants them. */
void collectives_sort(struct collective_call *calls, size_t count);

/* Calls of @function among sorted @calls, of all groups together; processes of a group that made
 * none are not in it, nor are groups of one.  -ENODATA: there is no other; -ENOMEM. */
int collectives_sum(const struct collective_call *calls, size_t count, uint32_t function,
		    struct collective_sum *ret);
