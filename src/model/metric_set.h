/* SPDX-License-Identifier: MIT */
/* metric_set - some of a job's metrics: a bit each, as many as the table has; begins as {}, with
 * none. */
#pragma once

#include "basic/bitset.h"
#include "model/metric.h"

struct metric_set {
	uint64_t words[BITSET_WORDS(METRIC_JOB_COUNT)];
};

static inline bool metric_set_has(const struct metric_set *s, enum metric_id id)
{
	return bitset_has(s->words, id);
}

static inline void metric_set_add(struct metric_set *s, enum metric_id id)
{
	bitset_add(s->words, id);
}

static inline bool metric_set_is_empty(const struct metric_set *s)
{
	for (size_t i = 0; i < BITSET_WORDS(METRIC_JOB_COUNT); i++) {
		if (s->words[i])
			return false;
	}
	return true;
}

/* Those of @s that are not in @without. */
static inline struct metric_set metric_set_minus(struct metric_set s, struct metric_set without)
{
	for (size_t i = 0; i < BITSET_WORDS(METRIC_JOB_COUNT); i++)
		s.words[i] &= ~without.words[i];
	return s;
}

/* Those that are in both. */
static inline struct metric_set metric_set_both(struct metric_set a, struct metric_set b)
{
	for (size_t i = 0; i < BITSET_WORDS(METRIC_JOB_COUNT); i++)
		a.words[i] &= b.words[i];
	return a;
}
