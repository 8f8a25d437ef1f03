/* SPDX-License-Identifier: MIT */
/* What a meter says of itself in a record: what was on, what was missing, what was lost. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lost.h"
#include "macro.h"
#include "meter.h"

/* clang-format off */
static const struct {
	enum lost_reason reason;
	bool is_missing; /* a number is wrong for it; else only less is known */
	const char *words;
} reasons[] = {
	{ LOST_ROW,       false, "calls counted in (other), since the table of files was full" },
	{ LOST_HISTOGRAM, false, "calls in no histogram, since the table of histograms was full" },
	{ LOST_CLOCK,     false, "calls counted without their time" },
	{ LOST_COMPAT,    true,  "calls of 32-bit programs not counted" },
	{ LOST_TASK,      true,  "ended tasks not counted, since the table of tasks was full" },
	{ LOST_MOVE,      false, "processes moved with their threads' earlier use" },
};
/* clang-format on */

static int describe_lost(const struct meter *m, struct record *record)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		uint64_t n = meter_lost(m, reasons[i].reason);
		int r;

		if (!n)
			continue;
		record->coverage.lost_events += n;
		r = strings_add(reasons[i].is_missing ? &record->coverage.missing :
							&record->coverage.notes,
				"%" PRIu64 " %s", n, reasons[i].words);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Hooks that are off for one reason are named together. */
static int describe_tier(const struct meter *m, const char *tier, struct record *record)
{
	const struct hook *hooks, *first = NULL;
	size_t count, off = 0, all = 0;

	hooks = meter_hooks(m, &count);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(hooks[i].tier, tier) != 0)
			continue;
		all++;
		if (hooks[i].is_on)
			continue;
		off++;
		first = first ? first : &hooks[i];
	}
	if (off < all) {
		int r = strings_add(&record->coverage.tiers, "%s", tier);

		if (r < 0)
			return r;
	}
	if (!off)
		return 0;
	if (off == all)
		return strings_add(&record->coverage.missing, "%s: %s", first->gives, first->why);
	for (size_t i = 0; i < count; i++) {
		int r;

		if (hooks[i].is_on || strcmp(hooks[i].tier, tier) != 0)
			continue;
		r = strings_add(&record->coverage.missing, "%s: %s (%s)", hooks[i].gives,
				hooks[i].why, hooks[i].attach);
		if (r < 0)
			return r;
	}
	return 0;
}

int meter_describe(const struct meter *m, struct record *record)
{
	static const char *const tiers[] = { "T0", "T2" };

	for (size_t i = 0; i < ARRAY_SIZE(tiers); i++) {
		int r = describe_tier(m, tiers[i], record);

		if (r < 0)
			return r;
	}
	return describe_lost(m, record);
}
