/* SPDX-License-Identifier: MIT */
#include "analysis/pattern_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "analysis/rules.h"

static const char *const ids[PATTERN_KINDS] = {
	[PATTERN_PHASE] = "phase",	   [PATTERN_CHECKPOINTS] = "checkpoints",
	[PATTERN_IDLE_TAIL] = "idle-tail", [PATTERN_HANG] = "hang",
	[PATTERN_LEAK] = "leak",	   [PATTERN_DIED_INSIDE] = "died-inside",
};

const char *pattern_id(enum pattern_kind kind)
{
	return ids[kind];
}

#define AT(member) offsetof(struct pattern_settings, member)
#define DAYS_MAX (365.0 * 86400)
#define BYTES_MAX 1e15

/* clang-format off */
static const struct threshold {
	enum pattern_kind kind;
	const char *name;
	struct dimension dimension;
	double least, most;
	size_t at;
} thresholds[] = {
	{ PATTERN_PHASE, "buckets", DIMENSION_NUMBER, 16, 512, AT(phases.buckets) },
	{ PATTERN_PHASE, "length", DIMENSION_NUMBER, 4, 128, AT(phases.length) },
	{ PATTERN_PHASE, "part", DIMENSION_SHARE, 0, 0.5, AT(phases.part) },
	{ PATTERN_PHASE, "penalty", DIMENSION_NUMBER, 1, 100, AT(phases.penalty) },
	{ PATTERN_PHASE, "change", DIMENSION_SHARE, 0.01, 1, AT(phases.change) },
	{ PATTERN_PHASE, "rate", DIMENSION_RATE, 1, BYTES_MAX, AT(phases.rate) },
	{ PATTERN_PHASE, "apart", DIMENSION_NUMBER, 0, 100, AT(phases.apart) },
	{ PATTERN_PHASE, "jump", DIMENSION_NUMBER, 1, 100, AT(phases.jump) },
	{ PATTERN_CHECKPOINTS, "count", DIMENSION_NUMBER, 4, 128, AT(checkpoints.count) },
	{ PATTERN_CHECKPOINTS, "bytes", DIMENSION_BYTES, 1, BYTES_MAX, AT(checkpoints.bytes) },
	{ PATTERN_CHECKPOINTS, "above", DIMENSION_NUMBER, 1.5, 1000, AT(checkpoints.above) },
	{ PATTERN_CHECKPOINTS, "height", DIMENSION_SHARE, 0.01, 0.9, AT(checkpoints.height) },
	{ PATTERN_CHECKPOINTS, "tolerance", DIMENSION_SHARE, 0.01, 0.4, AT(checkpoints.tolerance) },
	{ PATTERN_CHECKPOINTS, "regular", DIMENSION_SHARE, 0.5, 1, AT(checkpoints.regular) },
	{ PATTERN_CHECKPOINTS, "buckets", DIMENSION_NUMBER, 4, 128, AT(checkpoints.buckets) },
	{ PATTERN_CHECKPOINTS, "span", DIMENSION_SHARE, 0.1, 1, AT(checkpoints.span) },
	{ PATTERN_IDLE_TAIL, "share", DIMENSION_SHARE, 0.0001, 0.5, AT(idle_tail.share) },
	{ PATTERN_IDLE_TAIL, "cores", DIMENSION_NUMBER, 0.0001, 64, AT(idle_tail.cores) },
	{ PATTERN_IDLE_TAIL, "rate", DIMENSION_RATE, 1, BYTES_MAX, AT(idle_tail.rate) },
	{ PATTERN_IDLE_TAIL, "time", DIMENSION_SECONDS, 1, DAYS_MAX, AT(idle_tail.time) },
	{ PATTERN_IDLE_TAIL, "part", DIMENSION_SHARE, 0, 1, AT(idle_tail.part) },
	{ PATTERN_IDLE_TAIL, "work", DIMENSION_SECONDS, 1, DAYS_MAX, AT(idle_tail.work) },
	{ PATTERN_HANG, "share", DIMENSION_SHARE, 0.0001, 0.5, AT(hang.share) },
	{ PATTERN_HANG, "cores", DIMENSION_NUMBER, 0.0001, 64, AT(hang.cores) },
	{ PATTERN_HANG, "rate", DIMENSION_RATE, 1, BYTES_MAX, AT(hang.rate) },
	{ PATTERN_HANG, "time", DIMENSION_SECONDS, 1, DAYS_MAX, AT(hang.time) },
	{ PATTERN_HANG, "busy", DIMENSION_NUMBER, 0.01, 64, AT(hang.busy) },
	{ PATTERN_LEAK, "time", DIMENSION_SECONDS, 60, DAYS_MAX, AT(leak.time) },
	{ PATTERN_LEAK, "buckets", DIMENSION_NUMBER, 32, 256, AT(leak.buckets) },
	{ PATTERN_LEAK, "growth", DIMENSION_SHARE, 0.01, 1, AT(leak.growth) },
	{ PATTERN_LEAK, "bytes", DIMENSION_BYTES, 1, BYTES_MAX, AT(leak.bytes) },
	{ PATTERN_LEAK, "scatter", DIMENSION_NUMBER, 1, 100, AT(leak.scatter) },
	{ PATTERN_LEAK, "steady", DIMENSION_NUMBER, 1, 100, AT(leak.steady) },
	{ PATTERN_LEAK, "cache", DIMENSION_NUMBER, 1, 100, AT(leak.cache) },
	{ PATTERN_DIED_INSIDE, "least", DIMENSION_NUMBER, 0.01, 1, AT(death.least) },
	{ PATTERN_DIED_INSIDE, "time", DIMENSION_SECONDS, 60, DAYS_MAX, AT(death.time) },
	{ PATTERN_DIED_INSIDE, "buckets", DIMENSION_NUMBER, 32, 512, AT(death.buckets) },
	{ PATTERN_DIED_INSIDE, "part", DIMENSION_SHARE, 0.01, 0.5, AT(death.part) },
	{ PATTERN_DIED_INSIDE, "busy", DIMENSION_NUMBER, 0.01, 64, AT(death.busy) },
};
/* clang-format on */

