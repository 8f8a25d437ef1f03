/* SPDX-License-Identifier: MIT */
/* numa - which memory the processors of this machine have next to them: its NUMA nodes. */
#pragma once

struct record;

#define NUMA_NODES_MAX 1024

/* Set the record's NUMA nodes of the CPUs that it may use, and of those that it used, as far as
 * these are known; on a machine that tells of no nodes, or whose lists cannot be read, they are not
 * known. -ENOMEM. */
int numa_describe(int root_fd, struct record *record);
