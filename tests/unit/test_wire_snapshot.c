/* SPDX-License-Identifier: MIT */
#include "codec/wire_snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "model/job.h"
#include "basic/macro.h"
#include "made.h"
#include "test.h"

TEST(a_wire_snapshot_comes_back)
{
	_cleanup_(record_freep) struct record *record = made_record(0);
	_cleanup_free_ char *json = NULL, *head = NULL, *text = NULL;
	struct tick made = { .real_ns = UINT64_C(1770091506123456789),
			     .boot_ns = 1009000000007,
			     .took_ns = 4 },
		    back = {};
	struct made_text t = {};
	struct document *d = made_text_document(&t, DOCUMENT_ONE_LINE);

	free(record->job.manager);
	record->job.manager = strdup("slurm");
	free(record->job.id);
	record->job.id = strdup("7");
	json = made_json(record);
	document_begin_map(d);
	wire_snapshot_format_head(&made, d);
	document_end_map(d);
	head = made_text_end(&t);
	*strrchr(head, '}') = '\0';
	ASSERT(asprintf(&text, "%s,\"jobs\":[%s]}", head, json) > 0);
	ASSERT_OK(wire_snapshot_parse(text, strlen(text), NULL, &back, NULL));
	ASSERT_EQ(back.real_ns, made.real_ns);
	ASSERT_EQ(back.boot_ns, made.boot_ns);
	ASSERT_EQ(back.took_ns, made.took_ns);
	ASSERT_EQ((uint64_t)back.jobs.count, (uint64_t)1);
	ASSERT_STREQ(back.jobs.items[0]->job.id, record->job.id);
	wire_snapshot_clear(&back);
}

TEST(of_a_job_that_did_nothing_the_record_goes_on_living)
{
#define OF(seconds, jobs) \
	"{\"schema\":\"jobmeter.snapshot/1\",\"boot_seconds\":" seconds ",\"jobs\":[" jobs "]}"
#define RECORD(id)                                                                      \
	"{\"schema\":\"jobmeter.record/1\",\"job\":{\"manager\":\"slurm\",\"id\":\"" id \
	"\"},\"cpu\":{\"user_seconds\":3}}"
	static const char whole[] = OF("100", RECORD("7") "," RECORD("8") "," RECORD("9")),
			  absent[] = OF("107",
					"{\"unchanged\":true,\"manager\":\"slurm\",\"id\":\"6\"}"),
			  nameless[] = OF("107", "{\"unchanged\":true,\"manager\":\"slurm\"}");
	const struct job job = { .manager = (char *)"slurm", .id = (char *)"9" };
	_cleanup_free_ char *text = NULL, *unchanged = NULL;
	struct tick before = {}, now = {};
	struct made_text t = {};

	wire_snapshot_format_unchanged(&job, UINT64_C(1009000000007),
				       made_text_document(&t, DOCUMENT_ONE_LINE));
	unchanged = made_text_end(&t);
	ASSERT(asprintf(&text, OF("107", "%s," RECORD("7")), unchanged) > 0);
	ASSERT_OK(wire_snapshot_parse(whole, strlen(whole), NULL, &before, NULL));
	ASSERT_OK(wire_snapshot_parse(text, strlen(text), &before, &now, NULL));
	ASSERT_EQ((uint64_t)now.jobs.count, (uint64_t)2);
	ASSERT(now.jobs.items[0] == before.jobs.items[2] &&
	       now.jobs.items[1] != before.jobs.items[0]);
	wire_snapshot_clear(&before);
	ASSERT_STREQ(now.jobs.items[0]->job.id, "9");
	ASSERT_EQ(now.jobs.items[0]->time.elapsed_ns, UINT64_C(1009000000007));
	ASSERT_EQ(now.jobs.items[0]->reading.values[METRIC_CPU_USER].number, UINT64_C(3000000000));
	ASSERT_ERR(wire_snapshot_parse(absent, strlen(absent), &now, &before, NULL), -ESTALE);
	ASSERT_ERR(wire_snapshot_parse(text, strlen(text), NULL, &before, NULL), -ESTALE);
	ASSERT_ERR(wire_snapshot_parse(nameless, strlen(nameless), &now, &before, NULL), -EINVAL);
	ASSERT(!before.jobs.count);
	wire_snapshot_clear(&now);
#undef OF
#undef RECORD
}

TEST(what_is_no_tick_is_told_and_leaves_the_result_alone)
{
#define HEAD "{\"schema\": \"jobmeter.snapshot/1\", "
	static const struct row {
		const char *text, *error;
	} rows[] = {
		{ "", "it is no JSON" },
		{ "{\"schema\": \"jobmeter.snapshot/1\"", "it is no JSON" },
		{ "[]", "it is a list and should be a map" },
		{ "{}", "schema is not 'jobmeter.snapshot/1'" },
		{ "{\"schema\": \"jobmeter.record/1\"}", "schema is not" },
		{ HEAD "\"jobs\": []}", "boot_seconds is missing" },
		{ HEAD "\"boot_seconds\": -1}", "boot_seconds" },
		{ HEAD "\"boot_seconds\": 7}", "jobs is missing" },
		{ HEAD "\"boot_seconds\": 7, \"jobs\": {}}", "jobs is a map and should be a list" },
		{ HEAD "\"boot_seconds\": 7, \"jobs\": [1]}", "jobs[0]" },
		{ HEAD "\"boot_seconds\": 7, \"jobs\": [{\"schema\": \"jobmeter.record/1\"}]}",
		  "jobs[0]: job lacks manager or id" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tick tick = { .took_ns = 7 };
		struct error err = {};

		ASSERT_ERR(wire_snapshot_parse(rows[i].text, strlen(rows[i].text), NULL, &tick,
					       &err),
			   -EINVAL);
		ASSERT_CONTAINS(err.text, rows[i].error);
		ASSERT_EQ(tick.took_ns, (uint64_t)7);
	}
}
