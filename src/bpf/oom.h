/* SPDX-License-Identifier: MIT */
/* oom - processes that the OOM killer ended; shared with user space. */
#pragma once

#include <linux/types.h>

#define OOM_KILLS_OF_CGROUP 8 /* the first ones */

/* Kept under struct cgroup_cpu, whose cpu is its number among those of its cgroup, from 0. */
struct oom_kill_entry {
	__u64 killed_ns; /* by CLOCK_BOOTTIME */
	__u64 anon_pages, file_pages, shmem_pages; /* that it had in memory just before */
	__u32 pid, uid; /* of the process */
	__u32 has_pages; /* 0: they are not known */
	__u32 more; /* of the last one kept: those of its cgroup that were killed later */
	char command[16];
};

_Static_assert(sizeof(struct oom_kill_entry) == 64, "shared with the kernel side");
