/* SPDX-License-Identifier: MIT */
/*
 * attribution - divides the energy of the node's sensors among jobs and three pseudo-owners:
 * `system` (work outside jobs), `idle` (idle power that is charged to no job) and `unattributed`
 * (unknown).
 *
 * Pure, and in whole microjoules: input equals the sum of all owners. Shares are rounded down; the
 * remainder goes to the pool's next interval.
 *
 * Energy comes in by pools, each with its own intervals:
 *
 *   package, memory, gpu   the sum of their sensors since the pool was closed last
 *   node                   what a sensor of the whole node says; where there are other pools, only
 *                          what it says beyond these: power supplies, fans, disks
 *
 * The holder of a GPU owns all of its energy; the idle part is that of cards without a holder.
 *
 * For the other pools an interval has an idle part, idle power times time, and a dynamic part, the
 * rest. The dynamic part is divided in proportion to work, the idle part by the policy. The node's
 * energy beyond its pools is divided in proportion to the energy of the pools.
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

/* How the idle part is divided. */
enum energy_policy {
	POLICY_ALLOCATED, /* by the allocation of jobs; the rest is `idle` */
	POLICY_ACTIVE, /* by work */
	POLICY_NONE, /* `idle` */
	POLICY_COUNT,
};
const char *energy_policy_name(enum energy_policy policy);

/* Work and allocation of an owner so far. Cumulative; they may wrap at 64 bits, differences do not.
 */
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
	bool is_inside; /* its work is counted in another owner (a `run` inside a job): it gets
			   shares, but is in no sum */
	/* Set by the caller; of gpu only work is used: microjoules of GPUs while it held them. */
	struct energy_use cpu, memory, gpu;
	struct energy_use marks[POOL_COUNT]; /* as each pool was closed last */
	uint64_t uj[ENERGY_CHANNELS_MAX]; /* its energy, by channel */
	uint64_t idle_uj; /* of it: the idle part */
	uint64_t parts_uj; /* of it: from other pools since the node was closed last */
};

struct attribution { /* begins as {}, with its policy set */
	enum energy_policy policy;
	struct energy_channel channels[ENERGY_CHANNELS_MAX];
	size_t channel_count;
	uint64_t carry_uj[POOL_COUNT]; /* less than two microjoules for each owner */
	uint64_t came_uj; /* all that came in */
	uint64_t parts_uj; /* of it: to other pools since the node was closed last */
	uint64_t debt_uj; /* excess of the parts over the whole node so far: subtracted from the
			     next intervals */
	uint64_t inconsistent; /* how often that was more than 1 % of an interval */
	struct energy_owner system, idle, unattributed;
};

struct energy_interval {
	uint64_t uj; /* received since the pool was closed last */
	uint64_t gap_uj; /* possible energy of a gap: unattributed */
	uint64_t idle_uj; /* its idle part, at most uj */
	/* Allocated if all of the node were: as energy_use.allocated. */
	uint64_t capacity;
};

/* The channel of that kind, added if necessary; without room for it the first of that pool, with
 * the larger uncertainty. -ENOSPC: the pool has none. */
int attribution_channel(struct attribution *a, const struct energy_channel *channel);

/* Its work, for that pool. */
struct energy_use *energy_owner_use(struct energy_owner *o, enum energy_pool pool);
/* A new owner has no part in earlier energy: all its marks are set to its current use; of one pool:
 * the pool's first interval begins. */
void energy_owner_begin(struct energy_owner *o);
void energy_owner_begin_pool(struct energy_owner *o, enum energy_pool pool);

/* Close an interval of a pool; of POOL_NODE only where there is no other pool but that of GPUs,
 * which a measured node has in its own and an estimate has not. */
void attribution_close(struct attribution *a, size_t channel, const struct energy_interval *i,
		       struct energy_owner *const *owners, size_t count);
/* Close one of the node, where there are pools of packages or memory. */
void attribution_close_rest(struct attribution *a, size_t channel, const struct energy_interval *i,
			    struct energy_owner *const *owners, size_t count);
/* The node's first value: earlier energy of its parts is not in its intervals. */
void attribution_begin_rest(struct attribution *a, struct energy_owner *const *owners,
			    size_t count);

uint64_t energy_owner_total(const struct energy_owner *o);
/* Input less the energy of owners, carries and debts: 0. @gone_uj: of former owners. */
int64_t attribution_unbalanced(const struct attribution *a, struct energy_owner *const *owners,
			       size_t count, uint64_t gone_uj);

/* Hardware counters by their share of a pool's dynamic energy, so that memory-bound work is not
 * charged like computing.  Only ratios matter: the sensor gives the energy. tools/energy-evaluate.c
 * fits the weights to one server with RAPL (kepler-model-db's nx12, Apache-2.0): package power
 * is 9.5 % off where CPU time is 28.1 % off, DRAM 9.0 % against 15.6 %.  For other processors that
 * is not known. */
struct energy_counts {
	uint64_t cycles, instructions, llc_misses;
};
unsigned __int128 energy_counter_weight(const struct energy_counts *c, enum energy_pool pool);
