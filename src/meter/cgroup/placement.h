/* SPDX-License-Identifier: MIT */
/* placement - the cgroup of a process, and the job that follows from it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroup/hierarchy.h"
#include "cgroup/identity.h"

struct error;

struct placement {
	pid_t pid;
	char command[64]; /* as proc names it */
	char *cgroups; /* the text of proc/PID/cgroup */
	char *path; /* of its cgroup in the key hierarchy */
	char *dir; /* where that is seen */
	uint64_t cgroup_id; /* 0: unknown, the cgroup's directory cannot be seen from here */
	bool has_identity, has_outer;
	struct identity identity; /* of the innermost rule */
	struct identity outer; /* and of the one around it */
};

/* -ESRCH: there is no such process. */
int placement_read(int root_fd, const struct hierarchy *h, pid_t pid, struct placement *ret,
		   struct error *err);
void placement_clear(struct placement *p);
