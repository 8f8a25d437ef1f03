/* SPDX-License-Identifier: MIT */
#include "analysis/core_time.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/amount.h"
#include "model/record.h"

const char *lost_name(size_t cause)
{
	if (cause == LOST_STOLEN)
		return "stolen";
	return cause == LOST_RUN_QUEUE ? "run_queue" : cause_name((enum cause)cause);
}

bool lost_can_be(size_t cause)
{
	return cause >= CAUSE_COUNT || cause_is_lost((enum cause)cause);
}

enum metric_id lost_metric(size_t cause)
{
	if (cause == LOST_STOLEN)
		return METRIC_CPU_STOLEN;
	return cause == LOST_RUN_QUEUE ? METRIC_CPU_RUN_QUEUE : cause_metric((enum cause)cause);
}

bool core_time_waits(const struct record *r, double waits[LOST_COUNT])
{
	for (size_t c = 0; c < LOST_COUNT; c++) {
		const struct value *value = &r->reading.values[lost_metric(c)];

		waits[c] = 0;
		if (!lost_can_be(c))
			continue;
		if (!value->is_known && c != LOST_STOLEN)
			return false;
		waits[c] = (double)value->number / 1e9;
	}
	return true;
}

/* ---- one interval ---- */

struct interval { /* in seconds */
	double core, on_cpu;
	double waits[LOST_COUNT];
};

static void share_out(const struct interval *interval, struct core_time *t)
{
	double unused = fmax(0, interval->core - interval->on_cpu), sum = 0, part;
	double stolen = fmin(unused, interval->waits[LOST_STOLEN]);

	t->lost[LOST_STOLEN] += stolen;
	unused -= stolen;
	for (size_t c = 0; c < LOST_STOLEN; c++)
		sum += interval->waits[c];
	part = sum > 0 ? fmin(1, unused / sum) : 0;
	for (size_t c = 0; c < LOST_STOLEN; c++) {
		t->lost[c] += interval->waits[c] * part;
		unused -= interval->waits[c] * part;
	}
	t->idle += fmax(0, unused); /* rounding */
	t->intervals++;
}

/* ---- the timeline ---- */

struct buckets {
	size_t count;
	double start, width; /* in seconds; since elapsed time began */
	uint64_t on_cpu[2][TIMELINE_BUCKETS_MAX];
	uint64_t waits[LOST_COUNT][TIMELINE_BUCKETS_MAX];
};

static bool take_series(const struct timeline *timeline, enum metric_id id,
			uint64_t ret[TIMELINE_BUCKETS_MAX])
{
	size_t series = timeline_series_of(id), count;

	if (!timeline_knows(timeline, series))
		return false;
	count = timeline_get(timeline, series, ret);
	for (size_t i = 0; i < count; i++) {
		if (ret[i] == TIMELINE_UNKNOWN)
			return false;
	}
	return true;
}

/* False: the timeline does not cover it. */
static bool take_buckets(const struct record *r, struct buckets *b)
{
	const struct timeline *timeline = &r->timeline;
	bool is_known;

	b->count = timeline_count(timeline);
	if (b->count == 0 || !record_elapsed_from(r))
		return false;
	b->start = (double)(int64_t)(timeline->start_ns - record_elapsed_from(r)) / 1e9;
	b->width = (double)timeline_interval_ns(timeline) / 1e9;
	is_known = take_series(timeline, METRIC_CPU_USER, b->on_cpu[0]) &&
		   take_series(timeline, METRIC_CPU_SYSTEM, b->on_cpu[1]);
	for (size_t c = 0; is_known && c < LOST_STOLEN; c++)
		is_known = !lost_can_be(c) || take_series(timeline, lost_metric(c), b->waits[c]);
	if (r->reading.values[METRIC_CPU_STOLEN].is_known)
		is_known = is_known &&
			   take_series(timeline, METRIC_CPU_STOLEN, b->waits[LOST_STOLEN]);
	return is_known;
}

/* Takes the bucket's part off the rest, which ends as the time before the first bucket. */
static double take_off(double *left, uint64_t ns)
{
	*left -= (double)ns / 1e9;
	return (double)ns / 1e9;
}

static struct interval take_bucket(const struct buckets *b, size_t i, double cores, double elapsed,
				   struct interval *left)
{
	double from = fmax(0, b->start + (double)i * b->width);
	double to = fmin(elapsed, b->start + (double)(i + 1) * b->width);
	struct interval interval = { .core = cores * fmax(0, to - from) };

	left->core -= interval.core;
	for (size_t k = 0; k < 2; k++)
		interval.on_cpu += take_off(&left->on_cpu, b->on_cpu[k][i]);
	for (size_t c = 0; c < LOST_COUNT; c++) {
		if (lost_can_be(c))
			interval.waits[c] = take_off(&left->waits[c], b->waits[c][i]);
	}
	return interval;
}

/* A bucket may hold more CPU time than its cores could give, since readings do not fall on its
 * edges. What the others then have too much is taken off them all alike, so that the parts are the
 * whole. */
static void settle(struct core_time *t)
{
	double sum = t->idle;

	for (size_t c = 0; c < LOST_COUNT; c++)
		sum += t->lost[c];
	if (sum <= 0)
		return;
	for (size_t c = 0; c < LOST_COUNT; c++)
		t->lost[c] *= t->unused / sum;
	t->idle *= t->unused / sum;
}

static void share_out_all(const struct record *r, const struct interval *whole, double cores,
			  struct core_time *t)
{
	struct buckets *b = cores > 0 ? calloc(1, sizeof(*b)) : NULL;

	if (b && take_buckets(r, b)) {
		struct interval left = *whole;

		for (size_t i = 0; i < b->count; i++) {
			struct interval interval = take_bucket(b, i, cores, whole->core / cores,
							       &left);

			share_out(&interval, t);
		}
		left.on_cpu = fmax(0, left.on_cpu);
		for (size_t c = 0; c < LOST_COUNT; c++)
			left.waits[c] = fmax(0, left.waits[c]);
		if (left.core > 1e-6 * t->core) /* more than rounding */
			share_out(&left, t);
		settle(t);
	} else
		share_out(whole, t);
	free(b);
}

struct core_time core_time_of(const struct record *r)
{
	const struct value *allocated = &r->reading.values[METRIC_CPU_ALLOCATED];
	struct interval whole = {};
	struct core_time t = {};
	uint64_t cpu_ns;
	double cores;

	if (!allocated->is_known || !r->time.elapsed_ns || !record_cpu_time(r, &cpu_ns))
		return t;
	cores = amount_of_metric(METRIC_CPU_ALLOCATED, allocated->number).number;
	t.is_known = true;
	t.core = whole.core = cores * ((double)r->time.elapsed_ns / 1e9);
	t.on_cpu = whole.on_cpu = (double)cpu_ns / 1e9;
	t.unused = fmax(0, t.core - t.on_cpu);
	t.has_causes = core_time_waits(r, whole.waits);
	t.knows_stolen = t.has_causes && r->reading.values[METRIC_CPU_STOLEN].is_known;
	if (t.has_causes)
		share_out_all(r, &whole, cores, &t);
	return t;
}
