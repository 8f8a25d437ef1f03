/* SPDX-License-Identifier: MIT */
#include "basic/bitset.h"
#include "model/metric_set.h"
#include "test.h"

TEST(words_are_as_many_as_the_rows_need)
{
	ASSERT_EQ(BITSET_WORDS(1), 1);
	ASSERT_EQ(BITSET_WORDS(64), 1);
	ASSERT_EQ(BITSET_WORDS(65), 2);
}

TEST(sets_of_metrics_are_compared_word_by_word)
{
	const enum metric_id last = METRIC_JOB_COUNT - 1;
	struct metric_set all = {}, odd = {}, left;

	ASSERT(metric_set_is_empty(&all));
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		metric_set_add(&all, (enum metric_id)i);
		if (i % 2)
			metric_set_add(&odd, (enum metric_id)i);
	}
	left = metric_set_minus(all, odd);
	ASSERT(metric_set_has(&all, last) && metric_set_has(&left, last) == !(last % 2));
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++)
		ASSERT(metric_set_has(&left, (enum metric_id)i) == !(i % 2));
	left = metric_set_both(left, odd);
	ASSERT(metric_set_is_empty(&left));
}
