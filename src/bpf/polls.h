/* SPDX-License-Identifier: MIT */
/* polls - data shared by the program files and user space on tasks that use CPU time while they
 * wait. */
#pragma once

#include <linux/types.h>

/* Of a CPU's time, from one sample to the next: some 50 a second, and no multiple of a tick or of a
 * round number of ms, or a program that works in step with those would be sampled at one place. */
#define SPIN_SAMPLE_NS 20011003ULL

/* Of a cgroup, by the CPU that counted: struct cgroup_cpu of tasks.h is the key. */
struct polls {
	__u64 polls; /* that were not to wait, and found nothing */
	__u64 yields; /* of the CPU */
	__u64 ns; /* CPU time in code that waits: SPIN_SAMPLE_NS for each sample there */
};

_Static_assert(sizeof(struct polls) == 24, "shared with the kernel side");
