/* SPDX-License-Identifier: MIT */
/* allocation - what the calling process, and so its command, may use. */
#pragma once

#include "hierarchy.h"
#include "reading.h"

/*
 * Cores: those of the affinity mask (which the cpuset has cut already), or the CPU quota where that is
 * less.  Memory: the least limit from the own group up; none, or more than the machine has, is absent.
 * @h may be NULL.  *ret_cpus: the affinity as a CPU list, owned by the caller.
 */
int allocation_read(int root_fd, const struct hierarchy *h, struct reading *to, char **ret_cpus);
