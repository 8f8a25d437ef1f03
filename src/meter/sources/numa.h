/* SPDX-License-Identifier: MIT */
/* numa - which memory the processors of this machine have next to them: its NUMA nodes. */
#pragma once

struct record;

#define NUMA_NODES_MAX 1024

/* Set the record's NUMA nodes of the CPUs that it may use, and of those that it used, if they
 * are known; unknown on a machine without NUMA files. -ENOMEM. */
int numa_describe(int root_fd, struct record *record);
