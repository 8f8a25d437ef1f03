/* SPDX-License-Identifier: MIT */
/*
 * attribution - whose the energy is that went through the node's sensors: its jobs', or that of
 * three who are no jobs: `system` (work that is no job's), `idle` (what the node draws with nothing
 * to do, as far as it is charged to no job) and `unattributed` (nobody can tell).
 *
 * Pure, and in whole microjoules: what comes in is what the owners have, to the microjoule.  Each
 * share is rounded down, and what is left over waits for the pool's next interval.
 *
 * Energy comes in by pools, each of which is closed at moments of its own:
 *
 *   package, memory, gpu   the sum of their sensors since the pool was closed last
 *   node                   what a sensor of the whole node says; where there are other pools, only
 *                          what it says beyond these: power supplies, fans, disks
 *
 * Whose the energy of GPUs is, is known beforehand, since who holds a card has all of it: its idle
 * part is that of cards which nobody held.
 *
 * Of the others an interval has an idle part, which is the power of the idle pool times the time,
 * whatever is running, and a dynamic part, which is the rest.  The dynamic part goes to who worked,
 * in proportion to work.  The idle part goes by the policy.  What the node has beyond its pools
 * goes to who has what was in the pools meanwhile, in proportion.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/energy_sensor.h"
#include "model/sections/energy.h"

enum energy_pool {
	POOL_PACKAGE,
	POOL_MEMORY,
	POOL_GPU,
	POOL_NODE,
	POOL_COUNT,
};

/* Whose the idle part is. */
enum energy_policy {
	POLICY_ALLOCATED, /* jobs', by what is allocated to them; the rest is `idle` */
	POLICY_ACTIVE, /* theirs who worked, in proportion */
	POLICY_NONE, /* `idle` */
	POLICY_COUNT,
};
const char *energy_policy_name(enum energy_policy policy);

/* What somebody did and had so far.  Cumulative; they may wrap at 64 bits, differences do not. */
struct energy_use {
	uint64_t work; /* CPU time in ns, or counters by their weight */
	uint64_t allocated; /* thousandths of a core, or KiB, times us */
};

/* Energy of one source, in one quality; entries of a record are made of these. */
struct energy_channel {
	enum energy_pool pool;
	enum energy_level level;
	enum energy_quality quality;
	char source[ENERGY_SOURCE_SIZE];
	unsigned int uncertainty_permille; /* 0: not known */
};
#define ENERGY_CHANNELS_MAX 8

struct energy_owner { /* begins as {} */
	bool is_inside; /* what it did is another's, too, who has its energy: it is told its
			   shares, and is in no sum */
	/* Set by the caller; of gpu only work is used: microjoules of GPUs while it held them. */
	struct energy_use cpu, memory, gpu;
	struct energy_use marks[POOL_COUNT]; /* as each pool was closed last */
	uint64_t uj[ENERGY_CHANNELS_MAX]; /* what it has, by channel */
	uint64_t idle_uj; /* of it: the idle part */
	uint64_t parts_uj; /* of it: from other pools since the node was closed last */
};

struct attribution { /* begins as {}, with its policy set */
	enum energy_policy policy;
	struct energy_channel channels[ENERGY_CHANNELS_MAX];
	size_t channel_count;
	uint64_t carry_uj[POOL_COUNT]; /* less than two microjoules for each owner */
	uint64_t came_uj; /* all that came in */
	uint64_t debt_uj; /* by how much the parts were more than the whole node so far: it is taken
			     off what comes next */
	uint64_t inconsistent; /* how often that was more than 1 % of an interval */
	struct energy_owner system, idle, unattributed;
};

struct energy_interval {
	uint64_t uj; /* what came in since the pool was closed last */
	uint64_t gap_uj; /* what may have, while nothing was known: unattributed */
	uint64_t idle_uj; /* of uj: the idle part, if there is so much */
	/* Allocated if all of the node were: as energy_use.allocated. */
	uint64_t capacity;
};

/* The channel of that kind, which is added if there is none; if there is no room, the first of that
 * pool, with the larger uncertainty.  -ENOSPC: the pool has none. */
int attribution_channel(struct attribution *a, const struct energy_channel *channel);

/* What it did, as far as that pool goes. */
struct energy_use *energy_owner_use(struct energy_owner *o, enum energy_pool pool);
/* A new owner has no part in what was before: all marks are what it did and had by now; of one
 * pool: the pool's first interval begins. */
void energy_owner_begin(struct energy_owner *o);
void energy_owner_begin_pool(struct energy_owner *o, enum energy_pool pool);

/* Close an interval of a pool; of POOL_NODE only where there is no other pool but that of GPUs,
 * which a measured node has in its own and an estimate has not. */
void attribution_close(struct attribution *a, size_t channel, const struct energy_interval *i,
		       struct energy_owner *const *owners, size_t count);
/* Close one of the node, where there are pools of packages or memory. */
void attribution_close_rest(struct attribution *a, size_t channel, const struct energy_interval *i,
			    struct energy_owner *const *owners, size_t count);
/* The node's first value: what its parts were before is not in its intervals. */
void attribution_begin_rest(struct attribution *a, struct energy_owner *const *owners,
			    size_t count);

uint64_t energy_owner_total(const struct energy_owner *o);
/* What came in less what owners have, what is carried and what was given too much: 0. @gone_uj: of
 * owners that are no longer there. */
int64_t attribution_unbalanced(const struct attribution *a, struct energy_owner *const *owners,
			       size_t count, uint64_t gone_uj);
