/* SPDX-License-Identifier: MIT */
/* allocation - the cores and memory that the calling process, or a group, may use. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cgroup/hierarchy.h"
#include "model/reading.h"

/* The files of a group, and of those above it, with the limits. */
struct allocation_source {
	enum metric_id metric;
	enum controller controller;
	const char *v1_file, *v1_other; /* NULL: one file has it all */
	const char *v2_file;
};
extern const struct allocation_source allocation_sources[];
extern const size_t allocation_source_count;

/*
 * Cores: those of the affinity mask (which the cpuset has cut already), or the CPU quota where that
 * is less.  Memory: the least limit from the own group up; none, or more than the machine has, is
 * absent.  Where no group has a quota and the caller is not root, none
 * stops it.
 * @h may be NULL.  *ret_cpus: the affinity as a CPU list, owned by the caller.
 */
int allocation_read(int root_fd, const struct hierarchy *h, struct reading *to, char **ret_cpus);

/* The allocation of a group, from its files. */
struct allocation {
	struct value cores; /* in thousandths: the CPUs of its cpuset, or the quota where that is
			       less */
	struct value memory; /* in bytes: the least limit from the group up; absent as above */
	char *cpus; /* the cpuset as a CPU list; owned; NULL: not known */
	uint64_t read_ns; /* time of the reading; 0: never */
	uint64_t wait_ns; /* and its validity */
};
void allocation_clear(struct allocation *a);

/* Of the group of that path in the key hierarchy.  Where the group has no file of a kind, the
 * nearest above it counts; without any cpuset, the CPUs that are online.  -ENOMEM. */
int allocation_read_group(int root_fd, const struct hierarchy *h, const char *path,
			  struct allocation *ret);

/* A reading takes some 15 files, and limits change seldom: this reads again within a minute, each
 * path at its own time, then after twice that time, and so on. @now_ns: of any clock. 1: read
 * again; 0: still valid. */
#define ALLOCATION_AGE_NS UINT64_C(60000000000) /* the first time, at most */
#define ALLOCATION_AGE_MAX_NS UINT64_C(480000000000)
int allocation_refresh(int root_fd, const struct hierarchy *h, const char *path, uint64_t now_ns,
		       struct allocation *a);
