/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <string.h>

#include "cli/commands.h"
#include "basic/macro.h"
#include "test.h"
#include "typed.h"

#define PAIR "DATA/made-train-before.json DATA/made-train.json"

TEST(it_begins_with_what_everybody_asks)
{
	const char *text;
	const char *elapsed, *cpu, *read;

	text = ASSERT_TYPED(cmd_compare, CLI_WELL, PAIR, "train.sh  ");
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
	const char *text = ASSERT_TYPED(cmd_compare, CLI_WELL,
					"DATA/made-train.json DATA/made-train.json", " same\n");

	ASSERT(!strstr(text, "_"));
	ASSERT_TYPED(cmd_compare, CLI_WELL, "--all DATA/made-train.json DATA/made-train.json",
		     "core seconds");
}

TEST(formats_have_all_numbers)
{
	const char *json;
	json_t *root;

	json = ASSERT_TYPED(cmd_compare, CLI_WELL, "--json " PAIR " DATA/made-long.json");
	root = json_loads(json, 0, NULL);
	ASSERT_STREQ(json_string_value(json_object_get(root, "schema")), "jobmeter.comparison/1");
	ASSERT(json_array_size(json_object_get(root, "compared")) == 2);
	json_decref(root);
	ASSERT_TYPED(cmd_compare, CLI_WELL, "-f csv " PAIR,
		     "record,name,mount,before,after,difference,ratio\n",
		     ",cpu_allocated_cores,,4,4,0,1\n");
	ASSERT_TYPED(cmd_compare, CLI_WELL, "-f markdown " PAIR,
		     "| elapsed | 2 m 00 s | 2 m 14 s | +14.5 s | +12 % |\n");
}

TEST(a_condition_that_holds_is_exit_code_3)
{
	ASSERT_TYPED(cmd_compare, CLI_FOUND, "-q --fail-on elapsed>1.1x " PAIR,
		     "made-train.json: 'elapsed>1.1x' holds: elapsed_seconds is 2 m 14 s, "
		     "1.12 times the 2 m 00 s before\n");
	ASSERT_TYPED(cmd_compare, CLI_WELL, "--fail-on elapsed>1.2x " PAIR);
	ASSERT_TYPED(cmd_compare, CLI_FAILED, "--fail-on lost_lock_share>1.1x " PAIR,
		     "whether 'lost_lock_share>1.1x' is not known: lost_lock_share\n");
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
	ASSERT_TYPED(cmd_compare, CLI_FAILED, "DATA/made-train.json nope",
		     "there is no file, directory or local run 'nope'\n");
}
