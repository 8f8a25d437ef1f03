/* SPDX-License-Identifier: MIT */
/* cgroups_share - what the parts of cgroups share among themselves. */
#pragma once

#include <stdint.h>

#include "bpf/groups.h"

struct meter;

/* What was taken of a share for @cgroup, which is still known, is no more: so much may be taken
 * again.  Below 0: it was taken without the kernel side. */
int cgroups_give_back(struct meter *m, uint64_t cgroup, enum share share, int count);

/* Forget what came late: of cgroups that are known no more. */
int cgroups_forget_strays(struct meter *m);
