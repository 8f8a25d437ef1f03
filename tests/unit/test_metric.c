/* SPDX-License-Identifier: MIT */
#include "model/metric.h"

#include <string.h>

#include "model/reading.h"
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

		ASSERT(metric->name && metric->help);
		ASSERT_EQ(strncmp(metric->name, "jobmeter_job_", 13) == 0,
			  metric->scope <= SCOPE_JOB_COURSE);
		/* What is in records stands first; a timeline has more. */
		ASSERT_EQ(i < METRIC_RECORD_END, metric->scope <= SCOPE_FILE);
		ASSERT(metric->section != NULL || i >= METRIC_RECORD_END);
		ASSERT(metric->section == NULL || metric->scope <= SCOPE_FILE ||
		       metric->scope == SCOPE_JOB_NOW || metric->scope == SCOPE_JOB_COURSE);
		ASSERT_EQ(metric->key != NULL, metric->section != NULL);
		ASSERT(ends_with(metric->help, "."));
		ASSERT_EQ(metric_id_of(metric), i);
		ASSERT_EQ(metric->scope <= SCOPE_JOB_ENERGY, i < METRIC_JOB_COUNT);
	}
}

TEST(names_with_labels_and_keys_with_sections_are_unique)
{
	for (unsigned int i = 0; i < METRIC_COUNT; i++) {
		const struct metric *a = metric_get((enum metric_id)i);

		if (a->section)
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
		ASSERT_EQ(ends_with(metric->name, "_info"), metric->kind == KIND_INFO);
		if (metric->unit == UNIT_SECONDS)
			ASSERT_CONTAINS(metric->name, "_seconds");
		if (metric->unit == UNIT_BYTES)
			ASSERT_CONTAINS(metric->name, "_bytes");
	}
}

TEST(a_sections_rows_stand_together)
{
	for (unsigned int i = 2; i < METRIC_RECORD_END; i++) {
		const char *section = metric_get((enum metric_id)i)->section;

		if (is_same(section, metric_get((enum metric_id)(i - 1))->section))
			continue;
		for (unsigned int j = 0; j < i; j++)
			ASSERT(!is_same(section, metric_get((enum metric_id)j)->section));
	}
}

/* A family is one block of a page, of one kind, unit and set of labels. */
TEST(a_names_rows_stand_together_and_are_alike)
{
	for (unsigned int i = 1; i < METRIC_COUNT; i++) {
		const struct metric *metric = metric_get((enum metric_id)i),
				    *before = metric_get((enum metric_id)(i - 1));

		if (is_same(metric->name, before->name)) {
			ASSERT(metric->kind == before->kind && metric->unit == before->unit);
			ASSERT(metric->scope == before->scope && metric->label && before->label);
			ASSERT(!metric->family_help);
			continue;
		}
		ASSERT_EQ(metric->family_help != NULL, metric->label != NULL);
		for (unsigned int j = 0; j < i; j++)
			ASSERT(!is_same(metric->name, metric_get((enum metric_id)j)->name));
	}
}

/* OpenMetrics takes the ends off: what is left must still be different. */
TEST(families_have_names_of_their_own)
{
	for (unsigned int i = 0; i < METRIC_COUNT; i++) {
		for (unsigned int j = 0; j < METRIC_COUNT; j++) {
			const char *a = metric_get((enum metric_id)i)->name,
				   *b = metric_get((enum metric_id)j)->name;
			size_t length = strlen(b);

			if (strncmp(a, b, length) == 0 && a[length])
				ASSERT(strcmp(a + length, "_total") != 0 &&
				       strcmp(a + length, "_info") != 0);
		}
	}
}

TEST(what_is_not_there_is_not_found)
{
	ASSERT(metric_find("cpu", "nonsense") == NULL);
	ASSERT(metric_find("nonsense", "user_seconds") == NULL);
}

/* Every number of the operations on metadata and of the ways, one by one. */
static void visit_parts(struct mount_row *row, void (*visit)(uint64_t *number, uint64_t *next),
			uint64_t *next)
{
	for (unsigned int i = METRIC_JOB_COUNT; i < METRIC_COUNT; i++) {
		enum metric_id id = (enum metric_id)i;

		for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++) {
			if (metric_get(id)->scope == SCOPE_MOUNT_OP)
				visit(mount_row_op_number_ref(row, id, (enum file_op)op), next);
		}
		for (size_t interface = INTERFACE_CALL + 1; interface < INTERFACE_MAPPING;
		     interface++) {
			if (metric_get(id)->scope == SCOPE_MOUNT_INTERFACE)
				visit(mount_row_interface_number_ref(
					      row, id, (enum file_interface)interface),
				      next);
		}
	}
}

static void set_next(uint64_t *number, uint64_t *next)
{
	*number = (*next)++;
}

static void expect_next(uint64_t *number, uint64_t *next)
{
	ASSERT_EQ(*number, (*next)++);
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
	visit_parts(&row, set_next, &next);
	next = 1;
	for (unsigned int i = METRIC_JOB_COUNT; i < METRIC_COUNT; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (metric->scope == SCOPE_MOUNT && metric->kind != KIND_HISTOGRAM)
			ASSERT_EQ(mount_row_number(&row, (enum metric_id)i), next++);
		else if (metric->scope == SCOPE_MOUNT)
			ASSERT_EQ(mount_row_histogram(&row, (enum metric_id)i)->counts[0], next++);
	}
	visit_parts(&row, expect_next, &next);
}

TEST(a_metrics_part_is_what_stands_last_in_its_section)
{
	ASSERT_STREQ(metric_part(metric_get(METRIC_INTERFACE_WRITE_CALLS)), "write");
	ASSERT_STREQ(metric_part(metric_get(METRIC_CPU_USER)), "cpu");
}
