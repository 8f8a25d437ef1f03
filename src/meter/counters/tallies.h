/* SPDX-License-Identifier: MIT */
/*
 * tallies - what tasks did, by leaf: those that were freed, those that ended and are not yet freed,
 * and those that live.  Here is the arithmetic of it; the reading of the kernel side's maps is
 * tallies_read().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counters/leaves.h"

struct traffic_counts;
struct objects;

struct tallies {
	uint64_t only; /* all is of this leaf; 0: each of its own */
	struct leaf_tasks *items; /* sorted by leaf once they are settled */
	size_t count, room;
	uint32_t *index; /* by hash of the leaf: item plus one; 0: none */
	size_t index_size;
	struct task_bases *bases; /* the caller's, to which live tasks are added; NULL: they are not asked for */
};

/* All that the kernel side knows, by T0, T1 and T2, as far as each is there; and, where @bases is not NULL, what each live task
 * did.  @only: as in the struct.  @ret need not be cleared before; tallies_clear() gives back all. */
int tallies_read(const struct objects *o, uint64_t only, struct task_bases *bases, struct tallies *ret);
void tallies_clear(struct tallies *t);

/* Are all tasks that ended freed? */
bool tallies_are_settled(const struct objects *o);

/* ---- its parts; all return -ENOMEM or 0 ---- */

/* Totals of one leaf and CPU. */
int tallies_add_totals(struct tallies *t, uint64_t leaf, const struct task_totals *totals);

/* Times by cause of one leaf and CPU. */
int tallies_add_times(struct tallies *t, uint64_t leaf, const struct task_times *times);

/* Looks for work of one leaf and CPU. */
int tallies_add_looks(struct tallies *t, uint64_t leaf, const struct looks *looks);

/* What the kernel side counted of sockets of a kind, below TRAFFIC_KINDS. */
void traffic_add(struct network *to, uint32_t kind, const struct traffic_counts *counts);

/* What went through sockets of one kind, of one leaf and CPU. */
int tallies_add_traffic(struct tallies *t, uint64_t leaf, uint32_t kind, const struct traffic_counts *counts);

/* All records of the iterator, which are changed and sorted, and all tasks that end.  One that
 * ended more than TALLIES_PATIENCE_NS before @now_ns and that the iterator no longer shows was
 * freed unseen: its end is settled. */
#define TALLIES_PATIENCE_NS UINT64_C(10000000000)
int tallies_add_tasks(struct tallies *t, struct task_record *live, size_t live_count,
		      const struct leaving_task *leaving, size_t leaving_count, uint64_t now_ns);

/* Sort: nothing can be added afterwards. */
void tallies_settle(struct tallies *t);
