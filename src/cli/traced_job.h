/* SPDX-License-Identifier: MIT */
/* traced_job - which job a trace is of: it gives the trace the same id on all of the job's nodes.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cgroup/identity.h"

struct watch_target;

#define TRACED_JOB_SCOPE 64

struct traced_job { /* .identity.manager NULL: of none that is known */
	struct identity identity;
	char scope[TRACED_JOB_SCOPE]; /* the boot, of a `run`, whose id another node may have too;
					 else "" */
};

/* Of @target; where it is NULL, of the process: a manager's, around whatever else it is part of. */
void traced_job_find(const struct watch_target *target, pid_t pid, struct traced_job *ret);
