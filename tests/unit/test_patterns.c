/* SPDX-License-Identifier: MIT */
/* Patterns in timelines that are made, of which the truth is known. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "made_rates.h"
#include "analysis/patterns.h"
#include "model/record.h"
#include "codec/records.h"
#include "analysis/rules.h"
#include "made.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define MIB (1024.0 * 1024)
#define GIB (1024.0 * MIB)

static const struct pattern_settings *settings(void)
{
	static struct pattern_settings built_in;
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct error err = {};

	if (rules_load_built_in(&rules, &err) < 0)
		test_string(err.text, "", "rules", __FILE__, __LINE__);
	built_in = rules->pattern_settings;
	return &built_in;
}

static struct patterns find_in(const struct record *r)
{
	struct patterns patterns = {};

	ASSERT_OK(patterns_find(settings(), r, &patterns));
	return patterns;
}

static struct patterns find(const struct made_rates *rates)
{
	_cleanup_(record_freep) struct record *r = made_rates_record(rates, 0);

	return find_in(r);
}

/* How many there are; -1: that is not known. */
static int count(const struct patterns *patterns, enum pattern_kind kind)
{
	return patterns->counts[kind].is_known ? (int)patterns->counts[kind].number : -1;
}

static int count_of(const struct record *r, enum pattern_kind kind)
{
	const struct patterns patterns = find_in(r);

	return count(&patterns, kind);
}

static int count_in(const struct made_rates *rates, enum pattern_kind kind)
{
	const struct patterns patterns = find(rates);

	return count(&patterns, kind);
}

static double number(const struct patterns *patterns, enum pattern_number n)
{
	return patterns->numbers[n].is_known ? patterns->numbers[n].number : NAN;
}

/* Of the kind, in seconds since the start. */
static double begin_of(const struct patterns *patterns, enum pattern_kind kind, size_t nth)
{
	for (size_t i = 0; i < patterns->count; i++) {
		if (patterns->items[i].kind == kind && nth-- == 0)
			return (double)(patterns->items[i].from_ns - MADE_START_NS) / 1e9;
	}
	return NAN;
}

static bool is_near(double a, double b, double tolerance)
{
	return fabs(a - b) <= tolerance;
}

static void set(double *values, size_t from, size_t to, double value)
{
	for (size_t i = from; i < to; i++)
		values[i] = value;
}

static void add_noise(double *values, size_t n, double deviation, struct chance *chance)
{
	for (size_t i = 0; i < n; i++)
		values[i] = fmax(0, values[i] + deviation * chance_normal(chance));
}

/* ---- phases ---- */

TEST(edges_of_phases_are_found_to_the_bucket)
{
	struct made_rates rates = made_rates(300);
	struct chance chance = chance_of(1);
	struct patterns patterns;

	set(rates.on_cpu, 0, 60, 0.5);
	set(rates.read, 0, 60, 100 * MIB);
	set(rates.on_cpu, 200, 300, 2);
	add_noise(rates.on_cpu, 300, 0.1, &chance);
	add_noise(rates.read, 60, 10 * MIB, &chance);
	patterns = find(&rates);
	ASSERT_EQ(count(&patterns, PATTERN_PHASE), 3);
	ASSERT(is_near(begin_of(&patterns, PATTERN_PHASE, 0), 0, 0));
	ASSERT(is_near(begin_of(&patterns, PATTERN_PHASE, 1), 60, 0));
	ASSERT(is_near(begin_of(&patterns, PATTERN_PHASE, 2), 200, 0));
	ASSERT(is_near(patterns.items[0].numbers[PHASE_CORES].number, 0.5, 0.05));
	ASSERT(is_near(patterns.items[0].numbers[PHASE_READ_RATE].number, 100 * MIB, 5 * MIB));
	ASSERT(is_near(patterns.items[1].numbers[PHASE_CORES].number, 4, 0.05));
	ASSERT(patterns.items[1].numbers[PHASE_WRITE_RATE].number == 0);
}

