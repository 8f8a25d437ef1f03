/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "report/plot.h"
#include "basic/macro.h"
#include "test.h"

static const double kib = 1024, mib = 1024.0 * 1024;

TEST(steps_are_round_numbers)
{
	const struct {
		double most;
		enum axis_kind kind;
		double step;
		size_t count;
	} rows[] = {
		{ 4, AXIS_NUMBER, 2, 3 },
		{ 3.9, AXIS_NUMBER, 2, 2 },
		{ 0.31, AXIS_NUMBER, 0.2, 2 },
		{ 128, AXIS_NUMBER, 50, 3 },
		{ 100, AXIS_NUMBER, 50, 3 },
		{ 3 * mib, AXIS_BYTES, mib, 4 },
		{ 700 * kib, AXIS_RATE, 256 * kib, 3 },
		{ 1, AXIS_BYTES, 1, 2 },
		{ 134, AXIS_TIME, 60, 3 },
		{ 9, AXIS_TIME, 5, 2 },
		{ 5400, AXIS_TIME, 1800, 4 },
		{ 0.072, AXIS_TIME, 0.05, 2 },
		{ 30.0 * 86400, AXIS_TIME, 10.0 * 86400, 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ticks ticks = ticks_of(rows[i].most, rows[i].kind, 3);

		ASSERT(test_is_near(ticks.step, rows[i].step));
		ASSERT_EQ(ticks.count, rows[i].count);
		ASSERT(ticks.values[0] == 0 &&
		       ticks.values[ticks.count - 1] <= rows[i].most * 1.000001);
	}
}

TEST(never_more_steps_than_wanted)
{
	for (double most = 1e-9; most < 1e17; most *= 1.37) {
		for (int kind = AXIS_NUMBER; kind <= AXIS_TIME; kind++) {
			struct ticks ticks = ticks_of(most, (enum axis_kind)kind, 5);

			ASSERT(ticks.count >= 1 && ticks.count <= 6);
		}
	}
}

TEST(of_nothing_there_is_zero_alone)
{
	const double nothing[] = { 0, -5, (double)NAN };

	for (size_t i = 0; i < ARRAY_SIZE(nothing); i++) {
		struct ticks ticks = ticks_of(nothing[i], AXIS_BYTES, 3);

		ASSERT_EQ(ticks.count, (size_t)1);
	}
}

TEST(a_tick_is_told_with_its_unit)
{
	ASSERT_STREQ(axis_format(0, AXIS_TIME).text, "0");
	ASSERT_STREQ(axis_format(0.25, AXIS_TIME).text, "250 ms");
	ASSERT_STREQ(axis_format(90, AXIS_TIME).text, "1 m 30 s");
	ASSERT_STREQ(axis_format(7200, AXIS_TIME).text, "2 h");
	ASSERT_STREQ(axis_format(129600, AXIS_TIME).text, "1 d 12 h");
	ASSERT_STREQ(axis_format(512 * mib, AXIS_BYTES).text, "512 MiB");
	ASSERT_STREQ(axis_format(2 * kib, AXIS_RATE).text, "2 KiB/s");
	ASSERT_STREQ(axis_format(2.5, AXIS_NUMBER).text, "2.5");
}
