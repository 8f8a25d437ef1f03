/* SPDX-License-Identifier: MIT */
#include "energy/attribution.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "basic/macro.h"

#define INCONSISTENT_SHARE 100 /* 1 % of an interval */

const char *energy_policy_name(enum energy_policy policy)
{
	static const char *const names[POLICY_COUNT] = {
		[POLICY_ALLOCATED] = "allocated",
		[POLICY_ACTIVE] = "active",
		[POLICY_NONE] = "none",
	};

	return names[policy];
}

int attribution_channel(struct attribution *a, const struct energy_channel *channel)
{
	for (size_t i = 0; i < a->channel_count; i++) {
		const struct energy_channel *c = &a->channels[i];

		if (c->pool == channel->pool && c->level == channel->level &&
		    c->quality == channel->quality &&
		    c->uncertainty_permille == channel->uncertainty_permille &&
		    strcmp(c->source, channel->source) == 0)
			return (int)i;
	}
	if (a->channel_count < ENERGY_CHANNELS_MAX) {
		a->channels[a->channel_count] = *channel;
		return (int)a->channel_count++;
	}
	for (size_t i = 0; i < a->channel_count; i++) {
		struct energy_channel *c = &a->channels[i];

		if (c->pool != channel->pool)
			continue;
		c->uncertainty_permille = MAX(c->uncertainty_permille,
					      channel->uncertainty_permille);
		return (int)i;
	}
	return -ENOSPC;
}

struct energy_use *energy_owner_use(struct energy_owner *o, enum energy_pool pool)
{
	if (pool == POOL_GPU)
		return &o->gpu;
	return pool == POOL_MEMORY ? &o->memory : &o->cpu;
}

void energy_owner_begin_pool(struct energy_owner *o, enum energy_pool pool)
{
	o->marks[pool] = *energy_owner_use(o, pool);
}

void energy_owner_begin(struct energy_owner *o)
{
	for (size_t pool = 0; pool < POOL_COUNT; pool++)
		energy_owner_begin_pool(o, (enum energy_pool)pool);
}

/* ---- a share ---- */

static uint64_t share_of(uint64_t uj, uint64_t part, unsigned __int128 whole)
{
	uint64_t product;

	if (!whole || !part)
		return 0;
	/* a division of 64 bits takes a small part of one of 128, and most are of these */
	if (whole <= UINT64_MAX && !__builtin_mul_overflow(uj, part, &product))
		return product / (uint64_t)whole;
	return (uint64_t)((unsigned __int128)uj * part / whole);
}

static struct energy_use use_since(const struct energy_owner *o, enum energy_pool pool)
{
	const struct energy_use *now = energy_owner_use((struct energy_owner *)o, pool),
				*mark = &o->marks[pool];

	return (struct energy_use){ now->work - mark->work, now->allocated - mark->allocated };
}

/* A division of one interval. */
struct division {
	enum energy_pool pool;
	size_t channel;
	uint64_t dynamic_uj, idle_uj;
	unsigned __int128 work, allocated; /* of all; the latter at least the capacity */
	enum energy_policy policy;
	uint64_t given_uj;
};

static void give(struct division *d, struct energy_owner *o, uint64_t uj, uint64_t idle_uj)
{
	o->uj[d->channel] += uj + idle_uj;
	o->idle_uj += idle_uj;
	if (d->pool != POOL_NODE)
		o->parts_uj += uj + idle_uj;
	d->given_uj += o->is_inside ? 0 : uj + idle_uj;
}

/* A worker: a job or, without an allocation, the system. */
static void give_shares(struct division *d, struct energy_owner *o)
{
	const struct energy_use use = use_since(o, d->pool);
	const uint64_t dynamic = share_of(d->dynamic_uj, use.work, d->work);
	uint64_t idle = 0;

	if (d->policy == POLICY_ALLOCATED)
		idle = share_of(d->idle_uj, use.allocated, d->allocated);
	else if (d->policy == POLICY_ACTIVE)
		idle = share_of(d->idle_uj, use.work, d->work);
	give(d, o, dynamic, idle);
	energy_owner_begin_pool(o, d->pool);
}

