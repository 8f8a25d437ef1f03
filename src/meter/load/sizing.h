/* SPDX-License-Identifier: MIT */
/*
 * sizing - how many entries each map of the kernel side gets, and how much memory they take.
 *
 * The needs of a map follow from the expected load.  A limit for all maps together is kept by
 * giving up histograms first, then rows.  A full map turns new keys away, and each loss is counted:
 * see docs/internals/how-it-counts.md, "When a table is full".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Holds 1,024 jobs with 8 mounts each on 256 CPUs, and the lives of their groups with their paths
 * (tests/unit/test_sizing.c has the sum): with an agent of 16 MiB that stays under 64 MiB.
 */
#define SIZING_LIMIT_MIB 50

/*
 * What a load is assumed to need.
 *
 * A row is of a cgroup, CPU, place and operation.  A CPU works for one cgroup at a time and a
 * cgroup stays on its CPUs, so there are about as many pairs of cgroup and CPU as CPUs and jobs
 * together; a job that moves over all CPUs has more.  Measured: compilers, Python, tar, git, meson
 * and pack-headers used 3.1 to 4.4 operations per cgroup, CPU and place, of which 0.8 to 1.1 moved
 * data, and 3 to 6 places that are no mounts: pipes, programs, proc, devices, unresolved ones.
 */
#define SIZING_PLACES_BESIDE_MOUNTS 5
#define SIZING_ROWS_OF_A_PLACE 5
#define SIZING_HISTOGRAMS_OF_FIVE_PLACES 7
#define SIZING_CGROUPS_OF_A_JOB 2 /* the manager's own processes beside the job's */
#define SIZING_SOCKETS_OF_A_JOB 2 /* kinds of them */
#define SIZING_REQUESTS_OF_A_CPU 8 /* to block devices, on their way at once */
#define SIZING_CONNECTIONS_OF_A_JOB 8 /* of TCP, at once */
#define SIZING_SYSCALLS_OF_A_PAIR \
	40 /* names: a shell, gcc, tar, git, Python and meson use 27 to 47 */
#define SIZING_FILES_OF_A_MIB \
	96 /* followed one by one for all jobs, of 2 KiB: so a fifth of the limit is theirs */
#define SIZING_SERVICES 16 /* that are no jobs, and run on every CPU */
#define SIZING_TASKS_OF_A_JOB 8 /* live at once, where jobs are as many as CPUs and more */
#define SIZING_GROUPS_OF_A_JOB 8 /* Slurm's job with two steps; a pod of six containers */
#define SIZING_GROUPS_OF_ALL 512 /* services, sessions, and what has died and is not yet read */
#define SIZING_SUPERBLOCKS_OF_ALL 64 /* mounts of the node */
#define SIZING_SUPERBLOCKS_OF_A_JOB 3 /* a container's root, proc and shm */

/* The expected load; 0: all possible CPUs, one job, 8 mounts. */
struct sizing_shape {
	unsigned int cpus;
	unsigned int jobs;
	unsigned int mounts; /* that one job works on */
	bool has_histograms;
	unsigned int followed; /* files to follow one by one; of one group beyond the limit; 0:
				  none */
	bool has_groups; /* groups are counted separately */
	bool names_syscalls; /* system calls are counted by name; of one group beyond the limit */
};

/* Properties of a map. */
struct map_form {
	char name[48];
	unsigned int type, flags;
	unsigned int key_bytes, value_bytes;
	unsigned int entries; /* of task storage: tasks */
};

/* CPUs that this machine may ever have: per-CPU maps hold a value for each. */
unsigned int sizing_cpus(void);

/* What the kernel takes for it (kernel/bpf/hashtab.c, arraymap.c, bpf_local_storage.c), filled or
 * not; 0: a kind of map that we have none of. */
uint64_t map_form_bytes(const struct map_form *form, unsigned int cpus);

/* A fixed number of entries, whatever the load and the limit. */
struct map_size {
	const char *map;
	unsigned int entries;
};

/* How many of the @entries of a map one group may take, so that it leaves others theirs: an eighth,
 * or what one job on all CPUs is taken to need, but half at most. */
unsigned int sizing_share(const char *map, unsigned int entries, const struct sizing_shape *shape);

struct sizing {
	struct sizing_shape shape;
	uint64_t limit_bytes; /* 0: SIZING_LIMIT_MIB */
	const struct map_size *fixed; /* the caller's; ends with a NULL name; may be NULL */
};

/*
 * Choose the entries of @forms, which are all maps there are to be.  Returns the bytes of all: over
 * the limit where that is less than the least of histograms and rows leaves.
 */
uint64_t sizing_choose(const struct sizing *sizing, struct map_form *forms, size_t count);
