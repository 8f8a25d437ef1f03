/* SPDX-License-Identifier: MIT */
#include "codec/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "made.h"
#include "codec/record_format.h"
#include "test.h"

static struct session made_session(size_t count)
{
	struct session s = { .name = "user made-user",
			     .start_ns = UINT64_C(1770091506123456789),
			     .end_ns = UINT64_C(1770091516123456789),
			     .elapsed_ns = 10000000000 };

	for (size_t i = 0; i < count; i++) {
		struct record *r = made_record((int)i);

		r->job.id = strdup(i ? "2" : "1");
		ASSERT_OK(records_add(&s.jobs, r));
	}
	return s;
}

static int write_record(const void *context, const struct record *record, struct document *d)
{
	record_format(record, d);
	return *(const int *)context;
}

static char *json_of(const struct session *s, const struct record *summary)
{
	const struct record_writer writer = { write_record, &(const int){ 0 } };
	struct made_text t = {};

	ASSERT_OK(session_format(s, summary, &writer, made_text_document(&t, DOCUMENT_ONE_LINE)));
	return made_text_end(&t);
}

TEST(its_jobs_come_back_as_records)
{
	_cleanup_(session_clear) struct session s = made_session(2);
	_cleanup_(record_freep) struct record *sum = NULL;
	_cleanup_(records_clear) struct records back = {};
	_cleanup_free_ char *text = NULL, *before = NULL;

	ASSERT_OK(session_sum(&s, &sum));
	text = json_of(&s, sum);
	ASSERT_CONTAINS(
		text,
		"{\"schema\":\"jobmeter.session/1\",\"session\":{\"name\":\"user made-user\","
		"\"start\":\"2026-02-03T04:05:06.123456789Z\",\"end\":\"2026-02-03T04:05:16.123456789Z\","
		"\"elapsed_seconds\":10},\"jobs\":[{\"schema\":\"jobmeter.record/1\"");
	ASSERT_OK(records_parse(text, strlen(text), "made", &back, NULL));
	ASSERT_EQ((uint64_t)back.count, (uint64_t)2);
	before = made_json(s.jobs.items[1]);
	ASSERT_TEXT(made_json(back.items[1]), before);
}

TEST(the_sum_is_of_the_sessions_time_and_says_what_is_counted_twice)
{
	_cleanup_(session_clear) struct session s = made_session(2), one = made_session(1);
	_cleanup_(record_freep) struct record *sum = NULL, *single = NULL;

	ASSERT_OK(session_sum(&s, &sum));
	ASSERT_EQ(sum->time.elapsed_ns, s.elapsed_ns);
	ASSERT_EQ(sum->reading.values[METRIC_CPU_USER].number, UINT64_C(2) * 190000000001);
	ASSERT(strings_contain(&sum->coverage.notes,
			       "a run within another job is counted in both"));
	ASSERT_OK(session_sum(&one, &single));
	ASSERT_EQ((uint64_t)single->coverage.notes.count, (uint64_t)0);
}

TEST(a_record_that_cannot_be_written_is_an_error)
{
	_cleanup_(session_clear) struct session s = made_session(2);
	const struct record_writer writer = { write_record, &(const int){ -ENOMEM } };
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct document *d = document_new_json(out, DOCUMENT_ONE_LINE);

	ASSERT_ERR(session_format(&s, NULL, &writer, d), -ENOMEM);
	document_free(d);
	fclose(out);
}

TEST(without_jobs_there_is_no_sum)
{
	_cleanup_(session_clear) struct session s = made_session(0);
	_cleanup_free_ char *text = json_of(&s, NULL);
	struct record *sum = NULL;

	ASSERT_ERR(session_sum(&s, &sum), -ENODATA);
	ASSERT_CONTAINS(text, "\"jobs\":[],\"summary\":null}");
}

TEST(a_broken_job_of_a_session_is_told)
{
	static const char text[] =
		"{\"schema\": \"jobmeter.session/1\", \"jobs\": [{\"schema\": \"jobmeter.record/1\"}, 7]}";
	static const char no_list[] = "{\"schema\": \"jobmeter.session/1\", \"jobs\": 7}";
	_cleanup_(records_clear) struct records back = {};
	struct error err = {};

	ASSERT_ERR(records_parse(text, strlen(text), "made", &back, &err), -EINVAL);
	ASSERT_STREQ(err.text, "made: jobs[1]: this is a number and no record of jobmeter");
	ASSERT_ERR(records_parse(no_list, strlen(no_list), "made", &back, &err), -EINVAL);
}
