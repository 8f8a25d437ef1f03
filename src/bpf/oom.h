/* SPDX-License-Identifier: MIT */
/* oom - processes that the kernel killed for want of memory; shared with user space. */
#pragma once

#include <linux/types.h>

#define OOM_VICTIMS_OF_LEAF 8 /* the first ones */

/* Kept under struct leaf_cpu, whose cpu is its number among those of its leaf, from 0. */
struct oom_victim {
	__u64 killed_ns; /* by CLOCK_BOOTTIME */
	__u64 anon_pages, file_pages, shmem_pages; /* that it had in memory just before */
	__u32 pid, uid;	 /* of the process */
	__u32 has_pages; /* 0: they are not known */
	__u32 more;	 /* of the last one kept: those of its leaf that were killed later */
	char command[16];
};

_Static_assert(sizeof(struct oom_victim) == 64, "shared with the kernel side");
