/* SPDX-License-Identifier: MIT */
/*
 * cause - what a thread that neither runs nor waits for a CPU waits for: told by the system call
 * that it is inside of, and by the kind of file where that call is one that reads or writes.
 */
#pragma once

#include <stdbool.h>

#include "model/metric.h"

enum cause {
	CAUSE_FILE_READ,
	CAUSE_FILE_WRITE,
	CAUSE_FILE_META,
	CAUSE_FILE_ASYNC,
	CAUSE_SYNC,
	CAUSE_PAGE_FAULT,
	CAUSE_NETWORK,
	CAUSE_LOCK,
	CAUSE_PIPE,
	CAUSE_POLL,
	CAUSE_SLEEP,
	CAUSE_CHILDREN,
	CAUSE_THREADS,
	CAUSE_STOPPED,
	CAUSE_OTHER,
	CAUSE_COUNT,
};

/* "file_read" */
const char *cause_name(enum cause cause);

/* METRIC_BLOCKED_FILE_READ... */
enum metric_id cause_metric(enum cause cause);

/*
 * Is it time in which cores that nobody used may have been lost, by the definition of core time:
 * files, sync, page faults, locks, network?  Sleep, poll, children, other threads, pipes and the
 * rest never are: there waiting is what the program wanted, or another of its processes or threads
 * is what it waited for.
 */
bool cause_is_lost(enum cause cause);
