/* SPDX-License-Identifier: MIT */
#include "model/sections/victims.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "model/json_place.h"
#include "counters/killed.h"
#include "basic/macro.h"
#include "model/section.h"
#include "model/sections.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define NOON (UINT64_C(1767225600) * SECOND)

static struct victim victim_of(uint64_t seconds, int pid, uint64_t bytes)
{
	return (struct victim){ .time_ns = NOON + seconds * SECOND, .pid = pid, .uid = 1000, .command = "hog",
				.rss = { bytes, true }, .anon = { bytes, true }, .file = { 0, true } };
}

static char *format(const struct victims *v)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct document *d = document_new_json(out, DOCUMENT_ONE_LINE);

	victims_format(v, d);
	ASSERT_OK(document_finish(d));
	document_free(d);
	fclose(out);
	return text;
}

static int parse(const char *text, struct victims *ret, struct error *err)
{
	struct place place = { .path = "memory.oom", .err = err };
	json_t *list = json_loads(text, 0, NULL);
	int r = victims_parse(&place, list, ret);

	ASSERT(list);
	json_decref(list);
	return r;
}

TEST(they_stand_by_time_and_each_once)
{
	const struct victim late = victim_of(7, 11, 4096), early = victim_of(3, 12, 8192);
	struct victim same = late;
	struct victims v = {};

	same.time_ns += 999; /* as another look at the clocks has it */
	ASSERT(victims_add(&v, &late));
	ASSERT(victims_add(&v, &early));
	ASSERT(!victims_add(&v, &same));
	ASSERT_EQ(v.count, (size_t)2);
	ASSERT_EQ(v.items[0].pid, 12);
	ASSERT_EQ(victims_largest(&v)->pid, 12);
}

TEST(of_too_many_the_first_are_kept)
{
	struct victims v = {};

	for (int i = 0; i < VICTIMS_MAX + 3; i++) {
		const struct victim victim = victim_of(100 - (uint64_t)i, i + 1, 4096);

		(void)victims_add(&v, &victim);
	}
	ASSERT_EQ(v.count, (size_t)VICTIMS_MAX);
	ASSERT_EQ(v.items[0].pid, VICTIMS_MAX + 3);
	ASSERT_EQ(v.items[VICTIMS_MAX - 1].pid, 4);
}

TEST(what_was_there_before_can_be_taken_out)
{
	const struct victim first = victim_of(1, 1, 4096), second = victim_of(2, 2, 4096);
	struct victims before = {}, after = {};

	(void)victims_add(&before, &first);
	(void)victims_add(&after, &first);
	(void)victims_add(&after, &second);
	(void)oom_section.subtract(&after, &before, NULL);
	ASSERT_EQ(after.count, (size_t)1);
	ASSERT_EQ(after.items[0].pid, 2);
	(void)victims_merge(&after, &before);
	ASSERT_EQ(after.items[0].pid, 1);
}

TEST(they_come_back_from_a_record)
{
	_cleanup_free_ char *text = NULL, *again = NULL;
	struct victim victim = victim_of(1, 4711, 4187593114);
	struct victims v = {}, back = {};
	struct error err;

	victim.shmem = (struct value){};
	strcpy(victim.command, "a \"b\"\n");
	(void)victims_add(&v, &victim);
	text = format(&v);
	ASSERT_STREQ(text, "[{\"time\":\"2026-01-01T00:00:01.000000000Z\",\"pid\":4711,\"uid\":1000,\"command\":\"a \\\"b\\\"\\n\","
			   "\"rss_bytes\":4187593114,\"anon_bytes\":4187593114,\"file_bytes\":0,\"shmem_bytes\":null}]\n");
	ASSERT_OK(parse(text, &back, &err));
	again = format(&back);
	ASSERT_STREQ(again, text);
}

TEST(what_is_odd_is_refused_with_its_place)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "[7]", "memory.oom[0]" },
		{ "[{\"pid\": -1}]", "memory.oom[0].pid" },
		{ "[{\"uid\": 4294967296}]", "memory.oom[0].uid" },
		{ "[{\"time\": \"noon\"}]", "memory.oom[0].time" },
		{ "[{\"rss_bytes\": -4096}]", "memory.oom[0].rss_bytes" },
		{ "[{\"command\": \"123456789012345678901234567890123456789012345678\"}]", "memory.oom[0].command" },
	};
	struct victims v = {};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ASSERT_ERR(parse(rows[i].text, &v, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, rows[i].words);
	}
	ASSERT_EQ(v.count, (size_t)0);
}

TEST(the_kernel_sides_pages_are_bytes_and_its_time_one_of_day)
{
	struct oom_victim raw = { .killed_ns = 40 * SECOND, .anon_pages = 3, .file_pages = 2, .shmem_pages = 1,
				  .pid = 17, .uid = 5, .has_pages = 1, .command = "123456789012345" };
	struct victim victim = killed_describe(&raw, 100 * SECOND, NOON, 4096);

	ASSERT_EQ(victim.time_ns, NOON - 60 * SECOND);
	ASSERT_EQ(victim.rss.number, (uint64_t)(6 * 4096));
	ASSERT_EQ(victim.anon.number, (uint64_t)(3 * 4096));
	ASSERT_EQ(victim.pid, 17);
	ASSERT_STREQ(victim.command, "123456789012345");
	memset(raw.command, 'x', sizeof(raw.command));
	raw.has_pages = 0;
	victim = killed_describe(&raw, 100 * SECOND, NOON, 4096);
	ASSERT(!victim.rss.is_known);
	ASSERT_STREQ(victim.command, "xxxxxxxxxxxxxxxx");
}