TEST(phases_of_io_alone_are_phases)
{
	struct made_rates rates = made_rates(128);
	struct patterns patterns;

	set(rates.write, 40, 80, 50 * MIB);
	patterns = find(&rates);
	ASSERT_EQ(count(&patterns, PATTERN_PHASE), 3);
	ASSERT(is_near(begin_of(&patterns, PATTERN_PHASE, 1), 40, 0));
	ASSERT(is_near(begin_of(&patterns, PATTERN_PHASE, 2), 80, 0));
	set(rates.write, 40, 80, 0.5 * MIB); /* too little for a phase */
	ASSERT_EQ(count_in(&rates, PATTERN_PHASE), 0);
}

TEST(a_gap_is_no_phase)
{
	struct made_rates rates = made_rates(128);
	struct patterns patterns;

	set(rates.on_cpu, 40, 80, NAN);
	ASSERT_EQ(count_in(&rates, PATTERN_PHASE), 0);
	set(rates.on_cpu, 80, 128, 1); /* an edge within the gap begins behind it */
	patterns = find(&rates);
	ASSERT_EQ(count(&patterns, PATTERN_PHASE), 2);
	ASSERT(is_near(begin_of(&patterns, PATTERN_PHASE, 1), 80, 0));
	set(rates.on_cpu, 20, 128, NAN); /* of so few nothing is said */
	ASSERT_EQ(count_in(&rates, PATTERN_PHASE), -1);
}

TEST(a_slow_rise_is_no_phase)
{
	struct made_rates rates = made_rates(200);

	for (size_t i = 0; i < 200; i++)
		rates.on_cpu[i] = 4.0 * (double)i / 200;
	ASSERT_EQ(count_in(&rates, PATTERN_PHASE), 0);
}

TEST(a_short_burst_is_no_phase_and_no_period)
{
	struct made_rates rates = made_rates(200);
	struct patterns patterns;

	set(rates.write, 100, 105, 500 * MIB);
	set(rates.on_cpu, 100, 105, 0.1);
	patterns = find(&rates);
	ASSERT_EQ(count(&patterns, PATTERN_PHASE), 0);
	ASSERT_EQ(count(&patterns, PATTERN_CHECKPOINTS), 0);
}

TEST(there_are_so_many_phases_at_most)
{
	struct made_rates rates = made_rates(512);
	struct patterns patterns;

	for (size_t i = 0; i < 512; i++)
		rates.on_cpu[i] = i / 16 % 2 ? 4 : 1;
	patterns = find(&rates);
	ASSERT(count(&patterns, PATTERN_PHASE) <= PHASES_MAX);
}

/* ---- checkpoints ---- */

/* Each @period seconds or a little beside: 3 s of 200 MiB/s, in which a quarter computes. */
static struct made_rates made_checkpoints(double period, double jitter, struct chance *chance)
{
	struct made_rates rates = made_rates(500);

	for (double at = 20; at + 3 + jitter < 500; at += period) {
		size_t first = (size_t)(at + jitter * (2 * chance_even(chance) - 1));

		set(rates.write, first, first + 3, 200 * MIB);
		set(rates.on_cpu, first, first + 3, 1);
	}
	return rates;
}

TEST(checkpoints_are_found_with_their_period_and_cost)
{
	struct chance chance = chance_of(1);
	struct made_rates rates = made_checkpoints(60, 3, &chance);
	struct patterns patterns;

	patterns = find(&rates);
	ASSERT_EQ(count(&patterns, PATTERN_CHECKPOINTS), 8);
	ASSERT(is_near(number(&patterns, CHECKPOINT_PERIOD), 60, 1.5));
	ASSERT(is_near(number(&patterns, CHECKPOINT_DURATION), 3, 1e-9));
	ASSERT(is_near(number(&patterns, CHECKPOINT_BYTES), 600 * MIB, 1));
	/* three quarters are missing for 24 s of 500 s */
	ASSERT(is_near(number(&patterns, CHECKPOINT_COST), 18, 1e-6));
	ASSERT(is_near(number(&patterns, CHECKPOINT_COST_SHARE), 18.0 / 500, 1e-6));
	ASSERT(is_near(number(&patterns, CHECKPOINT_LOST), 72, 1e-6));
}

