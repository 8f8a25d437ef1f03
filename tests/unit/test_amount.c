/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "analysis/amount.h"
#include "test.h"

#define RATE ((struct dimension){ .bytes = 1, .seconds = -1 })
#define PER_SECOND ((struct dimension){ .seconds = -1 })

static struct human format(double number, struct dimension d)
{
	return amount_format(amount_of(number), d);
}

TEST(what_is_no_number_is_not_known)
{
	ASSERT(amount_of(0).is_known);
	ASSERT(!amount_of(NAN).is_known);
	ASSERT(!amount_of(INFINITY).is_known);
}

TEST(stored_values_come_in_base_units)
{
	ASSERT(amount_of_metric(METRIC_CPU_USER, 1500000000).number == 1.5);
	ASSERT(amount_of_metric(METRIC_CPU_ALLOCATED, 2500).number == 2.5);
	ASSERT(amount_of_metric(METRIC_MEMORY_PEAK, 4096).number == 4096);
	ASSERT_EQ(dimension_of_metric(METRIC_CPU_USER).seconds, 1);
	ASSERT_EQ(dimension_of_metric(METRIC_MEMORY_PEAK).bytes, 1);
	ASSERT(dimension_is_plain(dimension_of_metric(METRIC_CPU_ALLOCATED)));
}

TEST(amounts_are_told_by_what_they_count)
{
	ASSERT_STREQ(format(3.1 * 1073741824, DIMENSION_BYTES).text, "3.1 GiB");
	ASSERT_STREQ(format(12.4, DIMENSION_SECONDS).text, "12.4 s");
	ASSERT_STREQ(format(0.38, DIMENSION_SHARE).text, "38 %");
	ASSERT_STREQ(format(1900000, DIMENSION_NUMBER).text, "1.9 M");
	ASSERT_STREQ(format(2.13, DIMENSION_NUMBER).text, "2.1");
	ASSERT_STREQ(format(2048, RATE).text, "2 KiB/s");
	ASSERT_STREQ(format(17, PER_SECOND).text, "17/s");
	ASSERT_STREQ(format(-2048, DIMENSION_BYTES).text, "-2 KiB");
	ASSERT_STREQ(amount_format((struct amount){}, DIMENSION_BYTES).text, "-");
}

TEST(enormous_amounts_do_not_overflow)
{
	ASSERT_STREQ(format(1e30, DIMENSION_BYTES).text, "16 EiB");
	ASSERT(format(1e300, DIMENSION_SECONDS).text[0]);
	ASSERT(format(-1e300, DIMENSION_NUMBER).text[0]);
	ASSERT(format(1e300, DIMENSION_SHARE).text[0]);
}

TEST(memory_for_slurm_is_rounded_up)
{
	ASSERT_STREQ(amount_format_memory(amount_of(3.1 * 1073741824)).text, "4G");
	ASSERT_STREQ(amount_format_memory(amount_of(4.0 * 1073741824)).text, "4G");
	ASSERT_STREQ(amount_format_memory(amount_of(300.0 * 1048576)).text, "320M");
	ASSERT_STREQ(amount_format_memory(amount_of(1000.0 * 1048576)).text, "1G");
	ASSERT_STREQ(amount_format_memory(amount_of(0)).text, "64M");
	ASSERT_STREQ(amount_format_memory((struct amount){}).text, "-");
}

TEST(a_threshold_is_shown_with_all_its_digits)
{
	ASSERT_STREQ(amount_format_exact(amount_of(0.85), DIMENSION_NUMBER).text, "0.85");
	ASSERT_STREQ(amount_format_exact(amount_of(1.01), DIMENSION_NUMBER).text, "1.01");
	ASSERT_STREQ(amount_format_exact(amount_of(1000), DIMENSION_NUMBER).text, "1,000");
	ASSERT_STREQ(amount_format_exact(amount_of(0.85), DIMENSION_SHARE).text, "85 %");
	ASSERT_STREQ(amount_format_exact((struct amount){}, DIMENSION_NUMBER).text, "-");
}

TEST(of_what_is_not_known_nothing_follows)
{
	const struct amount a = amount_of(7), b = amount_of(2), zero = amount_of(0), unknown = {};

	ASSERT(amount_divide(a, b).number == 3.5 && amount_add(a, b).number == 9 &&
	       amount_multiply(a, b).number == 14);
	ASSERT(amount_left(a, b).number == 5 && amount_left(b, a).number == 0 &&
	       amount_left(b, a).is_known);
	ASSERT(!amount_divide(a, unknown).is_known && !amount_add(unknown, b).is_known);
	ASSERT(!amount_multiply(a, unknown).is_known && !amount_left(unknown, b).is_known);
	ASSERT(!amount_divide(zero, zero).is_known);
}
