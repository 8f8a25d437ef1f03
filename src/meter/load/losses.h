/* SPDX-License-Identifier: MIT */
/* losses - what the kernel side could not count properly, by reason and, if groups are counted
 * separately, by group. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/lost.h" /* the kernel side's */

struct error;
struct meter;
struct record;

enum {
	LOSS_SKIPPED = LOST_COUNT, /* runs of programs that the kernel skipped */
	LOSSES,
};

struct losses {
	uint64_t counts[LOSSES]; /* by enum lost_reason, and LOSS_SKIPPED */
};

struct cgroup_loss {
	uint64_t cgroup; /* the group that answers for where it was: see bpf/groups.h */
	uint32_t reason; /* enum lost_reason */
	uint32_t pad;
	uint64_t count;
};
/* By group and reason, for qsort(3) and bsearch(3). */
int cgroup_loss_compare(const void *a, const void *b);

/* "row"; unique */
const char *lost_reason_name(enum lost_reason reason);

/* Since the meter began to count, in all. */
void losses_sum(const struct meter *m, struct losses *ret);
/* The same by group, sorted by group and reason, which the caller frees; and those of an unknown
 * group. */
int losses_read(const struct meter *m, struct cgroup_loss **ret, size_t *ret_count,
		struct losses *ret_nowhere, struct error *err);

/* Add the losses to the record's coverage.  -ENOMEM, -ENOSPC. */
int losses_describe(const struct losses *l, struct record *record);
