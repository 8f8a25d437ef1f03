/* SPDX-License-Identifier: MIT */
#include "model/job_row.h"

#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "made.h"
#include "model/document.h"
#include "test.h"

static char *row_json(const struct job_row *row)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	struct document *d = document_new_json(out, DOCUMENT_ONE_LINE);

	document_begin_map(d);
	job_row_format(row, d);
	document_end_map(d);
	ASSERT_OK(document_finish(d));
	document_free(d);
	fclose(out);
	return text;
}

TEST(a_row_says_what_its_record_does)
{
	_cleanup_(record_freep) struct record *record = made_record(0);
	_cleanup_(job_row_clear) struct job_row row = JOB_ROW_EMPTY;
	uint64_t read;

	ASSERT_OK(job_row_of_record(record, &row));
	ASSERT_STREQ(row.id, record->job.id);
	ASSERT_STREQ(row.user, record->job.user);
	ASSERT_EQ(row.start_ns, record->time.start_ns);
	ASSERT_EQ(row.elapsed_ns, record->time.elapsed_ns);
	ASSERT_EQ(row.nodes, 1u);
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++)
		ASSERT(row.values[i].is_known == record->reading.values[i].is_known &&
		       row.values[i].number == record->reading.values[i].number);
	ASSERT(record_total(record, METRIC_READ_BYTES, &read));
	ASSERT_EQ((uint64_t)row.values[METRIC_READ_BYTES].number, read);
}

TEST(of_a_job_that_runs_no_other_state_is_told)
{
	_cleanup_(record_freep) struct record *record = made_record(0);
	_cleanup_(job_row_clear) struct job_row row = JOB_ROW_EMPTY;

	record->is_final = false;
	ASSERT_OK(job_row_of_record(record, &row));
	ASSERT_STREQ(row.state, "RUNNING");
	ASSERT(!row.is_final);
}

TEST(a_row_gives_back_a_record_for_arithmetic)
{
	_cleanup_(record_freep) struct record *record = made_record(0), *back = NULL;
	_cleanup_(job_row_clear) struct job_row row = JOB_ROW_EMPTY;
	uint64_t share, again = 0;

	ASSERT_OK(job_row_of_record(record, &row));
	back = job_row_record(&row);
	ASSERT(record_utilization(record, &share));
	ASSERT(record_utilization(back, &again));
	ASSERT_EQ(again, share);
}

TEST(json_has_each_number_by_its_name_and_null_for_what_is_not_known)
{
	_cleanup_(record_freep) struct record *record = made_record(0);
	_cleanup_(job_row_clear) struct job_row row = JOB_ROW_EMPTY;
	_cleanup_free_ char *json = NULL;

	ASSERT_OK(job_row_of_record(record, &row));
	row.values[METRIC_MEMORY_LIMIT] = (struct value){};
	row.values[METRIC_READ_BYTES] = (struct value){ 104729, true };
	json = row_json(&row);
	ASSERT_CONTAINS(json, "\"cpu.user_seconds\":");
	ASSERT_CONTAINS(json, "\"io.read.bytes\":104729,");
	ASSERT_CONTAINS(json, "\"memory.limit_bytes\":null");
	ASSERT_CONTAINS(json, "\"reason\":null");
}

TEST(no_two_numbers_have_one_name)
{
	char key[JOB_ROW_KEY_SIZE], other[JOB_ROW_KEY_SIZE];
	size_t count = 0;

	for (size_t i = 0; i < JOB_ROW_VALUES; i++) {
		if (!job_row_key((enum metric_id)i, key))
			continue;
		count++;
		for (size_t j = 0; j < i; j++)
			ASSERT(!job_row_key((enum metric_id)j, other) || strcmp(key, other) != 0);
	}
	ASSERT(count > METRIC_JOB_COUNT);
}

TEST(the_newest_comes_first)
{
	static const struct {
		uint64_t start_ns;
		const char *id;
	} given[] = { { 7, "9" }, { 9, "1" }, { 7, "10" }, { 8, "x" }, { 7, "100" } };
	_cleanup_(job_rows_clear) struct job_rows rows = {};

	for (size_t i = 0; i < 5; i++) {
		struct job_row row = JOB_ROW_EMPTY;

		row.start_ns = given[i].start_ns;
		row.id = strdup(given[i].id);
		ASSERT_OK(job_rows_add(&rows, &row));
		ASSERT(!row.id);
	}
	job_rows_sort(&rows);
	ASSERT_STREQ(rows.items[0].id, "1");
	ASSERT_STREQ(rows.items[1].id, "x");
	ASSERT_STREQ(rows.items[2].id, "100");
	ASSERT_STREQ(rows.items[4].id, "9");
}
