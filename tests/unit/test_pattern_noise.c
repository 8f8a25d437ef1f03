/* SPDX-License-Identifier: MIT */
/* Noise, in which there is no pattern: in how many of a thousand made timelines one is found, or of
 * as many as JOBMETER_NOISE_SEEDS says.  docs/internals/insights.md tells the numbers. */
#include <math.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "made_rates.h"
#include "analysis/patterns.h"
#include "model/record.h"
#include "analysis/rules.h"
#include "test.h"

#define MIB (1024.0 * 1024)
#define GIB (1024.0 * MIB)

#define NOISE_BUCKETS 256
#define SAW_BUCKETS 12 /* less than a twentieth */

struct false_findings {
	unsigned int of[PATTERN_KINDS]; /* of a thousand, rounded up */
};

static struct false_findings ask_noise(void (*make)(struct made_rates *rates,
						    struct chance *chance))
{
	struct false_findings findings = {};
	_cleanup_(rules_freep) struct rules *rules = NULL;
	const char *wanted = getenv("JOBMETER_NOISE_SEEDS");
	const unsigned int seeds = wanted ? (unsigned int)atoi(wanted) : 1000;

	ASSERT_OK(rules_load_built_in(&rules, NULL));
	for (unsigned int seed = 0; seed < seeds; seed++) {
		struct made_rates rates = made_rates(NOISE_BUCKETS);
		struct chance chance = chance_of(seed);
		_cleanup_(record_freep) struct record *r = NULL;
		struct patterns patterns = {};

		make(&rates, &chance);
		r = made_rates_record(&rates, 3);
		ASSERT_OK(patterns_find(&rules->pattern_settings, r, &patterns));
		for (size_t kind = 0; kind < PATTERN_KINDS; kind++)
			findings.of[kind] += patterns.counts[kind].number > 0;
	}
	for (size_t kind = 0; kind < PATTERN_KINDS; kind++)
		findings.of[kind] = (findings.of[kind] * 1000 + seeds - 1) / seeds;
	return findings;
}

static void set(double *values, size_t n, double value)
{
	for (size_t i = 0; i < n; i++)
		values[i] = value;
}

static void add_noise(double *values, size_t n, double deviation, struct chance *chance)
{
	for (size_t i = 0; i < n; i++)
		values[i] = fmax(0, values[i] + deviation * chance_normal(chance));
}

static void make_white(struct made_rates *rates, struct chance *chance)
{
	set(rates->on_cpu, rates->count, 2);
	set(rates->write, rates->count, 50 * MIB);
	add_noise(rates->on_cpu, rates->count, 0.4, chance);
	add_noise(rates->read, rates->count, 20 * MIB, chance);
	add_noise(rates->write, rates->count, 20 * MIB, chance);
	add_noise(rates->memory, rates->count, 200 * MIB, chance);
}

static void walk(double *values, size_t n, double from, double step, double most,
		 struct chance *chance)
{
	double at = from;

	for (size_t i = 0; i < n; i++) {
		at = fmin(most, fmax(0, at + step * chance_normal(chance)));
		values[i] = at;
	}
}

static void make_walk(struct made_rates *rates, struct chance *chance)
{
	walk(rates->on_cpu, rates->count, 2, 0.2, MADE_CORES, chance);
	walk(rates->read, rates->count, 5 * MIB, MIB, INFINITY, chance);
	walk(rates->write, rates->count, 5 * MIB, MIB, INFINITY, chance);
	walk(rates->memory, rates->count, 100 * GIB, GIB, INFINITY, chance);
	set(rates->read, rates->count, 0); /* the walk is not to be cache */
}

/* What hangs together with the bucket before, and returns to its mean. */
static void make_red(struct made_rates *rates, struct chance *chance)
{
	double cores = 0, bytes = 0, memory = 0;

	for (size_t i = 0; i < rates->count; i++) {
		cores = 0.9 * cores + 0.2 * chance_normal(chance);
		bytes = 0.9 * bytes + 5 * MIB * chance_normal(chance);
		memory = 0.95 * memory + 100 * MIB * chance_normal(chance);
		rates->on_cpu[i] = fmax(0, 2 + cores);
		rates->write[i] = fmax(0, 20 * MIB + bytes);
		rates->memory[i] = 4 * GIB + memory;
	}
}

