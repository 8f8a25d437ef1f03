/* SPDX-License-Identifier: MIT */
#include "model/sections/oom_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "model/json_place.h"
#include "counters/cgroups.h"
#include "basic/macro.h"
#include "model/section.h"
#include "model/sections.h"
#include "made.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define NOON (UINT64_C(1767225600) * SECOND)

static struct oom_kill oom_kill_of(uint64_t seconds, int pid, uint64_t bytes)
{
	return (struct oom_kill){ .time_ns = NOON + seconds * SECOND,
				  .pid = pid,
				  .uid = 1000,
				  .command = "hog",
				  .rss = { bytes, true },
				  .anon = { bytes, true },
				  .file = { 0, true } };
}

static char *format(const struct oom_list *v)
{
	struct made_text t = {};

	section_format(&oom_section, v, made_text_document(&t, DOCUMENT_ONE_LINE));
	return made_text_end(&t);
}

static int parse(const char *text, struct oom_list *ret, struct error *err)
{
	struct place place = { .key = "memory", .err = err };
	json_t *map = json_pack("{s:o}", "oom", json_loads(text, 0, NULL));
	int r = section_take(&oom_section, &place, map, ret);

	ASSERT(map);
	json_decref(map);
	return r;
}

TEST(they_stand_by_time_and_each_once)
{
	const struct oom_kill late = oom_kill_of(7, 11, 4096), early = oom_kill_of(3, 12, 8192);
	struct oom_kill same = late;
	struct oom_list v = {};

	same.time_ns += 999; /* as another look at the clocks has it */
	ASSERT(oom_list_add(&v, &late));
	ASSERT(oom_list_add(&v, &early));
	ASSERT(!oom_list_add(&v, &same));
	ASSERT_EQ(v.count, (size_t)2);
	ASSERT_EQ(v.items[0].pid, 12);
	ASSERT_EQ(oom_list_largest(&v)->pid, 12);
}

TEST(of_too_many_the_first_are_kept)
{
	struct oom_list v = {};

	for (int i = 0; i < OOM_LIST_MAX + 3; i++) {
		const struct oom_kill oom_kill = oom_kill_of(100 - (uint64_t)i, i + 1, 4096);

		(void)oom_list_add(&v, &oom_kill);
	}
	ASSERT_EQ(v.count, (size_t)OOM_LIST_MAX);
	ASSERT_EQ(v.items[0].pid, OOM_LIST_MAX + 3);
	ASSERT_EQ(v.items[OOM_LIST_MAX - 1].pid, 4);
}

TEST(what_was_there_before_can_be_taken_out)
{
	const struct oom_kill first = oom_kill_of(1, 1, 4096), second = oom_kill_of(2, 2, 4096);
	struct oom_list before = {}, after = {};

	(void)oom_list_add(&before, &first);
	(void)oom_list_add(&after, &first);
	(void)oom_list_add(&after, &second);
	(void)oom_section.subtract(&after, &before, NULL);
	ASSERT_EQ(after.count, (size_t)1);
	ASSERT_EQ(after.items[0].pid, 2);
	(void)oom_list_merge(&after, &before);
	ASSERT_EQ(after.items[0].pid, 1);
}

TEST(they_come_back_from_a_record)
{
	_cleanup_free_ char *text = NULL;
	struct oom_kill oom_kill = oom_kill_of(1, 4711, 4187593114);
	struct oom_list v = {}, back = {}, none = {};
	struct error err;

	oom_kill.shmem = (struct value){};
	strcpy(oom_kill.command, "a \"b\"\n");
	(void)oom_list_add(&v, &oom_kill);
	text = format(&v);
	ASSERT_STREQ(
		text,
		"[{\"time\":\"2026-01-01T00:00:01.000000000Z\",\"pid\":4711,\"uid\":1000,\"command\":\"a \\\"b\\\"\\n\","
		"\"rss_bytes\":4187593114,\"anon_bytes\":4187593114,\"file_bytes\":0,\"shmem_bytes\":null}]\n");
	ASSERT_OK(parse(text, &back, &err));
	ASSERT_TEXT(format(&back), text);
	ASSERT_ERR(parse("[{\"pid\": -1}]", &none, &err), -EINVAL);
	ASSERT_EQ(none.count, (size_t)0); /* what is odd is not taken */
}

TEST(the_kernel_sides_pages_are_bytes_and_its_time_one_of_day)
{
	struct oom_kill_entry raw = { .killed_ns = 40 * SECOND,
				      .anon_pages = 3,
				      .file_pages = 2,
				      .shmem_pages = 1,
				      .pid = 17,
				      .uid = 5,
				      .has_pages = 1,
				      .command = "123456789012345" };
	struct oom_kill oom_kill = oom_kill_describe(&raw, 100 * SECOND, NOON, 4096);

	ASSERT_EQ(oom_kill.time_ns, NOON - 60 * SECOND);
	ASSERT_EQ(oom_kill.rss.number, (uint64_t)(6 * 4096));
	ASSERT_EQ(oom_kill.anon.number, (uint64_t)(3 * 4096));
	ASSERT_EQ(oom_kill.pid, 17);
	ASSERT_STREQ(oom_kill.command, "123456789012345");
	memset(raw.command, 'x', sizeof(raw.command));
	raw.has_pages = 0;
	oom_kill = oom_kill_describe(&raw, 100 * SECOND, NOON, 4096);
	ASSERT(!oom_kill.rss.is_known);
	ASSERT_STREQ(oom_kill.command, "xxxxxxxxxxxxxxxx");
}
