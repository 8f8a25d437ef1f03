/* SPDX-License-Identifier: MIT */
#include "model/histogram.h"

#include <errno.h>

#include "test.h"

TEST(bounds_are_powers_of_two)
{
	ASSERT_EQ(histogram_lower_bound(HISTOGRAM_SIZE, 0), 0);
	ASSERT_EQ(histogram_lower_bound(HISTOGRAM_SIZE, 1), 1);
	ASSERT_EQ(histogram_lower_bound(HISTOGRAM_SIZE, HISTOGRAM_BUCKETS - 1), UINT64_C(1) << 26);
	ASSERT_EQ(histogram_lower_bound(HISTOGRAM_LATENCY, 0), 0);
	ASSERT_EQ(histogram_lower_bound(HISTOGRAM_LATENCY, 1), 256);
	ASSERT_EQ(histogram_lower_bound(HISTOGRAM_LATENCY, HISTOGRAM_BUCKETS - 1), UINT64_C(1)
											   << 34);
}

TEST(a_quantile_lies_within_its_bucket)
{
	struct histogram h = { .counts = { [1] = 50, [13] = 49, [20] = 1 } };
	double value;

	ASSERT_OK(histogram_quantile(HISTOGRAM_SIZE, &h, 0.5, &value));
	ASSERT(value >= 1 && value <= 2);
	ASSERT_OK(histogram_quantile(HISTOGRAM_SIZE, &h, 0.99, &value));
	ASSERT(value >= 4096 && value <= 8192);
	ASSERT_OK(histogram_quantile(HISTOGRAM_SIZE, &h, 1, &value));
	ASSERT(value >= 1 << 19 && value <= 1 << 20);
}

TEST(an_empty_histogram_has_no_quantile)
{
	struct histogram h = {};
	double value = 42;

	ASSERT_ERR(histogram_quantile(HISTOGRAM_LATENCY, &h, 0.5, &value), -ENODATA);
	ASSERT(value == 42);
}

TEST(adding_adds_each_bucket)
{
	struct histogram a = { .counts = { [0] = 2, [27] = 3 } }, b = { .counts = { [27] = 5 } };

	histogram_add(&a, &b);
	ASSERT_EQ(a.counts[0], 2);
	ASSERT_EQ(a.counts[27], 8);
	ASSERT_EQ(histogram_total(&a), 10);
}