static int find_kind(const char *id, enum pattern_kind *ret, struct error *err)
{
	for (size_t kind = 0; kind < PATTERN_KINDS; kind++) {
		if (strcmp(ids[kind], id) == 0) {
			*ret = (enum pattern_kind)kind;
			return 0;
		}
	}
	return error_set(err, -EINVAL,
			 "id: there is no pattern '%s'; there are phase, checkpoints, idle-tail, "
			 "hang, leak and died-inside",
			 id);
}

static int take(struct pattern_settings *settings, const struct threshold *t,
		const struct constant *c, struct error *err)
{
	if (!c)
		return error_set(err, -EINVAL, "thresholds: '%s' is missing", t->name);
	if (!dimension_is_equal(c->dimension, t->dimension) ||
	    c->dimension.is_share != t->dimension.is_share)
		return error_set(err, -EINVAL, "thresholds: %s: %s must stand here, and not %s",
				 t->name, dimension_name(t->dimension).text,
				 dimension_name(c->dimension).text);
	if (!(c->amount.number >= t->least && c->amount.number <= t->most))
		return error_set(err, -EINVAL, "thresholds: %s: this must be from %s to %s",
				 t->name, amount_format(amount_of(t->least), t->dimension).text,
				 amount_format(amount_of(t->most), t->dimension).text);
	*(double *)((char *)settings + t->at) = c->amount.number;
	return 0;
}

int pattern_settings_add(struct pattern_settings *settings, const struct rule *rule,
			 struct error *err)
{
	const struct constant *of[ARRAY_SIZE(thresholds)] = {};
	enum pattern_kind kind = PATTERN_KINDS;
	int r = find_kind(rule->id, &kind, err);

	for (size_t k = 0; r == 0 && k < rule->threshold_count; k++) {
		const char *name = rule->thresholds[k].name;
		size_t i = 0;

		while (i < ARRAY_SIZE(thresholds) &&
		       (thresholds[i].kind != kind || strcmp(thresholds[i].name, name) != 0))
			i++;
		if (i == ARRAY_SIZE(thresholds))
			return error_set(err, -EINVAL, "thresholds: '%s' has no '%s'", rule->id,
					 name);
		of[i] = &rule->thresholds[k];
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(thresholds); i++) {
		if (thresholds[i].kind == kind)
			r = take(settings, &thresholds[i], of[i], err);
	}
	if (r == 0)
		settings->is_asked[kind] = !rule->is_disabled;
	return r;
}
