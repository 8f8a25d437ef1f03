/* SPDX-License-Identifier: MIT */
#include "counters/task_sums.h"

#include "model/cause.h"
#include "test.h"

TEST(each_counter_adds_to_a_metric_of_its_own)
{
	for (size_t i = 0; i < TASK_COUNTERS; i++) {
		struct value values[METRIC_JOB_COUNT] = {};
		struct task_counters counters = {};
		size_t changed = 0, known = 0;

		((uint64_t *)&counters)[i] = 7;
		task_metrics_add(values, &counters);
		task_metrics_add(values, &counters);
		for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
			changed += values[id].number == 14;
			known += values[id].is_known;
		}
		ASSERT_EQ(changed, (size_t)1);
		ASSERT_EQ(known, (size_t)TASK_COUNTERS);
	}
}

TEST(what_tasks_do_not_count_stays_unknown)
{
	struct value values[METRIC_JOB_COUNT] = {};

	task_metrics_add(values, &(struct task_counters){ .user_ns = 3 });
	ASSERT_EQ(values[METRIC_CPU_USER].number, (uint64_t)3);
	ASSERT(values[METRIC_CPU_SYSTEM].is_known);
	ASSERT(!values[METRIC_MEMORY_PEAK].is_known);
	ASSERT(!values[METRIC_TASKS_ENDED].is_known);
}

TEST(each_cause_adds_to_a_metric_of_its_own)
{
	struct task_times times = { .on = 1000, .stolen = 300, .queued = 2000 };
	struct value values[METRIC_JOB_COUNT] = {};

	for (size_t i = 0; i < TIME_CAUSES; i++)
		((uint64_t *)&times.blocked)[i] = i + 1;
	task_times_add(values, &times);
	task_times_add(values, &times);
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		ASSERT_EQ(values[cause_metric((enum cause)i)].number, 2 * (i + 1));
	ASSERT_EQ(values[METRIC_BLOCKED_LOCK].number, 2 * times.blocked.lock);
	ASSERT_EQ(values[METRIC_CPU_STOLEN].number, 600u);
	ASSERT(!values[METRIC_CPU_USER].is_known && !values[METRIC_CPU_RUN_QUEUE].is_known); /* T0's
											      */
}

TEST(each_number_of_polls_is_a_metric_of_its_own)
{
	const struct polls polls = { .polls = 3, .yields = 5, .ns = 7 };
	struct value values[METRIC_JOB_COUNT] = {};

	polls_add(values, &polls, false);
	ASSERT(!values[METRIC_CPU_POLLING].is_known);
	polls_add(values, &polls, true);
	ASSERT_EQ(values[METRIC_CPU_EMPTY_POLLS].number, (uint64_t)6);
	ASSERT_EQ(values[METRIC_CPU_YIELDS].number, (uint64_t)10);
	ASSERT_EQ(values[METRIC_CPU_POLLING].number, (uint64_t)7);
	ASSERT(values[METRIC_CPU_POLLING].is_known && !values[METRIC_CPU_USER].is_known);
}
