/* SPDX-License-Identifier: MIT */
/* allocation - what a process and its group may use. */
#pragma once

#include <sys/types.h>

#include "hierarchy.h"
#include "reading.h"

/*
 * Cores: those of the affinity mask (which the cpuset has cut already), or the CPU quota where that is
 * less.  Memory: the least limit from the own group up; none, or more than the machine has, is absent.
 * @h may be NULL.  *ret_cpus: the affinity as a CPU list, owned by the caller.
 */
int allocation_read(int root_fd, const struct hierarchy *h, struct reading *to, char **ret_cpus);

/* The same for the group @path of the key hierarchy, in which @pid is.  -ESRCH: there is no such process. */
int allocation_read_group(int root_fd, const struct hierarchy *h, const char *path, pid_t pid, struct reading *to,
			  char **ret_cpus);
