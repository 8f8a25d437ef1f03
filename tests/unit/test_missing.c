/* SPDX-License-Identifier: MIT */
#include "load/hooks.h"

#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "load/losses.h"
#include "model/record.h"
#include "test.h"

#define NO_FENTRY "this kernel offers no fentry"
#define WHERE "file system of path operations"

static void switch_off(struct hook *hook, const char *why)
{
	hook->is_on = false;
	snprintf(hook->why, sizeof(hook->why), "%s", why);
}

/* clang-format off */
static const struct hook all_on[] = {
	{ "T2",  "enter", "tp_btf/sys_enter", "operations on files", .is_on = true },
	{ "T2+", "see",   "fentry/security_see", WHERE, .is_on = true },
	{ "T2+", "hear",  "fentry/security_hear", WHERE, .is_on = true },
	{ "T2+", "smell", "fentry/security_smell", WHERE, .is_on = true },
	{ "T2+", "start", "fentry/aio_start", "bytes by libaio", .is_on = true },
	{ "T2+", "end",   "fentry/aio_end", "bytes by libaio", .is_on = true },
};
/* clang-format on */
enum { ENTER, SEE, HEAR, SMELL, START, END, HOOKS };

/* What is missing of T2+, a line each. */
static const char *list(const struct hook *hooks)
{
	static char text[1024];
	_cleanup_(strings_clear) struct strings found = {};

	text[0] = '\0';
	ASSERT_OK(missing_list(hooks, HOOKS, "T2+", &found));
	for (size_t i = 0; i < found.count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\n", found.items[i]);
	return text;
}

TEST(nothing_is_missing_where_all_hooks_of_the_tier_are_on)
{
	struct hook hooks[HOOKS];

	memcpy(hooks, all_on, sizeof(hooks));
	switch_off(&hooks[ENTER], "not permitted");
	ASSERT_STREQ(list(hooks), "");
}

TEST(one_reason_is_told_once_with_all_that_it_takes)
{
	struct hook hooks[HOOKS];

	memcpy(hooks, all_on, sizeof(hooks));
	for (size_t i = SEE; i < HOOKS; i++)
		switch_off(&hooks[i], NO_FENTRY);
	ASSERT_STREQ(list(hooks), WHERE ", bytes by libaio: " NO_FENTRY "\n");
}

TEST(where_other_hooks_give_the_same_those_that_are_off_are_named)
{
	struct hook hooks[HOOKS];

	memcpy(hooks, all_on, sizeof(hooks));
	switch_off(&hooks[SEE], "has no such function");
	switch_off(&hooks[SMELL], "has no such function");
	switch_off(&hooks[END], "has no such function");
	ASSERT_STREQ(list(hooks),
		     WHERE " (security_see, security_smell), bytes by libaio (aio_end): "
			   "has no such function\n");
}

TEST(reasons_stand_apart)
{
	struct hook hooks[HOOKS];

	memcpy(hooks, all_on, sizeof(hooks));
	switch_off(&hooks[SEE], "one");
	switch_off(&hooks[HEAR], "two");
	switch_off(&hooks[SMELL], "one");
	ASSERT_STREQ(list(hooks), WHERE ": one\n" WHERE ": two\n");
}

TEST(one_loss_is_singular)
{
	static const struct {
		enum lost_reason reason;
		uint64_t count;
		const char *text;
	} rows[] = {
		{ LOST_TASK, 2, "2 ended tasks not counted, since the table of tasks was full" },
		{ LOST_TASK, 1, "1 ended task not counted, since the table of tasks was full" },
		{ LOST_LIBAIO, 1,
		  "1 libaio request not counted, since their results cannot be seen here" },
		{ LOST_MOVE, 1, "1 process moved with their threads' earlier use" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(record_freep) struct record *r = record_new();
		struct losses losses = {};

		losses.counts[rows[i].reason] = rows[i].count;
		ASSERT_OK(losses_describe(&losses, r));
		ASSERT_STREQ(r->coverage.missing.count ? r->coverage.missing.items[0]
						       : r->coverage.notes.items[0],
			     rows[i].text);
		ASSERT_EQ(r->coverage.lost_events, rows[i].count);
	}
}
