/* SPDX-License-Identifier: MIT */
#include "http/budgets.h"

#include <stddef.h>

#include "test.h"

#define MS UINT64_C(1000000)
#define BURST ((uint64_t)BUDGETS_BURST_NS)

TEST(a_burst_is_free_and_what_is_owed_is_waited_for)
{
	struct budgets b = {};

	ASSERT_EQ(budgets_wait_ms(&b, 1001, 5000), 0u);
	budgets_charge(&b, 1001, BURST, 5000);
	ASSERT_EQ(budgets_wait_ms(&b, 1001, 5000), 0u);
	budgets_charge(&b, 1001, 3 * MS, 5000);
	ASSERT_EQ(budgets_wait_ms(&b, 1001, 5000), 30u);
	ASSERT_EQ(budgets_wait_ms(&b, 1001, 5029), 1u);
	ASSERT_EQ(budgets_wait_ms(&b, 1001, 5030), 0u);
}

TEST(a_larger_burst_is_owed_no_longer)
{
	struct budgets b = { .burst_ns = (int64_t)(6 * BURST) };

	for (int i = 0; i < 6; i++)
		budgets_charge(&b, 7, BURST, 1000);
	ASSERT_EQ(budgets_wait_ms(&b, 7, 1000), 0u);
	budgets_charge(&b, 7, 100 * BURST, 1000);
	ASSERT_EQ(budgets_wait_ms(&b, 7, 1000), 5000u);
}

TEST(in_the_long_run_a_user_takes_a_tenth_of_a_core)
{
	struct budgets b = {};
	uint64_t taken_ns = 0, now_ms = 1, end_ms = 100000;

	while (now_ms < end_ms) {
		now_ms += budgets_wait_ms(&b, 7, now_ms);
		budgets_charge(&b, 7, 61 * MS, now_ms);
		taken_ns += 61 * MS;
	}
	ASSERT(taken_ns <= now_ms * MS / 10 + BURST + 61 * MS);
	ASSERT(taken_ns >= end_ms * MS / 10);
}

TEST(nobody_pays_for_another_and_nobody_waits_longer_than_a_burst_takes)
{
	struct budgets b = {};

	for (size_t i = 0; i < 100; i++)
		budgets_charge(&b, 1, 10 * BURST, 1000);
	ASSERT_EQ(budgets_wait_ms(&b, 1, 1000), BURST / MS * 100 / BUDGETS_PERCENT);
	ASSERT_EQ(budgets_wait_ms(&b, 2, 1000), 0u);
	ASSERT_EQ(budgets_wait_ms(&b, 1, UINT64_MAX / 2), 0u);
	ASSERT_EQ(budgets_wait_ms(&b, 1, 0), 0u); /* a clock that goes back takes nothing */
}

TEST(more_users_than_there_are_entries_share_the_last)
{
	struct budgets b = {};

	for (uint32_t user = 0; user < 2 * BUDGETS_USERS_MAX; user++)
		budgets_charge(&b, user, BURST / 2, 1000);
	ASSERT_EQ(budgets_wait_ms(&b, 0, 1000), 0u);
	ASSERT(budgets_wait_ms(&b, 2 * BUDGETS_USERS_MAX - 1, 1000) > 0);
}