TEST(what_a_burst_left_in_the_buckets_beside_it_is_its)
{
	struct chance chance = chance_of(1);
	struct made_rates rates = made_checkpoints(60, 0, &chance);
	struct patterns patterns;

	for (size_t i = 20; i + 3 < 500; i += 60) {
		set(rates.write, i - 1, i, 31 * MIB);
		set(rates.write, i + 3, i + 4, 17 * MIB);
	}
	patterns = find(&rates);
	ASSERT_EQ(count(&patterns, PATTERN_CHECKPOINTS), 8);
	ASSERT(is_near(number(&patterns, CHECKPOINT_DURATION), 3, 1e-9));
	ASSERT(is_near(number(&patterns, CHECKPOINT_BYTES), 648 * MIB, 1));
}

TEST(each_of_many_jittered_series_is_found)
{
	unsigned int found = 0, right = 0;

	for (unsigned int seed = 0; seed < 100; seed++) {
		struct chance chance = chance_of(seed);
		struct made_rates rates = made_checkpoints(30 + seed % 40, 2, &chance);
		struct patterns patterns;

		add_noise(rates.write, rates.count, 4 * MIB, &chance);
		add_noise(rates.on_cpu, rates.count, 0.2, &chance);
		patterns = find(&rates);
		found += count(&patterns, PATTERN_CHECKPOINTS) > 0;
		right += is_near(number(&patterns, CHECKPOINT_PERIOD), 30 + seed % 40, 1);
	}
	ASSERT_EQ(found, 100u);
	ASSERT_EQ(right, 100u);
}

TEST(what_waits_behind_a_burst_is_part_of_its_cost)
{
	struct chance chance = chance_of(1);
	struct made_rates rates = made_checkpoints(50, 0, &chance);
	struct patterns patterns;

	for (size_t i = 20; i < 480; i += 50)
		set(rates.on_cpu, i + 3, i + 8, 0); /* fsync */
	patterns = find(&rates);
	ASSERT_EQ(count(&patterns, PATTERN_CHECKPOINTS), 10);
	ASSERT(is_near(number(&patterns, CHECKPOINT_COST), 10 * (3 * 0.75 + 5), 1e-6));
}

TEST(one_checkpoint_that_is_missing_and_a_greater_one_do_no_harm)
{
	struct chance chance = chance_of(1);
	struct made_rates rates = made_checkpoints(40, 0, &chance);
	struct patterns patterns;

	set(rates.write, 180, 183, 0); /* the fifth */
	set(rates.write, 300, 303, 5000 * MIB); /* the eighth */
	patterns = find(&rates);
	ASSERT_EQ(count(&patterns, PATTERN_CHECKPOINTS), 11);
	ASSERT(is_near(number(&patterns, CHECKPOINT_PERIOD), 40, 1e-6));
}

TEST(five_bursts_are_no_checkpoints)
{
	struct made_rates rates = made_rates(300);
	struct patterns patterns;

	for (size_t i = 20; i < 270; i += 50)
		set(rates.write, i, i + 3, 200 * MIB);
	patterns = find(&rates);
	ASSERT_EQ(count(&patterns, PATTERN_CHECKPOINTS), 0);
	ASSERT(isnan(number(&patterns, CHECKPOINT_PERIOD)));
}

TEST(a_job_that_only_writes_pays_nothing_for_it)
{
	struct chance chance = chance_of(1);
	struct made_rates rates = made_checkpoints(50, 0, &chance);
	struct patterns patterns;

	set(rates.on_cpu, 0, 500, 0);
	patterns = find(&rates);
	ASSERT_EQ(count(&patterns, PATTERN_CHECKPOINTS), 10);
	ASSERT(isnan(number(&patterns, CHECKPOINT_COST)));
}

/* ---- nothing to do ---- */

