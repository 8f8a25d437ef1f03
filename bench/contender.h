/* SPDX-License-Identifier: MIT */
/* contender - what is measured: the tiers of jobmeter, and what it is compared with. */
#pragma once

#include <stdbool.h>

#include "cgroup/hierarchy.h"
#include "lived.h"
#include "worker.h"

struct error;

/* Columns of the tables.  One may be run by several contenders, each for some of the works. */
enum entry {
	ENTRY_T0,
	ENTRY_T1,
	ENTRY_T2_CALLS,
	ENTRY_T2_BARE,
	ENTRY_T2_CLOCK,
	ENTRY_T2,
	ENTRY_ALL,
	ENTRY_FILES,
	ENTRY_REFERENCE,
	ENTRY_BPFTRACE,
	ENTRY_STRACE,
	ENTRY_SWITCH_TOOLS,
	ENTRY_SWITCH_REFERENCE,
	ENTRY_SYSCALLS,
	ENTRY_SYSCALLS_ALL,
	ENTRY_SYSCOUNT,
	ENTRY_BLOCK,
	ENTRY_BIOLATENCY,
	ENTRY_COUNT,
};

struct contender {
	enum entry entry;
	const char *needs; /* a program, or NULL */
	unsigned int works; /* bits of enum work */
	unsigned int slowness; /* calls are fewer by this */
	const struct contender_kind *kind;
	/* jobmeter's */
	unsigned int tiers;
	bool has_clock, has_histograms, has_mappings;
	unsigned int followed_max; /* files, one by one */
	const char *program; /* bpftrace's */
	bool names_syscalls, has_block; /* jobmeter's */
};

/* What contenders are put to. */
struct ring {
	int root_fd;
	const struct hierarchy *hierarchy;
	uint64_t group_id;
	struct worker *worker;
	const char *dir; /* the mount point of the worker's files */
	const char *device; /* "/dev/loop0", which the worker reads; NULL: there is none */
};

/* One that runs. */
struct contest {
	const struct contender *contender;
	const struct ring *ring;
	struct deeds before;
	struct look look; /* T1's sums as it began */
	void *state;
};

extern const struct contender contenders[];
extern const int contender_count;

const char *entry_name(enum entry e);

/* -EOPNOTSUPP: what is not ours does not run on this machine. */
int contest_start(const struct contender *c, const struct ring *ring, struct contest *ret,
		  struct error *err);

/* Stop it, and see whether it counted what the worker did meanwhile: -ERANGE if not. */
int contest_end(struct contest *c, struct error *err);

/*
 * What each of a contender's BPF programs took of late, by the kernel's own statistics: calls @tell
 * once a program.
 */
void contest_tell_programs(struct contest *c,
			   void (*tell)(const char *program, uint64_t runs, uint64_t ns,
					void *data),
			   void *data);
