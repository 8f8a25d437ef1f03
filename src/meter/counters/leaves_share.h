/* SPDX-License-Identifier: MIT */
/* leaves_share - what the parts of leaves share among themselves. */
#pragma once

#include <stdint.h>

#include "bpf/groups.h"

struct meter;

/* What was taken of a share for @leaf, which is still known, is no more: so much may be taken
 * again.  Below 0: it was taken without the kernel side. */
int leaves_give_back(struct meter *m, uint64_t leaf, enum share share, int count);

/* Forget what came late: of leaves that are known no more. */
int leaves_forget_strays(struct meter *m);
