/* SPDX-License-Identifier: MIT */
#include "analysis/correlation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "made_rates.h"
#include "model/record.h"
#include "model/rows.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/sections/energy.h"
#include "report/record_rows.h"
#include "reported.h"
#include "test.h"

static const double ramp[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

TEST(r_is_that_of_a_computation_by_hand)
{
	/* the mean is 4.5 for both: distances -3.5 to 3.5, and -2.5 -3.5 -0.5 -1.5 1.5 0.5 3.5 2.5;
	 * squares 42 each, products 38 */
	static const double swapped[] = { 2, 1, 4, 3, 6, 5, 8, 7 };
	/* a mountain is as far from one end as from the other */
	static const double mountain[] = { 1, 2, 3, 4, 4, 3, 2, 1 };
	struct correlation c;

	ASSERT(correlation_of(ramp, swapped, 8, &c));
	ASSERT_EQ(c.n, (size_t)8);
	ASSERT(test_is_near(c.r, 38.0 / 42));
	ASSERT(correlation_of(ramp, mountain, 8, &c));
	ASSERT(test_is_near(c.r, 0));
}

TEST(what_is_in_proportion_has_one_and_what_is_against_it_minus_one)
{
	double with[8], against[8];
	struct correlation c;

	for (size_t i = 0; i < 8; i++) {
		with[i] = 3e9 * ramp[i] + 17;
		against[i] = -0.5 * ramp[i];
	}
	ASSERT(correlation_of(ramp, with, 8, &c));
	ASSERT(test_is_near(c.r, 1) && c.r <= 1);
	ASSERT(correlation_of(ramp, against, 8, &c));
	ASSERT(test_is_near(c.r, -1) && c.r >= -1);
}

TEST(of_too_few_and_of_what_stands_still_nothing_is_said)
{
	static const double still[] = { 5, 5, 5, 5, 5, 5, 5, 5 };
	struct correlation c = { .n = 42 };

	ASSERT(!correlation_of(ramp, ramp, 7, &c));
	ASSERT(!correlation_of(ramp, still, 8, &c));
	ASSERT(!correlation_of(still, ramp, 8, &c));
	ASSERT(!correlation_of(ramp, ramp, 0, &c));
	ASSERT_EQ(c.n, (size_t)42);
}

TEST(a_bucket_is_left_out_where_one_of_both_is_not_known)
{
	const double x[] = { 1, 2, NAN, 3, 4, 5, 6, 7, 8, 100 };
	const double y[] = { 2, 1, 55, 4, 3, 6, 5, 8, 7, NAN };
	struct correlation c;

	ASSERT(correlation_of(x, y, ARRAY_SIZE(x), &c));
	ASSERT_EQ(c.n, (size_t)8);
	ASSERT(test_is_near(c.r, 38.0 / 42));
	ASSERT(!correlation_of(x, y, ARRAY_SIZE(x) - 2, &c)); /* seven are left */
}

/* What does nothing for long has the same rate at each look, and other CPUs. */
TEST(readings_without_work_are_readings)
{
	const double x[] = { 0, 0, 0, 0, 9, 0, 0, 7, 0, 0 }, y[] = { 1, 2, 3, 1, 9, 3, 2, 8, 1, 2 };
	struct correlation c;

	ASSERT(correlation_of(x, y, ARRAY_SIZE(x), &c));
	ASSERT_EQ(c.n, (size_t)10);
	ASSERT(c.r > 0.9);
}

/* Ten buckets a reading, of which the first has a bit of the reading before. */
TEST(buckets_that_one_reading_filled_are_counted_once)
{
	double x[80], y[80];
	struct correlation c;

	for (size_t i = 0; i < 80; i++) {
		x[i] = ramp[i / 10] + 1e-9 * (double)(i % 2);
		if (i % 10 == 0 && i)
			x[i] -= 0.003;
		y[i] = x[i] * x[i];
	}
	ASSERT(correlation_of(x, y, 80, &c));
	ASSERT_EQ(c.n, (size_t)8);
	ASSERT(c.r > 0.97 && c.r < 0.98); /* 0.976 for the squares of 1 to 8 */
	ASSERT(!correlation_of(x, y, 70, &c));
}

/* ---- what a report says ---- */

static void put_series(struct record *r, const char *section, const char *key, const double *values,
		       size_t count, double unit)
{
	uint64_t buckets[TIMELINE_BUCKETS_MAX];

	for (size_t i = 0; i < count; i++)
		buckets[i] = (uint64_t)(values[i] * unit);
	ASSERT_OK(timeline_put(&r->timeline, timeline_find(section, key), buckets, count));
}

/* 1 to 8 W in as many seconds: 36 J.  It reads a GB; instructions are a billion for each joule but
 * for neighbours that changed places. */
static char *report_of(enum energy_quality quality, bool has_instructions)
{
	static const double swapped[] = { 2, 1, 4, 3, 6, 5, 8, 7 };
	struct energy_entry entry = {
		.source = "rapl",
		.idle_policy = "allocated",
		.level = ENERGY_COMPONENT,
		.part = ENERGY_PACKAGE,
		.quality = quality,
		.uj = 36000000,
	};
	struct made_rates rates = made_rates(8);
	struct rows *rows = rows_new();
	struct energy *energy;
	_cleanup_(record_freep) struct record *r = NULL;

	for (size_t i = 0; i < 8; i++) {
		rates.on_cpu[i] = ramp[i] / 2;
		rates.read[i] = 1e6 * (9 - ramp[i]);
	}
	r = made_rates_record(&rates, 0);
	put_series(r, "energy", "joules", ramp, 8, 1e6);
	reading_set(&r->reading, METRIC_ENERGY, 36000000);
	if (has_instructions) {
		put_series(r, "cpu", "instructions", swapped, 8, 1e9);
		reading_set(&r->reading, METRIC_CPU_INSTRUCTIONS, UINT64_C(36000000000));
	}
	energy = section_of(r, &energy_section);
	energy->is_known = true;
	ASSERT_OK(energy_add(energy, &entry));
	energy_rows(r, rows);
	return reported_rows(rows, ROWS_TEXT, 200);
}

TEST(power_that_was_measured_is_compared_with_work)
{
	_cleanup_free_ char *text = report_of(ENERGY_ATTRIBUTED, true);

	ASSERT(strstr(text, "with cores in use r = 1.00 (n = 8), "
			    "with instructions a second r = 0.90 (n = 8), "
			    "with bytes read and written a second r = -1.00 (n = 8)"));
	ASSERT(strstr(text, "where the job was not alone"));
	ASSERT(strstr(text, " 1 billion instructions a joule"));
}

TEST(merged_ranks_of_a_node_may_have_the_same_idle_power)
{
	for (unsigned int nodes = 1; nodes <= 2; nodes++) {
		_cleanup_(record_freep) struct record *r = record_new();
		const struct energy_entry entry = { .uj = 36000000, .source = "rapl" };
		struct energy *energy = section_of(r, &energy_section);
		struct rows *rows = rows_new();
		_cleanup_free_ char *text = NULL;

		energy->is_known = true;
		ASSERT_OK(energy_add(energy, &entry));
		reading_set(&r->reading, METRIC_ENERGY, 36000000);
		reading_set(&r->reading, METRIC_ENERGY_IDLE, 8000000);
		r->merged_records = 2;
		r->merged_nodes = nodes;
		energy_row(r, rows);
		text = reported_rows(rows, ROWS_TEXT, 200);
		ASSERT_EQ(!!strstr(text, "; each record may have the same idle power"), nodes == 1);
	}
}

TEST(power_that_was_estimated_from_cpu_time_is_not_compared_with_it)
{
	_cleanup_free_ char *text = report_of(ENERGY_ESTIMATED, true);

	ASSERT(strstr(text, "with bytes read and written a second r = ~-1.00 (n = 8)"));
	ASSERT(strstr(text, "~1 billion instructions a joule"));
	ASSERT(!strstr(text, "cores in use r") && !strstr(text, "instructions a second r"));
}

/* Instructions, and half as fast where the CPUs are: of 8 s in which they become warmer and slower.
 */
static char *report_of_heat(bool has_instructions)
{
	static const double falling[] = { 80, 77, 74, 71, 68, 65, 62, 60 },
			    throttles[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct made_rates rates = made_rates(8);
	struct rows *rows = rows_new();
	_cleanup_(record_freep) struct record *r = NULL;

	for (size_t i = 0; i < 8; i++)
		rates.read[i] = 1e6 * falling[i];
	r = made_rates_record(&rates, 0);
	put_series(r, "thermal", "frequency_hertz", falling, 8, 1e7);
	put_series(r, "thermal", "temperature_celsius", throttles, 8, 1e3);
	put_series(r, "thermal", "core_throttles", throttles, 8, 1);
	if (has_instructions)
		put_series(r, "cpu", "instructions", ramp, 8, 1e9);
	energy_rows(r, rows);
	return reported_rows(rows, ROWS_TEXT, 200);
}

TEST(work_is_compared_with_how_fast_and_warm_its_cpus_were)
{
	_cleanup_free_ char *counted = report_of_heat(true), *bytes = report_of_heat(false);

	ASSERT(strstr(counted, "instructions a second"));
	ASSERT(strstr(
		counted,
		"with the CPUs' frequency r = -1.00 (n = 8), with their temperature r = 1.00 (n = 8), "
		"with throttles a second r = 1.00 (n = 8)"));
	ASSERT(strstr(bytes, "bytes a second"));
	ASSERT(strstr(
		bytes,
		"with the CPUs' frequency r = 1.00 (n = 8), with their temperature r = -1.00 (n = 8)"));
	ASSERT(!strstr(counted, "power"));
}

TEST(nothing_is_said_of_what_was_not_counted)
{
	_cleanup_free_ char *text = report_of(ENERGY_ATTRIBUTED, false);

	ASSERT(strstr(text, "with cores in use r = 1.00 (n = 8)"));
	ASSERT(!strstr(text, "instructions"));
}
