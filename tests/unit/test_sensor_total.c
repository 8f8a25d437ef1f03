/* SPDX-License-Identifier: MIT */
#include "energy/sensor_total.h"

#include "test.h"

#define SECOND UINT64_C(1000000000)
#define PACKAGE_RANGE UINT64_C(262143328850) /* of an Intel package: 2^32 units of 61 uJ */
#define AMD_RANGE UINT64_C(65532610987)
#define HISTORIES 20000

TEST(a_counter_counts_from_its_first_value_on)
{
	struct energy_counter c = { .range_uj = PACKAGE_RANGE };

	energy_counter_take(&c, 1000003, 1 * SECOND);
	ASSERT_EQ(c.total.total_uj, UINT64_C(0));
	ASSERT(!c.total.has_power);
	energy_counter_take(&c, 18000003, 2 * SECOND);
	ASSERT_EQ(c.total.total_uj, UINT64_C(17000000));
	ASSERT_EQ(c.total.power_uw, UINT64_C(17000000));
	ASSERT_EQ(c.total.raw_uj, UINT64_C(18000003));
}

TEST(a_counter_that_wraps_once_goes_on)
{
	struct energy_counter c = { .range_uj = PACKAGE_RANGE };

	energy_counter_take(&c, PACKAGE_RANGE - 7, 1 * SECOND);
	energy_counter_take(&c, 11, 2 * SECOND);
	ASSERT_EQ(c.total.total_uj, UINT64_C(18));
	ASSERT_EQ(c.total.gap_ns, UINT64_C(0));
}

TEST(a_time_in_which_it_can_wrap_twice_is_a_gap_at_the_power_before)
{
	struct energy_counter c = { .range_uj = AMD_RANGE, .power_max_uw = 300000000 };

	energy_counter_take(&c, 0, 1 * SECOND);
	energy_counter_take(&c, 100000000, 2 * SECOND);
	energy_counter_take(&c, 90000000, 302 * SECOND); /* 300 s at 300 W: more than the range */
	ASSERT_EQ(c.total.total_uj, UINT64_C(100000000));
	ASSERT_EQ(c.total.gap_ns, 300 * SECOND);
	ASSERT_EQ(c.total.gap_uj, UINT64_C(30000000000));
	energy_counter_take(&c, 95000000, 303 * SECOND);
	ASSERT_EQ(c.total.total_uj, UINT64_C(105000000));
}

TEST(without_a_range_a_counter_that_fell_is_a_gap)
{
	struct energy_counter c = {};

	energy_counter_take(&c, 500, 1 * SECOND);
	energy_counter_take(&c, 400, 2 * SECOND);
	ASSERT_EQ(c.total.total_uj, UINT64_C(0));
	ASSERT_EQ(c.total.gap_ns, SECOND);
	ASSERT_EQ(c.total.gap_uj, UINT64_C(0)); /* no power was ever known */
}

TEST(a_value_of_the_same_moment_or_before_is_left_out)
{
	struct energy_counter c = { .range_uj = PACKAGE_RANGE };
	struct energy_integral i = {};

	energy_counter_take(&c, 5, 2 * SECOND);
	energy_counter_take(&c, 9, 2 * SECOND);
	energy_counter_take(&c, 3, 1 * SECOND);
	ASSERT_EQ(c.total.total_uj, UINT64_C(0));
	energy_integral_take(&i, 5000000, 2 * SECOND);
	energy_integral_take(&i, 9000000, 2 * SECOND);
	ASSERT_EQ(i.last_uw, UINT64_C(5000000));
}

TEST(between_two_powers_their_mean_holds)
{
	struct energy_integral i = {};

	energy_integral_take(&i, 100000000, 10 * SECOND);
	energy_integral_take(&i, 200000000, 13 * SECOND);
	ASSERT_EQ(i.total.total_uj, UINT64_C(450000000));
	ASSERT_EQ(i.total.power_uw, UINT64_C(200000000));
}

TEST(powers_too_far_apart_make_a_gap)
{
	struct energy_integral i = { .age_max_ns = 30 * SECOND };

	energy_integral_take(&i, 100000000, 10 * SECOND);
	energy_integral_take(&i, 300000000, 41 * SECOND);
	ASSERT_EQ(i.total.total_uj, UINT64_C(0));
	ASSERT_EQ(i.total.gap_ns, 31 * SECOND);
	ASSERT_EQ(i.total.gap_uj, UINT64_C(3100000000));
}

TEST(a_steady_power_loses_nothing_in_many_short_steps)
{
	struct energy_integral i = {};

	for (uint64_t step = 0; step <= 1000003; step++)
		energy_integral_take(&i, 1000003, SECOND + step * 1000); /* 1 us each */
	ASSERT_EQ(i.total.total_uj, UINT64_C(1000006)); /* 1.000003 W x 1.000003 s */
}

/* Random loads, suspends and wraps against a counter that never wraps. */
TEST(whatever_the_history_the_sum_is_what_went_through_outside_of_gaps)
{
	for (unsigned int history = 0; history < HISTORIES; history++) {
		const uint64_t range = test_below(2) ? PACKAGE_RANGE : AMD_RANGE;
		const uint64_t max_uw = 50000000 + test_below(450000000);
		struct energy_counter c = { .range_uj = range, .power_max_uw = max_uw };
		uint64_t truth = test_below(range), now = SECOND, expected = 0, gaps = 0, last = 0;

		energy_counter_take(&c, truth % (range + 1), now);
		for (unsigned int step = 0; step < 20; step++) {
			const bool is_long = test_below(10) == 0; /* suspended, or an agent that
								     hung */
			const uint64_t ns = 1 + test_below(is_long ? 2000 * SECOND : 40 * SECOND);
			const uint64_t max = (uint64_t)((unsigned __int128)max_uw * ns / SECOND);
			const uint64_t came = test_below(max + 1);

			truth += came;
			now += ns;
			if (max >= range)
				gaps += ns;
			else
				expected += came;
			/* the driver's wrap, which goes from the range to 0 without a count */
			energy_counter_take(&c, truth % range, now);
			ASSERT(c.total.total_uj >= last);
			last = c.total.total_uj;
		}
		ASSERT_EQ(c.total.total_uj, expected);
		ASSERT_EQ(c.total.gap_ns, gaps);
	}
}
