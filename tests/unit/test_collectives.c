/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "basic/macro.h"
#include "test.h"
#include "trace/collectives.h"

TEST(calls_with_a_common_moment_are_one)
{
	/* Process 2 comes last twice, process 0 once. */
	struct collective_call calls[] = {
		{ 0, 0, 100, 170 }, { 0, 1, 130, 171 }, { 0, 2, 160, 172 },
		{ 0, 0, 200, 291 }, { 0, 1, 230, 292 }, { 0, 2, 290, 293 },
		{ 0, 2, 300, 400 }, { 0, 1, 310, 401 }, { 0, 0, 397, 402 },
	};
	struct collective_sum sum;

	collectives_sort(calls, ARRAY_SIZE(calls));
	ASSERT_OK(collectives_sum(calls, ARRAY_SIZE(calls), 0, &sum));
	ASSERT_EQ(sum.matched, (uint64_t)3);
	ASSERT_EQ(sum.unmatched, (uint64_t)0);
	ASSERT_EQ(sum.waited_ns, (uint64_t)(60 + 30 + 90 + 60 + 97 + 87));
	ASSERT_EQ(sum.latest, (unsigned int)2);
	ASSERT_EQ(sum.latest_times, (uint64_t)2);
	ASSERT_EQ(sum.latest_ns, (uint64_t)(60 + 30 + 90 + 60));
}

TEST(a_call_that_began_before_the_trace_is_in_none)
{
	/* Process 1's first is the second of process 0. */
	struct collective_call calls[] = {
		{ 0, 0, 100, 150 }, { 0, 0, 200, 250 }, { 0, 0, 300, 350 },
		{ 0, 1, 203, 250 }, { 0, 1, 304, 350 },
	};
	struct collective_sum sum;

	collectives_sort(calls, ARRAY_SIZE(calls));
	ASSERT_OK(collectives_sum(calls, ARRAY_SIZE(calls), 0, &sum));
	ASSERT_EQ(sum.matched, (uint64_t)2);
	ASSERT_EQ(sum.unmatched, (uint64_t)1);
	ASSERT_EQ(sum.waited_ns, (uint64_t)7);
	ASSERT_EQ(sum.latest, (unsigned int)1);
}

TEST(functions_are_apart_and_order_does_not_matter)
{
	struct collective_call calls[] = {
		{ 1, 3, 500, 600 }, { 0, 5, 110, 150 }, { 1, 5, 511, 600 },
		{ 0, 3, 100, 150 }, { 2, 3, 700, 800 },
	};
	struct collective_sum sum;

	collectives_sort(calls, ARRAY_SIZE(calls));
	ASSERT_OK(collectives_sum(calls, ARRAY_SIZE(calls), 1, &sum));
	ASSERT_EQ(sum.matched, (uint64_t)1);
	ASSERT_EQ(sum.waited_ns, (uint64_t)11);
	ASSERT_EQ(sum.latest, (unsigned int)5);
	ASSERT_ERR(collectives_sum(calls, ARRAY_SIZE(calls), 2, &sum), -ENODATA);
	ASSERT_ERR(collectives_sum(calls, ARRAY_SIZE(calls), 7, &sum), -ENODATA);
	ASSERT_EQ(sum.waited_ns, (uint64_t)11);
}

TEST(calls_without_a_common_moment_match_nothing)
{
	struct collective_call calls[] = {
		{ 0, 0, 100, 110 },
		{ 0, 1, 200, 210 },
		{ 0, 0, 300, 310 },
		{ 0, 1, 400, 410 },
	};
	struct collective_sum sum;

	collectives_sort(calls, ARRAY_SIZE(calls));
	ASSERT_OK(collectives_sum(calls, ARRAY_SIZE(calls), 0, &sum));
	ASSERT_EQ(sum.matched, (uint64_t)0);
	ASSERT_EQ(sum.unmatched, (uint64_t)4);
	ASSERT_EQ(sum.waited_ns, (uint64_t)0);
}

TEST(groups_are_apart_and_add_up)
{
	/* Two halves that call at the same time, process 3 late in one, 1 in the other; and one
	 * alone. */
	struct collective_call calls[] = {
		{ 0, 0, 100, 150, 7 }, { 0, 1, 113, 150, 7 }, { 0, 2, 101, 160, 8 },
		{ 0, 3, 130, 160, 8 }, { 0, 2, 201, 260, 8 }, { 0, 3, 231, 260, 8 },
		{ 0, 1, 300, 310, 9 },
	};
	struct collective_sum sum;

	collectives_sort(calls, ARRAY_SIZE(calls));
	ASSERT_OK(collectives_sum(calls, ARRAY_SIZE(calls), 0, &sum));
	ASSERT_EQ(sum.matched, (uint64_t)3);
	ASSERT_EQ(sum.unmatched, (uint64_t)0);
	ASSERT_EQ(sum.waited_ns, (uint64_t)(13 + 29 + 30));
	ASSERT_EQ(sum.latest, (unsigned int)3);
	ASSERT_EQ(sum.latest_times, (uint64_t)2);
}