/* Bursts of any size at any time. */
static void make_bursts(struct made_rates *rates, struct chance *chance)
{
	double at = 10 * chance_exponential(chance);

	while (at < (double)rates->count) {
		size_t i = (size_t)at;

		rates->write[i] = 100 * MIB * chance_exponential(chance);
		rates->on_cpu[i] = 1;
		at += 1 + 10 * chance_exponential(chance);
	}
}

/* The same, all of one size. */
static void make_equal_bursts(struct made_rates *rates, struct chance *chance)
{
	make_bursts(rates, chance);
	for (size_t i = 0; i < rates->count; i++)
		rates->write[i] = rates->write[i] > 0 ? 100 * MIB : 0;
}

/* One burst of a saw's shape, somewhere. */
static void make_saw(struct made_rates *rates, struct chance *chance)
{
	size_t first = (size_t)(chance_even(chance) * (NOISE_BUCKETS - SAW_BUCKETS));

	add_noise(rates->on_cpu, rates->count, 0.2, chance);
	for (size_t i = 0; i < SAW_BUCKETS; i++) {
		rates->write[first + i] = (double)(SAW_BUCKETS - i) * 20 * MIB;
		rates->memory[first + i] += (double)i * 100 * MIB;
	}
}

static void make_constant(struct made_rates *rates, struct chance *chance)
{
	add_noise(rates->memory, rates->count, (1 + 99 * chance_even(chance)) * MIB, chance);
	add_noise(rates->on_cpu, rates->count, 0.01, chance);
}

TEST(white_noise_has_no_pattern)
{
	struct false_findings found = ask_noise(make_white);

	ASSERT(found.of[PATTERN_PHASE] <= 1);
	ASSERT(found.of[PATTERN_CHECKPOINTS] == 0);
	ASSERT(found.of[PATTERN_LEAK] == 0);
	ASSERT(found.of[PATTERN_IDLE_TAIL] + found.of[PATTERN_HANG] == 0);
	ASSERT(found.of[PATTERN_DIED_INSIDE] == 0);
}

TEST(walks_at_random_have_hardly_a_pattern)
{
	struct false_findings found = ask_noise(make_walk);

	ASSERT(found.of[PATTERN_PHASE] <= 10);
	ASSERT(found.of[PATTERN_CHECKPOINTS] == 0);
	ASSERT(found.of[PATTERN_LEAK] <= 5);
}

TEST(red_noise_has_hardly_a_pattern)
{
	struct false_findings found = ask_noise(make_red);

	ASSERT(found.of[PATTERN_PHASE] <= 10);
	ASSERT(found.of[PATTERN_CHECKPOINTS] <= 5);
	ASSERT(found.of[PATTERN_LEAK] == 0);
}

TEST(bursts_without_a_period_are_no_checkpoints)
{
	struct false_findings found = ask_noise(make_bursts), equal = ask_noise(make_equal_bursts);

	ASSERT(found.of[PATTERN_CHECKPOINTS] <= 1);
	ASSERT(equal.of[PATTERN_CHECKPOINTS] <= 10);
	ASSERT(found.of[PATTERN_PHASE] <= 10);
}

TEST(one_burst_is_no_period)
{
	struct false_findings found = ask_noise(make_saw);

	ASSERT(found.of[PATTERN_PHASE] <= 1);
	ASSERT(found.of[PATTERN_CHECKPOINTS] == 0);
	ASSERT(found.of[PATTERN_LEAK] == 0);
}

TEST(memory_that_is_constant_but_for_noise_does_not_leak)
{
	struct false_findings found = ask_noise(make_constant);

	ASSERT(found.of[PATTERN_LEAK] == 0);
	ASSERT(found.of[PATTERN_PHASE] == 0);
}
