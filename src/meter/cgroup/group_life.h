/* SPDX-License-Identifier: MIT */
/* group_life - a cgroup of the key hierarchy from birth to death, from BPF or its directory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define GROUP_PATH_SIZE 512

struct group_life {
	uint64_t answers; /* the group that is charged for its table space; 0: unknown */
	uint64_t id, parent; /* as the kernel numbers them; parent 0: not known */
	uint64_t born_ns, died_ns; /* by CLOCK_BOOTTIME; born 0: it was there before us; died 0: it
				      lives */
	uint64_t peak_bytes; /* as it died; 0: not known */
	uint64_t oom_kills; /* as it died */
	bool has_oom_kills;
	uint32_t maker_uid; /* its maker; UINT32_MAX: not known */
	bool is_delegated; /* its name proves nothing: a user made it, or an ancestor is writable by
			      others than root */
	bool is_cut; /* @path is only its beginning */
	char path[GROUP_PATH_SIZE]; /* from the hierarchy's root on: "/slurm/uid_1000/job_7" */
};

/* May others than root make, or on v1 rename, groups in that directory? */
static inline bool is_users_directory(const struct stat *st)
{
	return st->st_uid || st->st_mode & (st->st_gid ? S_IWGRP | S_IWOTH : S_IWOTH);
}