/* Energy that is charged to no job. */
static uint64_t idle_rest(const struct division *d, unsigned __int128 allocated)
{
	if (d->policy == POLICY_NONE || (d->policy == POLICY_ACTIVE && !d->work) ||
	    (d->policy == POLICY_ALLOCATED && !d->allocated))
		return d->idle_uj;
	if (d->policy == POLICY_ACTIVE)
		return 0;
	return (uint64_t)((unsigned __int128)d->idle_uj * (d->allocated - allocated) /
			  d->allocated);
}

/* ---- the node's rest ---- */

static uint64_t sum_parts(const struct attribution *a, struct energy_owner *const *owners,
			  size_t count)
{
	uint64_t sum = a->system.parts_uj + a->idle.parts_uj + a->unattributed.parts_uj;

	for (size_t k = 0; k < count; k++)
		sum += owners[k]->is_inside ? 0 : owners[k]->parts_uj;
	return sum;
}

static void forget_parts(struct attribution *a, struct energy_owner *const *owners, size_t count)
{
	a->parts_uj = 0;
	a->system.parts_uj = a->idle.parts_uj = a->unattributed.parts_uj = 0;
	for (size_t k = 0; k < count; k++)
		owners[k]->parts_uj = 0;
}

void attribution_begin_rest(struct attribution *a, struct energy_owner *const *owners, size_t count)
{
	forget_parts(a, owners, count);
}

/* The node's energy beyond all that came to its parts, given or carried; their intervals end at
 * other times: an excess now is a deficit later. */
static uint64_t take_rest(struct attribution *a, uint64_t uj)
{
	const uint64_t parts = a->parts_uj, owed = parts + a->debt_uj;

	a->debt_uj = uj > owed ? 0 : owed - uj;
	a->inconsistent += a->debt_uj > uj / INCONSISTENT_SHARE;
	a->came_uj += uj - parts;
	return uj > owed ? uj - owed : 0;
}

static uint64_t take_interval(struct attribution *a, const struct energy_channel *channel,
			      uint64_t uj, struct energy_owner *const *owners, size_t count)
{
	const bool is_node = channel->pool == POOL_NODE;

	/* an estimate is of a server without GPUs */
	if (is_node && channel->quality != ENERGY_ESTIMATED)
		uj = take_rest(a, uj);
	else
		a->came_uj += uj;
	if (is_node)
		forget_parts(a, owners, count);
	else
		a->parts_uj += uj;
	return uj;
}

/* GPUs: without a holder their energy is idle, and the rest that no job has is unattributed. */
static void add_rest_of_gpus(struct attribution *a, struct division *d, uint64_t *ret_uj)
{
	const struct energy_use unheld = use_since(&a->idle, POOL_GPU);

	d->work += unheld.work;
	*ret_uj = d->work < d->dynamic_uj ? d->dynamic_uj - (uint64_t)d->work : 0;
	d->work += *ret_uj;
	give(d, &a->idle, 0, share_of(d->dynamic_uj, unheld.work, d->work));
	energy_owner_begin_pool(&a->idle, POOL_GPU);
}

/* ---- a pool ---- */

void attribution_close(struct attribution *a, size_t channel, const struct energy_interval *i,
		       struct energy_owner *const *owners, size_t count)
{
	const enum energy_pool pool = a->channels[channel].pool;
	const uint64_t uj = take_interval(a, &a->channels[channel], i->uj, owners, count) +
			    a->carry_uj[pool];
	struct division d = {
		.pool = pool,
		.channel = channel,
		.idle_uj = pool == POOL_GPU ? 0 : MIN(i->idle_uj, uj),
		.policy = a->policy,
	};
	unsigned __int128 allocated = 0;
	uint64_t rest_uj = 0;

