/* SPDX-License-Identifier: MIT */
#include "made_rates.h"

#include <math.h>
#include <stdlib.h>

#include "model/record.h"

#define SECOND_NS 1e9

struct made_rates made_rates(size_t count)
{
	struct made_rates rates = { .count = count };

	for (size_t i = 0; i < count; i++) {
		rates.on_cpu[i] = MADE_CORES;
		rates.memory[i] = 1 << 30;
	}
	return rates;
}

static void put(struct record *r, const char *section, const char *key, const double *values,
		size_t count, double unit)
{
	uint64_t buckets[TIMELINE_BUCKETS_MAX];

	for (size_t i = 0; i < count; i++)
		buckets[i] = isnan(values[i]) ? TIMELINE_UNKNOWN
					      : (uint64_t)(fmax(0, values[i]) * unit + 0.5);
	if (timeline_put(&r->timeline, timeline_find(section, key), buckets, count) < 0)
		abort();
}

void made_rates_put(const struct made_rates *rates, unsigned int shift, struct record *r)
{
	static const double nothing[TIMELINE_BUCKETS_MAX];
	uint64_t start_ns = MADE_START_NS - MADE_START_NS % (UINT64_C(1000000000) << shift);
	double width = (double)(1 << shift);

	timeline_clear(&r->timeline);
	if (timeline_begin(&r->timeline, start_ns, 0) < 0)
		abort();
	r->time.start_ns = r->time.measured_from_ns = start_ns;
	r->time.elapsed_ns = (uint64_t)((double)rates->count * width * SECOND_NS);
	r->time.end_ns = start_ns + r->time.elapsed_ns;
	r->timeline.shift = shift;
	r->timeline.last_ns = r->time.end_ns;
	put(r, "cpu", "user_seconds", rates->on_cpu, rates->count, width * SECOND_NS);
	put(r, "cpu", "system_seconds", nothing, rates->count, 1);
	put(r, "read", "bytes", rates->read, rates->count, width);
	put(r, "write", "bytes", rates->write, rates->count, width);
	put(r, "memory", "usage_bytes", rates->memory, rates->count, 1);
}

struct record *made_rates_record(const struct made_rates *rates, unsigned int shift)
{
	struct record *r = record_new();

	if (!r)
		abort();
	r->is_final = true;
	r->job.exit_code = 0;
	reading_set(&r->reading, METRIC_CPU_ALLOCATED, (uint64_t)(MADE_CORES * 1000));
	made_rates_put(rates, shift, r);
	return r;
}

/* ---- chance ---- */

struct chance chance_of(unsigned int seed)
{
	struct chance c = { .state = UINT64_C(0x9e3779b97f4a7c15) * (seed + 1) };

	for (int i = 0; i < 8; i++)
		chance_even(&c);
	return c;
}

/* xorshift64* */
double chance_even(struct chance *c)
{
	c->state ^= c->state >> 12;
	c->state ^= c->state << 25;
	c->state ^= c->state >> 27;
	return (double)((c->state * UINT64_C(0x2545f4914f6cdd1d)) >> 11) / 9007199254740992.0;
}

double chance_normal(struct chance *c)
{
	double a = chance_even(c), b = chance_even(c);

	return sqrt(-2 * log(1 - a)) * cos(2 * M_PI * b);
}

double chance_exponential(struct chance *c)
{
	return -log(1 - chance_even(c));
}
