/* SPDX-License-Identifier: MIT */
#include "task_metrics.h"

#include <string.h>

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