TEST(an_idle_tail_begins_where_work_ended)
{
	struct made_rates rates = made_rates(400); /* of 4 s */
	_cleanup_(record_freep) struct record *r = NULL;
	struct patterns patterns;

	set(rates.on_cpu, 200, 400, 0.01);
	r = made_rates_record(&rates, 2);
	patterns = find_in(r);
	ASSERT_EQ(count(&patterns, PATTERN_IDLE_TAIL), 1);
	ASSERT(is_near(number(&patterns, IDLE_TAIL_SECONDS), 800, 1e-6));
	ASSERT(is_near(number(&patterns, IDLE_TAIL_SHARE), 0.5, 1e-6));
	ASSERT(is_near(number(&patterns, IDLE_TAIL_LOST), 3200, 1e-6));
	ASSERT(is_near(begin_of(&patterns, PATTERN_IDLE_TAIL, 0), 800, 0));
	/* it ended by itself */
	ASSERT_EQ(count(&patterns, PATTERN_HANG), 0);
	r->is_final = false;
	patterns = find_in(r);
	ASSERT_EQ(count(&patterns, PATTERN_HANG), 1);
	ASSERT(is_near(number(&patterns, HANG_SECONDS), 800, 1e-6));
	ASSERT(is_near(number(&patterns, HANG_CORES_BEFORE), 4, 1e-6));
	ASSERT(is_near(number(&patterns, HANG_TO_END), 1, 0));
	r->is_final = true;
	r->job.exit_code = -1;
	r->job.signal = 15;
	ASSERT_EQ(count_of(r, PATTERN_HANG), 1);
	r->job.signal = 0; /* where nobody saw its exit code, its state may tell */
	r->job.state = strdup("COMPLETED");
	ASSERT_EQ(count_of(r, PATTERN_HANG), 0);
}

/* The tail of the job before, with one thing different. */
static struct patterns find_tail(double on_cpu, double write, size_t from)
{
	struct made_rates rates = made_rates(400);
	_cleanup_(record_freep) struct record *r = NULL;

	set(rates.on_cpu, from, 400, on_cpu);
	set(rates.write, from, 400, write);
	r = made_rates_record(&rates, 2);
	r->is_final = false;
	return find_in(r);
}

TEST(what_still_does_something_is_neither_idle_nor_hung)
{
	struct patterns busy = find_tail(0.05, 0, 200), writing = find_tail(0, 2048, 200),
			late = find_tail(0, 0, 260), never = find_tail(0, 0, 0);

	ASSERT_EQ(count(&busy, PATTERN_IDLE_TAIL), 0);
	ASSERT_EQ(count(&busy, PATTERN_HANG), 0);
	ASSERT_EQ(count(&writing, PATTERN_IDLE_TAIL), 0);
	ASSERT_EQ(count(&writing, PATTERN_HANG), 0);
	ASSERT_EQ(count(&late, PATTERN_IDLE_TAIL), 0);
	ASSERT_EQ(count(&late, PATTERN_HANG), 0);
	/* it had nothing to do from the start: a job of sleep */
	ASSERT_EQ(count(&never, PATTERN_IDLE_TAIL), 0);
	ASSERT_EQ(count(&never, PATTERN_HANG), 0);
	ASSERT_EQ(count(&never, PATTERN_DIED_INSIDE), 0);
}

TEST(a_tenth_of_a_percent_of_many_cores_is_work)
{
	struct made_rates rates = made_rates(400);
	_cleanup_(record_freep) struct record *r = NULL;

	set(rates.on_cpu, 0, 200, 200);
	set(rates.on_cpu, 200, 400, 0.9); /* 0.35 % of 256, and nearly a whole one */
	r = made_rates_record(&rates, 2);
	reading_set(&r->reading, METRIC_CPU_ALLOCATED, 256000);
	ASSERT_EQ(count_of(r, PATTERN_IDLE_TAIL), 0);
}

TEST(a_pause_in_the_middle_is_a_hang_that_passed)
{
	struct made_rates rates = made_rates(500);
	_cleanup_(record_freep) struct record *r = NULL;
	struct patterns patterns;

	set(rates.on_cpu, 200, 380, 0);
	r = made_rates_record(&rates, 2);
	patterns = find_in(r);
	ASSERT_EQ(count(&patterns, PATTERN_HANG), 1);
	ASSERT(is_near(begin_of(&patterns, PATTERN_HANG, 0), 800, 0));
	ASSERT(is_near(number(&patterns, HANG_SECONDS), 720, 1e-6));
	ASSERT(is_near(number(&patterns, HANG_TO_END), 0, 0));
	ASSERT_EQ(count(&patterns, PATTERN_IDLE_TAIL), 0);
}

