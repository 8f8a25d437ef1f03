/* SPDX-License-Identifier: MIT */
#include "analysis/rates.h"

#include <string.h>

#include "analysis/amount.h"
#include "basic/macro.h"
#include "model/record.h"

#define WIDTH_MIN 0.5 /* of the interval: less of an edge is noise */

static const struct {
	enum metric_id metrics[2]; /* which are added */
} sources[RATE_COUNT] = {
	[RATE_ON_CPU] = { { METRIC_CPU_USER, METRIC_CPU_SYSTEM } },
	[RATE_READ] = { { METRIC_READ_BYTES, METRIC_COUNT } },
	[RATE_WRITE] = { { METRIC_WRITE_BYTES, METRIC_COUNT } },
	[RATE_MEMORY] = { { METRIC_MEMORY_USAGE, METRIC_COUNT } },
	[RATE_POWER] = { { METRIC_ENERGY, METRIC_COUNT } },
	[RATE_INSTRUCTIONS] = { { METRIC_CPU_INSTRUCTIONS, METRIC_COUNT } },
	[RATE_FREQUENCY] = { { METRIC_JOB_FREQUENCY_MEAN, METRIC_COUNT } },
	[RATE_TEMPERATURE] = { { METRIC_JOB_TEMPERATURE, METRIC_COUNT } },
	[RATE_THROTTLES] = { { METRIC_JOB_THROTTLES, METRIC_COUNT } },
};

/* ---- time ---- */

/* The part of a bucket in which the job ran; all of it, if that is not known. */
static double width_of(const struct record *record, size_t bucket)
{
	const struct timeline *t = &record->timeline;
	uint64_t from_ns = t->start_ns + bucket * timeline_interval_ns(t);
	uint64_t to_ns = from_ns + timeline_interval_ns(t);
	uint64_t began_ns = MAX(record->time.start_ns, record->time.measured_from_ns);
	uint64_t ended_ns = record_elapsed_from(record) + record->time.elapsed_ns;
	uint64_t ran_from_ns = MAX(from_ns, began_ns), ran_to_ns = MIN(to_ns, ended_ns);

	if (!record->time.start_ns || ran_to_ns <= ran_from_ns)
		return record->time.start_ns ? 0 : (double)(to_ns - from_ns) / 1e9;
	return (double)(ran_to_ns - ran_from_ns) / 1e9;
}

uint64_t rates_time(const struct rates *r, size_t bucket)
{
	return r->start_ns + bucket * r->interval_ns;
}

double rates_seconds(const struct rates *r, size_t first, size_t end)
{
	double sum = 0;

	for (size_t i = first; i < end; i++)
		sum += r->width[i];
	return sum;
}

/* ---- values ---- */

static void add_series(const struct record *record, size_t series, bool is_gauge, double unit,
		       size_t first, double *values, struct rates *r)
{
	uint64_t buckets[TIMELINE_BUCKETS_MAX];

	timeline_get(&record->timeline, series, buckets);
	for (size_t i = 0; i < r->count; i++) {
		uint64_t number = buckets[first + i];

		if (number == TIMELINE_UNKNOWN)
			values[i] = NAN;
		else
			values[i] += (double)number / unit / (is_gauge ? 1 : r->width[i]);
	}
}

static void take_rate(const struct record *record, enum rate rate, size_t first, struct rates *r)
{
	r->is_known[rate] = true;
	for (size_t k = 0; k < ARRAY_SIZE(sources[rate].metrics); k++) {
		enum metric_id id = sources[rate].metrics[k];
		const struct metric *metric;

		if (id == METRIC_COUNT)
			continue;
		metric = metric_get(id);
		if (!timeline_knows(&record->timeline, timeline_series_of(id))) {
			r->is_known[rate] = false;
			continue;
		}
		add_series(record, timeline_series_of(id), metric->kind == KIND_GAUGE,
			   pow(10, metric_unit_places(metric->unit)), first, r->of[rate], r);
	}
	for (size_t i = 0; !r->is_known[rate] && i < r->count; i++)
		r->of[rate][i] = NAN;
}

static double cores_of(const struct record *record, const struct rates *r)
{
	const struct value *allocated = &record->reading.values[METRIC_CPU_ALLOCATED];
	double greatest = 0;

	if (allocated->is_known && allocated->number)
		return amount_of_metric(METRIC_CPU_ALLOCATED, allocated->number).number;
	for (size_t i = 0; i < r->count; i++)
		greatest = fmax(greatest, r->of[RATE_ON_CPU][i]);
	return greatest;
}

void rates_take(const struct record *record, struct rates *ret)
{
	const struct timeline *t = &record->timeline;
	size_t first = 0, end = timeline_count(t);

	memset(ret, 0, sizeof(*ret));
	ret->elapsed = (double)record->time.elapsed_ns / 1e9;
	if (!end)
		return;
	ret->interval_ns = timeline_interval_ns(t);
	ret->interval = (double)ret->interval_ns / 1e9;
	while (first < end && width_of(record, first) < WIDTH_MIN * ret->interval)
		first++;
	while (end > first && width_of(record, end - 1) < WIDTH_MIN * ret->interval)
		end--;
	ret->start_ns = t->start_ns + first * ret->interval_ns;
	ret->count = end - first;
	for (size_t i = 0; i < ret->count; i++)
		ret->width[i] = fmax(width_of(record, first + i), WIDTH_MIN * ret->interval);
	for (size_t rate = 0; rate < RATE_COUNT; rate++)
		take_rate(record, (enum rate)rate, first, ret);
	ret->cores = cores_of(record, ret);
}

double rates_io(const struct rates *r, size_t bucket)
{
	return r->of[RATE_READ][bucket] + r->of[RATE_WRITE][bucket];
}

double rates_mean(const struct rates *r, enum rate rate, size_t first, size_t end)
{
	double sum = 0, seconds = 0;

	for (size_t i = first; i < end; i++) {
		if (isnan(r->of[rate][i]))
			continue;
		sum += r->of[rate][i] * r->width[i];
		seconds += r->width[i];
	}
	return seconds > 0 ? sum / seconds : NAN;
}
