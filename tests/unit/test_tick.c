/* SPDX-License-Identifier: MIT */
#include "tick.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "document.h"
#include "error.h"
#include "macro.h"
#include "made.h"
#include "test.h"

TEST(a_tick_comes_back)
{
	_cleanup_(record_freep) struct record *record = made_record(0);
	_cleanup_free_ char *json = NULL, *head = NULL, *text = NULL;
	struct tick made = { .real_ns = UINT64_C(1770091506123456789), .boot_ns = 1009000000007, .took_ns = 4 },
		    back = {};
	struct document *d;
	size_t length;
	FILE *out = open_memstream(&head, &length);

	free(record->job.manager);
	record->job.manager = strdup("slurm");
	free(record->job.id);
	record->job.id = strdup("7");
	json = made_json(record);
	d = document_new_json(out, DOCUMENT_ONE_LINE);
	document_begin_map(d);
	tick_format_head(&made, d);
	document_end_map(d);
	ASSERT_OK(document_finish(d));
	document_free(d);
	fclose(out);
	*strrchr(head, '}') = '\0';
	ASSERT(asprintf(&text, "%s,\"jobs\":[%s]}", head, json) > 0);
	ASSERT_OK(tick_parse(text, strlen(text), &back, NULL));
	ASSERT_EQ(back.real_ns, made.real_ns);
	ASSERT_EQ(back.boot_ns, made.boot_ns);
	ASSERT_EQ(back.took_ns, made.took_ns);
	ASSERT_EQ((uint64_t)back.jobs.count, (uint64_t)1);
	ASSERT_STREQ(back.jobs.items[0]->job.id, record->job.id);
	tick_clear(&back);
}

TEST(what_is_no_tick_is_told_and_leaves_the_result_alone)
{
#define HEAD "{\"schema\": \"jobmeter.tick/1\", "
	static const struct row {
		const char *text, *error;
	} rows[] = {
		{ "", "it is no JSON" },
		{ "{\"schema\": \"jobmeter.tick/1\"", "it is no JSON" },
		{ "[]", "it is a list and should be a map" },
		{ "{}", "schema is not 'jobmeter.tick/1'" },
		{ "{\"schema\": \"jobmeter.record/1\"}", "schema is not" },
		{ HEAD "\"jobs\": []}", "boot_seconds is missing" },
		{ HEAD "\"boot_seconds\": -1}", "boot_seconds" },
		{ HEAD "\"boot_seconds\": 7}", "jobs is missing" },
		{ HEAD "\"boot_seconds\": 7, \"jobs\": {}}", "jobs is a map and should be a list" },
		{ HEAD "\"boot_seconds\": 7, \"jobs\": [1]}", "jobs[0]" },
		{ HEAD "\"boot_seconds\": 7, \"jobs\": [{\"schema\": \"jobmeter.record/1\"}]}", "jobs[0]: job lacks manager or id" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tick tick = { .took_ns = 7 };
		struct error err = {};

		ASSERT_ERR(tick_parse(rows[i].text, strlen(rows[i].text), &tick, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, rows[i].error);
		ASSERT_EQ(tick.took_ns, (uint64_t)7);
	}
}