TEST(what_nobody_saw_is_not_idle)
{
	struct made_rates rates = made_rates(400);
	_cleanup_(record_freep) struct record *r = NULL, *blind = NULL;
	struct patterns patterns;

	set(rates.on_cpu, 200, 400, 0);
	set(rates.on_cpu, 320, 330, NAN); /* from there on it is too short */
	r = made_rates_record(&rates, 2);
	r->is_final = false;
	ASSERT_EQ(count_of(r, PATTERN_IDLE_TAIL), 0);
	set(rates.on_cpu, 399, 400, NAN);
	blind = made_rates_record(&rates, 2);
	patterns = find_in(blind);
	ASSERT_EQ(count(&patterns, PATTERN_IDLE_TAIL), -1);
	ASSERT_EQ(count(&patterns, PATTERN_HANG), -1);
}

TEST(what_died_inside_may_still_write)
{
	struct made_rates rates = made_rates(400);
	_cleanup_(record_freep) struct record *r = NULL;
	struct patterns patterns, even;

	set(rates.on_cpu, 250, 400, 0.001);
	set(rates.write, 0, 400, 4096);
	r = made_rates_record(&rates, 2);
	patterns = find_in(r);
	ASSERT_EQ(count(&patterns, PATTERN_DIED_INSIDE), 1);
	ASSERT(is_near(begin_of(&patterns, PATTERN_DIED_INSIDE, 0), 1000, 0));
	ASSERT(is_near(number(&patterns, HOMOGENEITY), 0.2, 1e-6)); /* 1 - 1 / (1 + 1000 / 4000) */
	ASSERT_EQ(count(&patterns, PATTERN_IDLE_TAIL), 0);
	even = find_tail(1, 0, 200);
	ASSERT_EQ(count(&even, PATTERN_DIED_INSIDE), 0);
	ASSERT(number(&even, HOMOGENEITY) > 0.99);
}

/* ---- leak ---- */

static struct record *made_leak(double per_second, double noise, double read)
{
	struct made_rates rates = made_rates(400);
	struct chance chance = chance_of(1);

	for (size_t i = 0; i < 400; i++)
		rates.memory[i] = 2 * GIB + per_second * 4 * ((double)i + 0.5);
	add_noise(rates.memory, 400, noise, &chance);
	set(rates.read, 0, 400, read);
	return made_rates_record(&rates, 2);
}

TEST(a_leak_is_found_with_its_slope_and_its_end)
{
	_cleanup_(record_freep) struct record *r = made_leak(MIB, 8 * MIB, 0);
	struct patterns patterns = find_in(r);

	ASSERT_EQ(count(&patterns, PATTERN_LEAK), 1);
	ASSERT(is_near(number(&patterns, LEAK_RATE), MIB, 0.02 * MIB));
	ASSERT(is_near(number(&patterns, LEAK_GROWTH), 800 * MIB, 20 * MIB));
	ASSERT(isnan(number(&patterns, LEAK_LIMIT_SECONDS)));
	/* 3.56 GiB at the end, and so much more in 800 s */
	reading_set(&r->reading, METRIC_MEMORY_LIMIT, (uint64_t)(2 * GIB + 2400 * MIB));
	patterns = find_in(r);
	ASSERT(is_near(number(&patterns, LEAK_LIMIT_SECONDS), 800, 30));
	r->merged_records = 2; /* of the sum of limits it would say nothing */
	patterns = find_in(r);
	ASSERT(isnan(number(&patterns, LEAK_LIMIT_SECONDS)));
}

TEST(what_may_be_page_cache_is_no_leak)
{
	_cleanup_(record_freep) struct record *little = made_leak(MIB, 8 * MIB, 0.5 * MIB),
					      *much = made_leak(MIB, 8 * MIB, 1.5 * MIB);
	struct patterns of_little = find_in(little), of_much = find_in(much);

	ASSERT_EQ(count(&of_little, PATTERN_LEAK), 1);
	ASSERT_EQ(count(&of_much, PATTERN_LEAK), 0);
}

