/* SPDX-License-Identifier: MIT */
#include "cli/watch_target.h"

#include <errno.h>
#include <string.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "test.h"

TEST(ids_stand_alone_or_behind_their_manager)
{
	struct watch_targets t = {};

	ASSERT_OK(watch_targets_parse("123,slurm/124,units/a/b.slice,run/7 \"\xff\n", &t, NULL));
	ASSERT_EQ((uint64_t)t.count, (uint64_t)4);
	ASSERT(!t.items[0].manager);
	ASSERT_STREQ(t.items[0].id, "123");
	ASSERT_STREQ(t.items[1].manager, "slurm");
	ASSERT_STREQ(t.items[1].id, "124");
	ASSERT_STREQ(t.items[2].manager, "units");
	ASSERT_STREQ(t.items[2].id, "a/b.slice");
	ASSERT_STREQ(t.items[3].id, "7 \"\xff\n");
	watch_targets_clear(&t);
}

TEST(an_empty_part_is_refused)
{
	static const char *const texts[] = { "",  ",",	    "1,", ",1",	 "1,,2",
					     "/", "slurm/", "/1", "1,/2" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct watch_targets t = {};
		struct error err = {};

		ASSERT_ERR(watch_targets_parse(texts[i], &t, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, "a job is ID or MANAGER/ID");
		ASSERT_EQ((uint64_t)t.count, (uint64_t)0);
	}
}

TEST(so_many_and_no_more)
{
	char text[2 * WATCH_TARGETS_MAX + 2] = "";
	struct watch_targets t = {};
	struct error err = {};

	for (size_t i = 0; i < WATCH_TARGETS_MAX; i++)
		strcat(text, i ? ",1" : "1");
	ASSERT_OK(watch_targets_parse(text, &t, NULL));
	watch_targets_clear(&t);
	strcat(text, ",1");
	ASSERT_ERR(watch_targets_parse(text, &t, &err), -E2BIG);
	ASSERT_EQ((uint64_t)t.count, (uint64_t)0);
}

TEST(a_step_stands_behind_the_last_point)
{
	ASSERT_STREQ(watch_find_step("123.0"), "0");
	ASSERT_STREQ(watch_find_step("123.batch"), "batch");
	ASSERT_STREQ(watch_find_step("1.server.2"), "2");
	ASSERT(!watch_find_step("123"));
	ASSERT(!watch_find_step("123."));
	ASSERT(!watch_find_step(".0"));
	ASSERT(!watch_find_step(""));
}

static int choose(const char *text, size_t *ret, struct error *err)
{
	static const struct watch_candidate candidates[] = { { "run", "7" },
							     { "slurm", "7" },
							     { "slurm", "8.0" } };
	struct watch_targets t = {};
	int r = watch_targets_parse(text, &t, err);

	if (r == 0)
		r = watch_target_choose(&t.items[0], candidates, ARRAY_SIZE(candidates), ret, err);
	watch_targets_clear(&t);
	return r;
}

TEST(one_that_several_managers_have_must_be_named_whole)
{
	struct error err = {};
	size_t chosen = 9;

	ASSERT_ERR(choose("7", &chosen, &err), -ENOTUNIQ);
	ASSERT_STREQ(err.text,
		     "'7' is more than one job: run/7, slurm/7; name one with its manager");
	ASSERT_OK(choose("slurm/7", &chosen, &err));
	ASSERT_EQ((uint64_t)chosen, (uint64_t)1);
	ASSERT_OK(choose("8.0", &chosen, &err));
	ASSERT_EQ((uint64_t)chosen, (uint64_t)2);
}

TEST(an_unknown_one_is_told_with_what_there_is)
{
	static const struct watch_candidate many[9] = { { "a", "1" }, { "a", "2" }, { "a", "3" },
							{ "a", "4" }, { "a", "5" }, { "a", "6" },
							{ "a", "7" }, { "a", "8" }, { "a", "9" } };
	char id[] = "10";
	struct watch_target target = { .id = id };
	struct error err = {};
	size_t chosen;

	ASSERT_ERR(choose("pbs/7", &chosen, &err), -ENOENT);
	ASSERT_STREQ(err.text,
		     "there is no job 'pbs/7' of yours here; there are run/7, slurm/7, slurm/8.0");
	ASSERT_ERR(watch_target_choose(&target, many, 0, &chosen, &err), -ENOENT);
	ASSERT_STREQ(err.text, "there is no job '10' of yours here; there are none");
	ASSERT_ERR(watch_target_choose(&target, many, 9, &chosen, &err), -ENOENT);
	ASSERT_CONTAINS(err.text, "a/8 and 1 more");
}
