/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <string.h>

#include "basic/cleanup.h"
#include "cli/commands.h"
#include "basic/macro.h"
#include "test.h"
#include "typed.h"

#define PAIR "DATA/made-train-before.json DATA/made-train.json"

static int compare(const char *line, char **ret)
{
	return typed(&cmd_compare, line, ret);
}

TEST(it_begins_with_what_everybody_asks)
{
	_cleanup_free_ char *text = NULL;
	const char *elapsed, *cpu, *read;

	ASSERT_EQ(compare(PAIR, &text), CLI_WELL);
	ASSERT_CONTAINS(text, "train.sh  ");
	elapsed = strstr(text, " elapsed ");
	cpu = strstr(text, " CPU time ");
	read = strstr(text, " read ");
	ASSERT(elapsed && cpu && read && elapsed < cpu && cpu < read);
	ASSERT_CONTAINS(elapsed, "2 m 00 s    2 m 14 s ");
	ASSERT_CONTAINS(elapsed, " +14.5 s   +12 %");
	ASSERT_CONTAINS(read, "read rate ");
	ASSERT(!strstr(read, "read rate /scratch")); /* which did all of it */
	ASSERT_CONTAINS(read, "\n  In short: ");
	ASSERT_LACKS(strstr(read, "\n  In short: "), "; --all shows"); /* it is the last word */
	ASSERT(!strstr(text, "knows_causes"));
}

TEST(of_a_record_and_itself_only_the_first_numbers_are_shown)
{
	_cleanup_free_ char *text = NULL, *all = NULL;

	ASSERT_EQ(compare("DATA/made-train.json DATA/made-train.json", &text), CLI_WELL);
	ASSERT_CONTAINS(text, " same\n");
	ASSERT(!strstr(text, "_"));
	ASSERT_EQ(compare("--all DATA/made-train.json DATA/made-train.json", &all), CLI_WELL);
	ASSERT_CONTAINS(all, "core seconds");
}

TEST(formats_have_all_numbers)
{
	_cleanup_free_ char *json = NULL, *csv = NULL, *markdown = NULL;
	json_t *root;

	ASSERT_EQ(compare("--json " PAIR " DATA/made-long.json", &json), CLI_WELL);
	root = json_loads(json, 0, NULL);
	ASSERT_STREQ(json_string_value(json_object_get(root, "schema")), "jobmeter.comparison/1");
	ASSERT(json_array_size(json_object_get(root, "compared")) == 2);
	json_decref(root);
	ASSERT_EQ(compare("-f csv " PAIR, &csv), CLI_WELL);
	ASSERT_CONTAINS(csv, "record,name,mount,before,after,difference,ratio\n");
	ASSERT_CONTAINS(csv, ",cpu_allocated_cores,,4,4,0,1\n");
	ASSERT_EQ(compare("-f markdown " PAIR, &markdown), CLI_WELL);
	ASSERT_CONTAINS(markdown, "| elapsed | 2 m 00 s | 2 m 14 s | +14.5 s | +12 % |\n");
}

TEST(a_condition_that_holds_is_exit_code_3)
{
	_cleanup_free_ char *text = NULL, *unknown = NULL, *none = NULL;

	ASSERT_EQ(compare("-q --fail-on elapsed>1.1x " PAIR, &text), CLI_FOUND);
	ASSERT_CONTAINS(text, "made-train.json: 'elapsed>1.1x' holds: elapsed_seconds is 2 m 14 s, "
			      "1.12 times the 2 m 00 s before\n");
	ASSERT_EQ(compare("--fail-on elapsed>1.2x " PAIR, &none), CLI_WELL);
	ASSERT_EQ(compare("--fail-on lost_lock_share>1.1x " PAIR, &unknown), CLI_FAILED);
	ASSERT_CONTAINS(unknown, "whether 'lost_lock_share>1.1x' is not known: lost_lock_share\n");
}

TEST(wrong_usage_is_one_line)
{
	/* clang-format off */
	static const struct typed_row rows[] = {
		{ "", CLI_USAGE, "needs two records or more\n" },
		{ "DATA/made-train.json", CLI_USAGE, "needs two records or more\n" },
		{ "--fail-on elapsd>1.1x " PAIR, CLI_USAGE, "--fail-on: column 1: there is no name 'elapsd'" },
		{ "--fail-on elapsed " PAIR, CLI_USAGE, "--fail-on: column 1: a condition must stand here" },
	};
	/* clang-format on */

	typed_rows(&cmd_compare, rows, ARRAY_SIZE(rows));
}

TEST(a_record_that_is_not_there_fails)
{
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(compare("DATA/made-train.json nope", &text), CLI_FAILED);
	ASSERT_CONTAINS(text, "there is no file, directory or local run 'nope'\n");
}
