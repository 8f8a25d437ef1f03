/* SPDX-License-Identifier: MIT */
#include "energy/start.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "basic/cleanup.h"
#include "test.h"

#define HOUR UINT64_C(3600000000000)
#define NOW (1000 * HOUR)

static void add(struct emission_factors *to, enum emission_kind kind, uint64_t from_ns,
		uint64_t length_ns, double grams)
{
	ASSERT_OK(emission_factors_add(to, &(struct emission_factor){
						   .zone = "XXA",
						   .kind = kind,
						   .from_ns = from_ns,
						   .until_ns = from_ns + length_ns,
						   .milligrams = (uint64_t)llround(grams * 1000),
					   }));
}

/* 24 hours from now on: 400 g, but 200 g from the 7th to the 10th. */
static void add_valley(struct emission_factors *to)
{
	for (uint64_t hour = 0; hour < 24; hour++)
		add(to, EMISSION_FORECAST, NOW + hour * HOUR, HOUR,
		    hour >= 7 && hour < 10 ? 200 : 400);
}

static struct start_question ask(uint64_t slack_ns, uint64_t length_ns)
{
	return (struct start_question){ .zone = "XXA",
					.kind = EMISSION_AVERAGE_DIRECT,
					.now_ns = NOW,
					.slack_ns = slack_ns,
					.length_ns = length_ns,
					.low_ns = length_ns,
					.high_ns = length_ns };
}

TEST(the_start_that_emits_the_least_within_the_slack_is_found)
{
	_cleanup_(emission_factors_clear) struct emission_factors table = {};
	struct start_question q = ask(12 * HOUR, 2 * HOUR);
	struct start start;

	add_valley(&table);
	ASSERT_OK(start_find(&table, &q, &start));
	ASSERT_EQ(start.at_ns, NOW + 7 * HOUR);
	ASSERT(start.now == 400 && start.best == 200);
	ASSERT(start.error < 0); /* no forecast has met what came */
	q = ask(6 * HOUR, 2 * HOUR); /* an hour of it lies in the valley: from the 6th on */
	ASSERT_OK(start_find(&table, &q, &start));
	ASSERT_EQ(start.at_ns, NOW + 6 * HOUR);
	ASSERT(start.best == 300);
	q = ask(4 * HOUR, 2 * HOUR);
	ASSERT_OK(start_find(&table, &q, &start));
	ASSERT_EQ(start.at_ns, NOW); /* nothing is better than now: no saving is made up */
	ASSERT(start.best == start.now);
}

TEST(without_a_forecast_of_the_whole_run_nothing_is_known)
{
	_cleanup_(emission_factors_clear) struct emission_factors table = {};
	struct start_question q = ask(12 * HOUR, 2 * HOUR);
	struct start start;

	ASSERT_ERR(start_find(&table, &q, &start), -ENODATA);
	add(&table, EMISSION_AVERAGE_DIRECT, 0, 9000 * HOUR, 300); /* a yearly average */
	ASSERT_ERR(start_find(&table, &q, &start), -ENODATA);
	add_valley(&table);
	q.zone = "XXB";
	ASSERT_ERR(start_find(&table, &q, &start), -ENODATA);
	q = ask(12 * HOUR, 25 * HOUR); /* it ends before the run does */
	ASSERT_ERR(start_find(&table, &q, &start), -ENODATA);
	q = ask(UINT64_MAX, 3 * HOUR); /* a start whose run goes beyond it is none */
	ASSERT_OK(start_find(&table, &q, &start));
	ASSERT_EQ(start.at_ns, NOW + 7 * HOUR);
	q = ask(HOUR, 0);
	ASSERT_ERR(start_find(&table, &q, &start), -ENODATA);
}

TEST(a_corrected_forecast_takes_the_place_of_the_former)
{
	_cleanup_(emission_factors_clear) struct emission_factors table = {};
	struct start_question q = ask(12 * HOUR, HOUR);
	struct start start;

	add_valley(&table);
	for (uint64_t hour = 7; hour < 10; hour++)
		add(&table, EMISSION_FORECAST, NOW + hour * HOUR, HOUR, 500);
	add(&table, EMISSION_FORECAST, NOW + 3 * HOUR, HOUR, 100);
	ASSERT_OK(start_find(&table, &q, &start));
	ASSERT_EQ(start.at_ns, NOW + 3 * HOUR);
	ASSERT(start.best == 100);
}

/* Past forecasts of 300 g, of which each 2nd came @off times as high. */
static double error_after(double off, uint64_t high_ns, unsigned int *ret_pairs)
{
	_cleanup_(emission_factors_clear) struct emission_factors table = {};
	struct start_question q = ask(12 * HOUR, 2 * HOUR);
	struct start start;

	q.high_ns = high_ns;
	for (uint64_t hour = 1; hour <= 100; hour++) {
		add(&table, EMISSION_FORECAST, NOW - hour * HOUR, HOUR, 300);
		/* made later, it would have been right: what counts is the first */
		add(&table, EMISSION_FORECAST, NOW - hour * HOUR, HOUR, hour % 2 ? 300 * off : 300);
		add(&table, EMISSION_AVERAGE_DIRECT, NOW - hour * HOUR, HOUR,
		    hour % 2 ? 300 * off : 300);
	}
	add_valley(&table);
	ASSERT_OK(start_find(&table, &q, &start));
	ASSERT_EQ(start.at_ns, NOW + 7 * HOUR); /* an odd number of hours: each pair is off */
	*ret_pairs = start.pairs;
	return start.error;
}

TEST(the_error_is_that_of_past_forecasts_and_of_the_length_of_the_run)
{
	unsigned int pairs;

	ASSERT(fabs(error_after(1, 2 * HOUR, &pairs)) < 1e-6);
	ASSERT_EQ(pairs, 93);
	/* half of what is emitted now, by a tenth more or less */
	ASSERT(fabs(error_after(1.1, 2 * HOUR, &pairs) - 0.05) < 1e-6);
	/* 6 hours from the 7th on: 300 g in the mean, so 0.75 and not 0.5 */
	ASSERT(fabs(error_after(1, 6 * HOUR, &pairs) - 0.25) < 1e-6);
	ASSERT(error_after(1, 60 * HOUR, &pairs) < 0); /* beyond the forecast */
}

TEST(intervals_may_lie_within_others)
{
	_cleanup_(emission_factors_clear) struct emission_factors table = {};
	struct start_question q = ask(3 * HOUR, HOUR);
	struct start start;

	for (uint64_t hour = 0; hour < 5; hour++) {
		add(&table, EMISSION_FORECAST, NOW + hour * HOUR, HOUR, 300);
		add(&table, EMISSION_FORECAST, NOW + hour * HOUR, HOUR / 4, 200);
	}
	q.now_ns += HOUR / 3; /* behind the quarter, within the hour */
	ASSERT_OK(start_find(&table, &q, &start));
	ASSERT(fabs(start.now - 275) < 1e-9);
	ASSERT(start.best <= start.now);
}
