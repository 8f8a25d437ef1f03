/* SPDX-License-Identifier: MIT */
/* The coverage of a record: parts that were on, missing parts, losses. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/losses.h"
#include "load/meter.h"
#include "basic/cleanup.h"
#include "load/hooks.h"
#include "model/record.h"

/* ---- hooks that are off ---- */

/* The hooks of one tier. */
struct listing {
	const struct hook *hooks;
	size_t count;
	const char *tier;
};

static bool is_off(const struct listing *l, size_t i)
{
	return !l->hooks[i].is_on && strcmp(l->hooks[i].tier, l->tier) == 0;
}

static bool gives_same(const struct listing *l, size_t i, size_t k)
{
	return strcmp(l->hooks[i].tier, l->hooks[k].tier) == 0 &&
	       strcmp(l->hooks[i].gives, l->hooks[k].gives) == 0;
}

static bool is_off_for_same(const struct listing *l, size_t i, size_t k)
{
	return is_off(l, k) && strcmp(l->hooks[i].why, l->hooks[k].why) == 0;
}

/* Was the reason of hook @i named before, with what it gives if @with_gift? */
static bool is_told(const struct listing *l, size_t i, bool with_gift)
{
	for (size_t k = 0; k < i; k++) {
		if (is_off_for_same(l, i, k) && (!with_gift || gives_same(l, i, k)))
			return true;
	}
	return false;
}

static bool is_given_in_part(const struct listing *l, size_t i)
{
	for (size_t k = 0; k < l->count; k++) {
		if (l->hooks[k].is_on && gives_same(l, i, k))
			return true;
	}
	return false;
}

static void tell_gift(const struct listing *l, size_t i, FILE *text)
{
	const char *between = " (";

	fputs(l->hooks[i].gives, text);
	if (!is_given_in_part(l, i))
		return;
	for (size_t k = i; k < l->count; k++) {
		if (!is_off_for_same(l, i, k) || !gives_same(l, i, k))
			continue;
		fprintf(text, "%s%s", between, strchr(l->hooks[k].attach, '/') + 1);
		between = ", ";
	}
	fputc(')', text);
}

/* Of all that is off for the reason of hook @i, which is the first. */
static int tell_reason(const struct listing *l, size_t i, struct strings *ret)
{
	_cleanup_free_ char *gifts = NULL;
	size_t size;
	FILE *text = open_memstream(&gifts, &size);

	if (!text)
		return -ENOMEM;
	for (size_t k = i; k < l->count; k++) {
		if (!is_off_for_same(l, i, k) || is_told(l, k, true))
			continue;
		if (k > i)
			fputs(", ", text);
		tell_gift(l, k, text);
	}
	if (fclose(text) != 0)
		return -ENOMEM;
	return strings_add(ret, "%s: %s", gifts, l->hooks[i].why);
}

int missing_list(const struct hook *hooks, size_t count, const char *tier, struct strings *ret)
{
	const struct listing listing = { hooks, count, tier };
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		if (is_off(&listing, i) && !is_told(&listing, i, false))
			r = tell_reason(&listing, i, ret);
	}
	return r;
}

/* ---- a record ---- */

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

int meter_describe(const struct meter *m, const struct losses *losses, struct record *record)
{
	struct losses all;
	struct tier_state t2 = state_of(m, "T2");
	const char *why = why_all_off(m);
	int r = 0;

	if (why)
		r = strings_add(&record->coverage.missing, "files by mount, wait times: %s", why);
	for (size_t i = 0; !why && r >= 0 && i < meter_tier_count; i++)
		r = describe_tier(m, meter_tiers[i].name, meter_tiers[i].missing, record);
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