TEST(memory_that_is_filled_once_is_no_leak)
{
	struct made_rates step = made_rates(400), early = made_rates(400), saw = made_rates(400);
	_cleanup_(record_freep) struct record *of_step = NULL, *of_early = NULL, *of_saw = NULL;

	set(step.memory, 300, 400, 8 * GIB);
	for (size_t i = 0; i < 400; i++) {
		early.memory[i] = fmin(8, 1 + (double)i / 20) * GIB;
		saw.memory[i] = (1 + 0.02 * (double)(i % 50)) * GIB; /* a collector of garbage */
	}
	of_step = made_rates_record(&step, 2);
	of_early = made_rates_record(&early, 2);
	of_saw = made_rates_record(&saw, 2);
	ASSERT_EQ(count_of(of_step, PATTERN_LEAK), 0);
	ASSERT_EQ(count_of(of_early, PATTERN_LEAK), 0);
	ASSERT_EQ(count_of(of_saw, PATTERN_LEAK), 0);
}

TEST(a_leak_is_seen_through_a_gap)
{
	struct made_rates rates = made_rates(400);
	_cleanup_(record_freep) struct record *r = NULL, *blind = NULL;

	for (size_t i = 0; i < 400; i++)
		rates.memory[i] = 2 * GIB + MIB * 4 * (double)i;
	set(rates.memory, 300, 307, NAN);
	r = made_rates_record(&rates, 2);
	ASSERT_EQ(count_of(r, PATTERN_LEAK), 1);
	set(rates.memory, 220, 380, NAN);
	blind = made_rates_record(&rates, 2);
	ASSERT_EQ(count_of(blind, PATTERN_LEAK), -1);
}

/* ---- what is not known ---- */

TEST(without_a_timeline_nothing_is_known)
{
	_cleanup_(record_freep) struct record *r = record_new();
	struct patterns patterns = find_in(r);

	ASSERT(!patterns.has_timeline && patterns.count == 0);
	for (size_t i = 0; i < PATTERN_NAMES; i++)
		ASSERT(!pattern_amount(&patterns, i).is_known);
	ASSERT(!pattern_amount(NULL, 0).is_known);
}

TEST(a_short_job_has_no_pattern)
{
	struct made_rates rates = made_rates(12);
	struct patterns patterns;

	set(rates.on_cpu, 6, 12, 0);
	patterns = find(&rates);
	ASSERT_EQ((uint64_t)patterns.count, (uint64_t)0);
	for (size_t kind = 0; kind < PATTERN_KINDS; kind++)
		ASSERT_EQ(count(&patterns, (enum pattern_kind)kind), 0);
}

TEST(a_late_look_at_a_long_job_tells_of_no_pattern)
{
	struct made_rates rates = made_rates(12);
	_cleanup_(record_freep) struct record *r = made_rates_record(&rates, 0);
	struct patterns patterns;

	r->time.start_ns -= 86400 * SECOND; /* the agent came a day later */
	r->time.elapsed_ns += 86400 * SECOND;
	patterns = find_in(r);
	ASSERT_EQ(count(&patterns, PATTERN_PHASE), -1);
	ASSERT_EQ(count(&patterns, PATTERN_CHECKPOINTS), -1);
	ASSERT_EQ(count(&patterns, PATTERN_LEAK), -1);
	ASSERT_EQ(count(&patterns, PATTERN_DIED_INSIDE), -1);
}

TEST(a_watch_of_an_older_job_has_the_patterns_of_its_time)
{
	struct made_rates rates = made_rates(400);
	_cleanup_(record_freep) struct record *r = NULL;
	struct patterns patterns;

	set(rates.on_cpu, 200, 400, 0.01);
	r = made_rates_record(&rates, 2);
	r->time.measured_from_ns = r->time.start_ns; /* which the elapsed time counts from */
	r->time.start_ns -= 86400 * SECOND;
	patterns = find_in(r);
	ASSERT_EQ(count(&patterns, PATTERN_IDLE_TAIL), 1);
	ASSERT(is_near(number(&patterns, IDLE_TAIL_SECONDS), 800, 1e-6));
	ASSERT(is_near(number(&patterns, IDLE_TAIL_SHARE), 0.5, 1e-6));
}