	d.dynamic_uj = uj - d.idle_uj;
	d.work = use_since(&a->system, pool).work;
	for (size_t k = 0; k < count; k++) {
		const struct energy_use use = use_since(owners[k], pool);

		if (owners[k]->is_inside)
			continue;
		d.work += use.work;
		allocated += use.allocated;
	}
	d.allocated = MAX(allocated, (unsigned __int128)i->capacity);
	if (pool == POOL_GPU)
		add_rest_of_gpus(a, &d, &rest_uj);
	for (size_t k = 0; k < count; k++)
		give_shares(&d, owners[k]);
	give_shares(&d, &a->system);
	give(&d, &a->idle, 0, idle_rest(&d, allocated));
	/* no work was measured: the owner is unknown */
	give(&d, &a->unattributed, d.work ? rest_uj : d.dynamic_uj, 0);
	a->carry_uj[pool] = uj - d.given_uj;
	give(&d, &a->unattributed, i->gap_uj, 0);
	a->came_uj += i->gap_uj;
	a->parts_uj += pool == POOL_NODE ? 0 : i->gap_uj;
}

static uint64_t give_rest(struct energy_owner *o, size_t channel, uint64_t uj, uint64_t parts)
{
	const uint64_t share = share_of(uj, o->parts_uj, parts);

	o->uj[channel] += share;
	return o->is_inside ? 0 : share;
}

void attribution_close_rest(struct attribution *a, size_t channel, const struct energy_interval *i,
			    struct energy_owner *const *owners, size_t count)
{
	const uint64_t parts = sum_parts(a, owners, count);
	const uint64_t rest = take_rest(a, i->uj) + a->carry_uj[POOL_NODE];
	uint64_t given = 0;

	for (size_t k = 0; k < count; k++)
		given += give_rest(owners[k], channel, rest, parts);
	given += give_rest(&a->system, channel, rest, parts);
	given += give_rest(&a->idle, channel, rest, parts);
	given += give_rest(&a->unattributed, channel, rest, parts);
	if (!parts) {
		a->unattributed.uj[channel] += rest;
		given = rest;
	}
	a->carry_uj[POOL_NODE] = rest - given;
	a->unattributed.uj[channel] += i->gap_uj;
	a->came_uj += i->gap_uj;
	forget_parts(a, owners, count);
}

/* ---- sums ---- */

uint64_t energy_owner_total(const struct energy_owner *o)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ENERGY_CHANNELS_MAX; i++)
		sum += o->uj[i];
	return sum;
}

int64_t attribution_unbalanced(const struct attribution *a, struct energy_owner *const *owners,
			       size_t count, uint64_t gone_uj)
{
	uint64_t sum = gone_uj + energy_owner_total(&a->system) + energy_owner_total(&a->idle) +
		       energy_owner_total(&a->unattributed);

	for (size_t k = 0; k < count; k++)
		sum += owners[k]->is_inside ? 0 : energy_owner_total(owners[k]);
	for (size_t pool = 0; pool < POOL_COUNT; pool++)
		sum += a->carry_uj[pool];
	return (int64_t)(a->came_uj + a->debt_uj - sum);
}

/* ---- hardware counters ---- */

/* pJ by nx12's fit. */
#define PACKAGE_CYCLE 1961
#define PACKAGE_INSTRUCTION 122
#define PACKAGE_LLC_MISS 329879
#define MEMORY_CYCLE 221
#define MEMORY_LLC_MISS 297690

unsigned __int128 energy_counter_weight(const struct energy_counts *c, enum energy_pool pool)
{
	if (pool == POOL_MEMORY)
		return (unsigned __int128)c->cycles * MEMORY_CYCLE +
		       (unsigned __int128)c->llc_misses * MEMORY_LLC_MISS;
	return (unsigned __int128)c->cycles * PACKAGE_CYCLE +
	       (unsigned __int128)c->instructions * PACKAGE_INSTRUCTION +
	       (unsigned __int128)c->llc_misses * PACKAGE_LLC_MISS;
}
