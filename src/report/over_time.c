/* SPDX-License-Identifier: MIT */
#include "report/over_time.h"

#include <math.h>

#include "analysis/amount.h"
#include "basic/macro.h"
#include "model/record.h"

/* A bucket of which the job ran in less than this part counts as this part. */
#define PART_MIN 0.1

bool over_time_of(const struct record *r, struct over_time *ret)
{
	const struct timeline *timeline = &r->timeline;
	double width = (double)timeline_interval_ns(timeline) / 1e9, first;

	if (timeline_count(timeline) == 0 || !r->time.elapsed_ns)
		return false;
	*ret = (struct over_time){ .span = (double)r->time.elapsed_ns / 1e9,
				   .width = width,
				   .count = timeline_count(timeline) };
	first = (double)(int64_t)(timeline->start_ns - record_elapsed_from(r)) / 1e9;
	for (size_t i = 0; i <= ret->count; i++)
		ret->edges[i] = fmin(fmax(0, first + (double)i * width), ret->span);
	ret->has_gaps = ret->edges[0] > 0 || ret->edges[ret->count] < ret->span;
	return true;
}

double over_time_part(const struct over_time *t, size_t bucket)
{
	return fmax(t->edges[bucket + 1] - t->edges[bucket], PART_MIN * t->width);
}

bool over_time_values(const struct over_time *t, const struct record *r, enum metric_id id,
		      double ret[TIMELINE_BUCKETS_MAX])
{
	const struct metric *metric = metric_get(id);
	size_t series = timeline_series_of(id);
	uint64_t buckets[TIMELINE_BUCKETS_MAX];

	if (!timeline_knows(&r->timeline, series))
		return false;
	timeline_get(&r->timeline, series, buckets);
	for (size_t i = 0; i < t->count; i++) {
		ret[i] = buckets[i] == TIMELINE_UNKNOWN ? (double)NAN
							: amount_of_metric(id, buckets[i]).number;
		if (metric->kind == KIND_COUNTER)
			ret[i] /= over_time_part(t, i);
	}
	return true;
}

bool over_time_sum_up(const struct over_time *t, const double *values, double *ret_mean,
		      double *ret_most)
{
	double sum = 0, time = 0, most = 0;

	for (size_t i = 0; i < t->count; i++) {
		double part = t->edges[i + 1] - t->edges[i];

		if (isnan(values[i]))
			continue;
		sum += values[i] * part;
		time += part;
		most = fmax(most, values[i]);
	}
	if (time <= 0)
		return false;
	*ret_mean = sum / time;
	*ret_most = most;
	return true;
}
