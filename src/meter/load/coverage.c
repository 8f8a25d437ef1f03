/* SPDX-License-Identifier: MIT */
/* What a meter says of itself in a record: what was on, what was missing, what was lost. */
#include <string.h>

#include "load/losses.h"
#include "load/meter.h"
#include "load/missing.h"

struct tier_state {
	size_t hooks, off;
	const struct hook *first_off;
};

static struct tier_state state_of(const struct meter *m, const char *tier)
{
	struct tier_state state = {};
	size_t count;
	const struct hook *hooks = meter_hooks(m, &count);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(hooks[i].tier, tier) != 0)
			continue;
		state.hooks++;
		if (hooks[i].is_on)
			continue;
		state.off++;
		state.first_off = state.first_off ? state.first_off : &hooks[i];
	}
	return state;
}

static int describe_hooks(const struct meter *m, const char *tier, struct record *record)
{
	size_t count;
	const struct hook *hooks = meter_hooks(m, &count);

	return missing_list(hooks, count, tier, &record->coverage.missing);
}

/* Of a node's jobs some always are on their way. */
static int describe_unended(const struct meter *m, struct record *record)
{
	size_t n = meter_opened_with(m)->has_groups
			   ? 0
			   : objects_count_entries(meter_objects(m), OBJECT_BLOCK,
						   "block_requests");

	if (!n)
		return 0;
	record->coverage.lost_events += n;
	return strings_add(
		&record->coverage.missing,
		"%zu request%s to block devices not counted, which had not ended or were not seen to",
		n, n == 1 ? "" : "s");
}

static bool is_all_off(const struct tier_state *state)
{
	return state->first_off && state->off == state->hooks;
}

/* @gives: what no hook of the tier gives, where all are off. */
static int describe_tier(const struct meter *m, const char *tier, const char *gives,
			 struct record *record)
{
	struct tier_state state = state_of(m, tier);
	int r;

	if (is_all_off(&state))
		return strings_add(&record->coverage.missing, "%s: %s", gives,
				   state.first_off->why);
	r = strings_add(&record->coverage.tiers, "%s", tier);
	return r < 0 ? r : describe_hooks(m, tier, record);
}

/* Why all of them are off, where it is one reason; else NULL. */
static const char *why_all_off(const struct meter *m)
{
	const struct hook *first = NULL;

	for (size_t i = 0; i < meter_tier_count; i++) {
		struct tier_state state = state_of(m, meter_tiers[i].name);

		if (!is_all_off(&state) || (first && strcmp(first->why, state.first_off->why) != 0))
			return NULL;
		first = state.first_off;
	}
	return first ? first->why : NULL;
}

static int describe_tiers(const struct meter *m, struct record *record)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < meter_tier_count; i++)
		r = describe_tier(m, meter_tiers[i].name, meter_tiers[i].missing, record);
	return r;
}

int meter_describe(const struct meter *m, const struct losses *losses, struct record *record)
{
	struct losses all;
	struct tier_state t2 = state_of(m, "T2");
	const char *why = why_all_off(m);
	int r;

	if (why)
		r = strings_add(&record->coverage.missing, "files by mount, wait times: %s", why);
	else
		r = describe_tiers(m, record);
	if (r >= 0) /* on demand: without it there is none in the list */
		r = describe_hooks(m, "T3", record);
	if (why)
		return r;
	if (r >= 0 && !is_all_off(&t2))
		r = describe_hooks(m, "T2+", record);
	if (r >= 0)
		r = describe_unended(m, record);
	if (!losses) {
		losses_sum(m, &all);
		losses = &all;
	}
	return r < 0 ? r : losses_describe(losses, record);
}
