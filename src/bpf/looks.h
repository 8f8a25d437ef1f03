/* SPDX-License-Identifier: MIT */
/* looks - what the program files and user space share of tasks that look for work instead of waiting for it. */
#pragma once

#include <linux/types.h>

#define LOOKS_APART_NS 30000000ULL /* of CPU time: beyond, a task did something else in between */

/* Of a leaf, by the CPU that counted: struct leaf_cpu of tasks.h is the key. */
struct looks {
	__u64 polls;  /* that were not to wait, and found nothing */
	__u64 yields; /* of the CPU */
	__u64 ns;     /* CPU time from one of both to the next */
};
#define LOOKS_COUNTERS (sizeof(struct looks) / sizeof(__u64))

_Static_assert(sizeof(struct looks) == 24, "shared with the kernel side");
