/* SPDX-License-Identifier: MIT */
#include "model/cause.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

TEST(each_cause_has_its_name_and_its_metric)
{
	for (size_t i = 0; i < CAUSE_COUNT; i++) {
		const struct metric *metric = metric_get(cause_metric((enum cause)i));
		const char *name = cause_name((enum cause)i);
		char text[64];

		snprintf(text, sizeof(text), "cause=\"%s\"", name);
		ASSERT_STREQ(metric->label, text);
		snprintf(text, sizeof(text), "%s_seconds", name);
		ASSERT_STREQ(metric->key, text);
		ASSERT_STREQ(metric->section, "cpu.causes");
	}
}

TEST(every_metric_of_causes_has_one)
{
	size_t count = 0;

	for (size_t id = 0; id < METRIC_JOB_COUNT; id++)
		count += strcmp(metric_get((enum metric_id)id)->section, "cpu.causes") == 0;
	ASSERT_EQ(count, CAUSE_COUNT);
}

TEST(waiting_that_the_program_wanted_is_not_lost)
{
	ASSERT(cause_is_lost(CAUSE_FILE_READ) && cause_is_lost(CAUSE_LOCK));
	ASSERT(!cause_is_lost(CAUSE_SLEEP) && !cause_is_lost(CAUSE_POLL) &&
	       !cause_is_lost(CAUSE_CHILDREN));
	ASSERT(!cause_is_lost(CAUSE_THREADS));
	ASSERT(!cause_is_lost(CAUSE_PIPE) && !cause_is_lost(CAUSE_OTHER));
}
