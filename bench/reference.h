/* SPDX-License-Identifier: MIT */
/* reference - what the reference program and user space share. */
#pragma once

#include <linux/types.h>

#define REFERENCE_CALLS 512
#define REFERENCE_BUCKETS 28
#define REFERENCE_PATH 64

/* By which cgroups are told apart. */
enum reference_hierarchy {
	HIERARCHY_V2,
	HIERARCHY_MEMORY,
	HIERARCHY_CPUACCT,
	HIERARCHY_FREEZER,
};

struct reference_key {
	__u64 cgroup;
	char path[REFERENCE_PATH];
};

struct reference_value {
	__u64 calls, bytes, errors, ns;
	__u64 sizes[REFERENCE_BUCKETS];
	__u64 latencies[REFERENCE_BUCKETS];
};
