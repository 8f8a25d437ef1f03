/* SPDX-License-Identifier: MIT */
/* looks - what the program files and user space share of tasks that look for work instead of
 * waiting for it. */
#pragma once

#include <linux/types.h>

#define LOOKS_APART_NS 30000000ULL /* of CPU time: beyond, a task did something else in between */

/* Of a cgroup, by the CPU that counted: struct cgroup_cpu of tasks.h is the key. */
struct polls {
	__u64 polls; /* that were not to wait, and found nothing */
	__u64 yields; /* of the CPU */
	__u64 ns; /* CPU time from one of both to the next */
};

_Static_assert(sizeof(struct polls) == 24, "shared with the kernel side");
