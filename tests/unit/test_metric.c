/* SPDX-License-Identifier: MIT */
#include "metric.h"

#include <string.h>

#include "reading.h"
#include "test.h"

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

TEST(every_row_is_filled_in)
{
	for (unsigned int i = 0; i < METRIC_COUNT; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		ASSERT(metric->name && strncmp(metric->name, "jobmeter_job_", 13) == 0);
		ASSERT(metric->section && metric->key && metric->help);
		ASSERT(ends_with(metric->help, "."));
		ASSERT_EQ(metric_id_of(metric), i);
		ASSERT_EQ(metric->scope == SCOPE_JOB, i < METRIC_JOB_COUNT);
	}
}

TEST(names_with_labels_and_keys_with_sections_are_unique)
{
	for (unsigned int i = 0; i < METRIC_COUNT; i++) {
		const struct metric *a = metric_get((enum metric_id)i);

		ASSERT(metric_find(a->section, a->key) == a);
		for (unsigned int j = 0; j < i; j++) {
			const struct metric *b = metric_get((enum metric_id)j);

			ASSERT(!is_same(a->name, b->name) || !is_same(a->label, b->label));
		}
	}
}

/* Prometheus' conventions: counters end in _total, and the unit stands before. */
TEST(names_tell_kind_and_unit)
{
	for (unsigned int i = 0; i < METRIC_COUNT; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		ASSERT_EQ(ends_with(metric->name, "_total"), metric->kind == KIND_COUNTER);
		if (metric->unit == UNIT_SECONDS)
			ASSERT_CONTAINS(metric->name, "_seconds");
		if (metric->unit == UNIT_BYTES)
			ASSERT_CONTAINS(metric->name, "_bytes");
	}
}

TEST(a_sections_rows_stand_together)
{
	for (unsigned int i = 2; i < METRIC_COUNT; i++) {
		const char *section = metric_get((enum metric_id)i)->section;

		if (is_same(section, metric_get((enum metric_id)(i - 1))->section))
			continue;
		for (unsigned int j = 0; j < i; j++)
			ASSERT(!is_same(section, metric_get((enum metric_id)j)->section));
	}
}

TEST(what_is_not_there_is_not_found)
{
	ASSERT(metric_find("cpu", "nonsense") == NULL);
	ASSERT(metric_find("nonsense", "user_seconds") == NULL);
}

TEST(every_number_of_a_mount_has_a_place_of_its_own)
{
	struct mount_row row = {};
	uint64_t next = 1;

	for (unsigned int i = METRIC_JOB_COUNT; i < METRIC_COUNT; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (metric->scope == SCOPE_MOUNT && metric->kind != KIND_HISTOGRAM)
			*mount_row_number_ref(&row, (enum metric_id)i) = next++;
		else if (metric->scope == SCOPE_MOUNT)
			mount_row_histogram(&row, (enum metric_id)i)->counts[0] = next++;
	}
	next = 1;
	for (unsigned int i = METRIC_JOB_COUNT; i < METRIC_COUNT; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (metric->scope == SCOPE_MOUNT && metric->kind != KIND_HISTOGRAM)
			ASSERT_EQ(mount_row_number(&row, (enum metric_id)i), next++);
		else if (metric->scope == SCOPE_MOUNT)
			ASSERT_EQ(mount_row_histogram(&row, (enum metric_id)i)->counts[0], next++);
	}
}
