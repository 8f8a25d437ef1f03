/* SPDX-License-Identifier: MIT */
/*
 * patterns - what a job did over time, from its record's timeline: phases, checkpoints, an idle
 * tail, a hang, a leak, death inside.
 *
 * A pattern that cannot be searched for (no timeline, a series that is missing, too few known
 * buckets) is unknown, not "none". A job shorter than a pattern has none.
 * docs/internals/insights.md describes the methods.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analysis/amount.h"
#include "analysis/pattern_settings.h"

struct document;
struct record;

#define PHASES_MAX 16
#define PATTERNS_MAX (PHASES_MAX + PATTERN_KINDS)

enum pattern_number {
	PHASE_CORES,
	PHASE_READ_RATE,
	PHASE_WRITE_RATE,
	CHECKPOINT_COUNT,
	CHECKPOINT_PERIOD,
	CHECKPOINT_DURATION,
	CHECKPOINT_BYTES,
	CHECKPOINT_COST,
	CHECKPOINT_COST_SHARE,
	CHECKPOINT_LOST,
	IDLE_TAIL_SECONDS,
	IDLE_TAIL_SHARE,
	IDLE_TAIL_LOST,
	HANG_SECONDS,
	HANG_CORES_BEFORE,
	HANG_TO_END,
	LEAK_RATE,
	LEAK_GROWTH,
	LEAK_LIMIT_SECONDS,
	HOMOGENEITY,
	PATTERN_NUMBERS,
};

struct pattern {
	enum pattern_kind kind;
	uint64_t from_ns, to_ns; /* since the epoch */
	struct amount numbers[PATTERN_NUMBERS]; /* those of other kinds are not known */
};

struct patterns { /* begins as {}: nothing is known */
	bool has_timeline;
	uint64_t start_ns; /* of the job */
	struct pattern items[PATTERNS_MAX]; /* in the order of the kinds, then of time */
	size_t count;
	struct amount counts[PATTERN_KINDS]; /* how many; not known: no search */
	struct amount numbers[PATTERN_NUMBERS]; /* of those kinds of which there is one at most */
};

/* -ENOMEM. */
int patterns_find(const struct pattern_settings *settings, const struct record *record,
		  struct patterns *ret);

/* The sentence; the caller frees.  NULL: no memory. */
char *pattern_text(const struct patterns *patterns, const struct pattern *pattern);

/* A list of maps; null: there is no timeline. */
void patterns_format(const struct patterns *patterns, struct document *d);

/* ---- as names for rules ---- */

struct pattern_name {
	const char *name;
	struct dimension dimension;
	const char *help;
};
/* First the counts, by kind, then the numbers; NULL: there are no more.  Numbers of phases have no
 * name: there are several. */
const struct pattern_name *pattern_name(size_t i);
#define PATTERN_NAMES (PATTERN_KINDS + PATTERN_NUMBERS)
/* @patterns may be NULL. */
struct amount pattern_amount(const struct patterns *patterns, size_t i);
