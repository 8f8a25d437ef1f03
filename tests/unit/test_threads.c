/* SPDX-License-Identifier: MIT */
#include "counters/task_sums.h"

#include "basic/macro.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)

static void check(const struct thread_levels *levels, uint64_t count, uint64_t sum_ns,
		  uint64_t greatest_ns)
{
	const struct busiest_threads busiest = thread_levels_busiest(levels);

	ASSERT_EQ(busiest.count, count);
	ASSERT_EQ(busiest.sum_ns, sum_ns);
	ASSERT_EQ(busiest.greatest_ns, greatest_ns);
}

TEST(without_a_thread_nobody_worked)
{
	const struct thread_levels levels = {};

	check(&levels, 0, 0, 0);
}

/* Whichever comes first. */
TEST(an_eighth_of_the_busiest_is_in_and_less_than_a_sixteenth_is_out)
{
	static const uint64_t times[][3] = { { 97, 13, 6 }, { 6, 13, 97 }, { 13, 97, 6 } };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		struct thread_levels levels = {};

		for (size_t k = 0; k < 3; k++)
			thread_levels_join(&levels, times[i][k] * SECOND, 0);
		check(&levels, 2, 110 * SECOND, 97 * SECOND);
	}
}

/* As blastp's: a second team begins when the first has ended. */
TEST(threads_that_did_not_live_at_the_same_time_are_not_compared)
{
	struct thread_levels levels = { .first_end_ns = 100 * SECOND };

	thread_levels_join(&levels, 8 * SECOND, 90 * SECOND);
	check(&levels, 1, 8 * SECOND, 8 * SECOND);
	thread_levels_join(&levels, SECOND / 4, 110 * SECOND); /* did next to nothing */
	check(&levels, 1, 8 * SECOND, 8 * SECOND);
	thread_levels_join(&levels, 6 * SECOND, 101 * SECOND);
	check(&levels, 0, 14 * SECOND, 0);
}

TEST(whatever_a_thread_did_has_a_level)
{
	struct thread_levels levels = {};

	thread_levels_join(&levels, 0, 0);
	thread_levels_join(&levels, 1, 0);
	check(&levels, 2, 1, 1);
	thread_levels_join(&levels, UINT64_MAX / 4, 0);
	thread_levels_join(&levels, UINT64_MAX / 4, 0);
	check(&levels, 2, UINT64_MAX / 4 * 2, UINT64_MAX / 4);
}

TEST(the_threads_that_did_more_stay)
{
	const struct busiest_threads more = { 2, 9, 8 }, less = { 8, 8, 1 };
	struct busiest_threads busiest = {};

	busiest_threads_raise(&busiest, &less);
	busiest_threads_raise(&busiest, &more);
	busiest_threads_raise(&busiest, &less);
	ASSERT_EQ(busiest.count, 2u);
	ASSERT_EQ(busiest.greatest_ns, 8u);
}