TEST(a_pattern_that_is_not_asked_for_is_not_known)
{
	struct made_rates rates = made_rates(400);
	_cleanup_(record_freep) struct record *r = made_rates_record(&rates, 2);
	struct pattern_settings some = *settings();
	struct patterns patterns = {};

	some.is_asked[PATTERN_LEAK] = false;
	ASSERT_OK(patterns_find(&some, r, &patterns));
	ASSERT_EQ(count(&patterns, PATTERN_LEAK), -1);
	ASSERT_EQ(count(&patterns, PATTERN_PHASE), 0);
}

/* ---- a real program ---- */

/* tools/capture-checkpoints: it reads for 12 s, then computes on one core and writes 256 MiB each 5
 * s of the clock, 14 times. */
TEST(checkpoints_of_a_real_program_are_found)
{
	_cleanup_free_ char *text = test_data("captured/checkpoints.json");
	_cleanup_(records_clear) struct records records = {};
	struct error err = {};
	struct patterns patterns;

	ASSERT_OK(records_parse(text, strlen(text), "captured", &records, &err));
	patterns = find_in(records.items[0]);
	ASSERT_EQ(count(&patterns, PATTERN_CHECKPOINTS), 14);
	ASSERT(is_near(number(&patterns, CHECKPOINT_PERIOD), 5, 0.1));
	ASSERT(is_near(number(&patterns, CHECKPOINT_BYTES), 256 * MIB, 13 * MIB));
	/* to write is work for its core, too */
	ASSERT(number(&patterns, CHECKPOINT_COST_SHARE) < 0.05);
	ASSERT_EQ(count(&patterns, PATTERN_PHASE), 2);
	ASSERT_EQ(patterns.items[1].from_ns - patterns.items[0].from_ns, 12 * SECOND);
	ASSERT_EQ(count(&patterns, PATTERN_IDLE_TAIL), 0);
	ASSERT_EQ(count(&patterns, PATTERN_HANG), 0);
	ASSERT_EQ(count(&patterns, PATTERN_LEAK), 0);
}

/* ---- telling ---- */

static char *written(const struct patterns *patterns)
{
	struct made_text t = {};

	patterns_format(patterns, made_text_document(&t, DOCUMENT_INDENTED));
	return made_text_end(&t);
}

TEST(a_document_has_times_numbers_and_a_sentence)
{
	struct made_rates rates = made_rates(400);
	_cleanup_(record_freep) struct record *r = NULL;
	struct patterns patterns, nothing = {};
	_cleanup_free_ char *text = NULL;
	json_t *json, *tail;

	set(rates.on_cpu, 200, 400, 0);
	r = made_rates_record(&rates, 2);
	patterns = find_in(r);
	text = written(&patterns);
	json = json_loads(text, 0, NULL);
	ASSERT_EQ((uint64_t)json_array_size(json), (uint64_t)4); /* two phases, tail, death */
	tail = json_array_get(json, 2);
	ASSERT_STREQ(json_string_value(json_object_get(tail, "id")), "idle-tail");
	ASSERT_STREQ(json_string_value(json_object_get(tail, "from")),
		     "2026-09-21T14:26:40.000000000Z");
	ASSERT_STREQ(json_string_value(json_object_get(tail, "to")),
		     "2026-09-21T14:40:00.000000000Z");
	ASSERT_EQ((int)json_integer_value(json_object_get(tail, "seconds")), 800);
	ASSERT_STREQ(json_string_value(json_object_get(tail, "text")),
		     "Nothing was done in the last 13 m 20 s (50 %), from 13 m 20 s on.");
	json_decref(json);
	ASSERT_TEXT(written(&nothing), "null\n");
}

TEST(each_pattern_has_a_sentence)
{
	struct chance chance = chance_of(1);
	struct made_rates rates = made_checkpoints(60, 0, &chance);
	struct patterns patterns = find(&rates);

	ASSERT_EQ((uint64_t)patterns.count, (uint64_t)1);
	ASSERT_TEXT(pattern_text(&patterns, &patterns.items[0]),
		    "8 bursts of writes, one each 1 m 00 s: 600 MiB in 3 s; they cost 18 s in "
		    "all (4 %).");
}
