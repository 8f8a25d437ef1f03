/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "cli/commands.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "made.h"
#include "codec/records.h"
#include "test.h"
#include "typed.h"

/* The record of a text that may say more. */
static char *record_of(const char *text)
{
	_cleanup_(records_clear) struct records records = {};
	struct error err = {};

	ASSERT_OK(records_parse(text, strlen(text), "printed", &records, &err));
	return made_json(records.items[0]);
}

TEST(json_of_one_record_is_the_record)
{
	_cleanup_free_ char *data = test_data("made-long.json"), *wanted = record_of(data);
	const char *printed;

	printed = ASSERT_TYPED(cmd_report, CLI_WELL, "--json DATA/made-long.json");
	ASSERT_TEXT(record_of(printed), wanted);
}

TEST(json_has_what_is_concluded)
{
	ASSERT_TYPED(cmd_report, CLI_WELL, "--json DATA/made-train.json", "\"classification\": {",
		     "\"score\": 52.546642", "\"id\": \"memory-low\"",
		     "\"directive\": \"#SBATCH --mem=4G\"");
}

TEST(with_a_file_only_its_name_is_printed)
{
	_cleanup_free_ char *json = NULL, *text = NULL;
	const char *printed, *quiet;
	char wrote[256];
	_cleanup_free_ char *data = test_data("made-train.json"), *wanted = record_of(data);

	printed = ASSERT_TYPED(cmd_report, CLI_WELL, "DATA/made-train.json --output OUT/x.json");
	snprintf(wrote, sizeof(wrote), "wrote %s/x.json\n", test_dir());
	ASSERT_STREQ(printed, wrote);
	json = typed_contents("x.json");
	ASSERT_TEXT(record_of(json), wanted);
	quiet = ASSERT_TYPED(cmd_report, CLI_WELL, "DATA/made-train.json -q --output OUT/x.txt");
	ASSERT_STREQ(quiet, "");
	text = typed_contents("x.txt");
	ASSERT_CONTAINS(text, "train.sh   OK, 2 m 14 s");
	ASSERT_LACKS(text, "page faults");
}

TEST(full_is_all_there_is)
{
	const char *full = ASSERT_TYPED(cmd_report, CLI_WELL, "--full DATA/made-train.json",
					"\npage faults 1.2 M minor, 34 major\n");

	ASSERT_LACKS(full, "More: ");
	ASSERT_TYPED(cmd_report, CLI_WELL, "--full -q DATA/made-train.json --output OUT/x.txt");
	ASSERT_TEXT(typed_contents("x.txt"), full);
}

TEST(the_file_of_that_name_is_the_standard_output)
{
	const char *plain, *text, *csv;

	plain = ASSERT_TYPED(cmd_report, CLI_WELL, "DATA/made-train.json");
	text = ASSERT_TYPED(cmd_report, CLI_WELL, "DATA/made-train.json --output -");
	ASSERT_STREQ(text, plain);
	csv = ASSERT_TYPED(cmd_report, CLI_WELL, "DATA/made-train.json --output - --format csv",
			   "cluster,node,");
	ASSERT_LACKS(csv, "core time");
	ASSERT(access("-", F_OK) < 0);
}

TEST(several_are_merged_or_stand_on_lines)
{
	const char *both = "DATA/made-train.json DATA/made-train-before.json";
	char line[256];

	ASSERT_TYPED(cmd_report, CLI_WELL, both,
		     "merged from 2 records on 1 node; the time includes 23 h 58 m "
		     "between them\n",
		     "\nrecords     rank  node");
	snprintf(line, sizeof(line), "%s --json", both);
	ASSERT_TYPED(cmd_report, CLI_WELL, line, "\"merged\": {\"records\": 2, \"nodes\": 1}");
	snprintf(line, sizeof(line), "%s -f ndjson --output OUT/x.ndjson -q", both);
	ASSERT_TYPED(cmd_report, CLI_WELL, line);
	ASSERT_UNTOLD(typed_contents("x.ndjson"), "merged");
	ASSERT_TYPED(cmd_report, CLI_WELL, "--merge -f ndjson OUT/x.ndjson",
		     "\"merged\":{\"records\":2,\"nodes\":1},");
	ASSERT_TYPED(cmd_report, CLI_WELL, "-f csv OUT/x.ndjson", "\n,made-node17,");
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

TEST(a_summary_is_five_lines)
{
	const char *train, *calm, *both;

	train = ASSERT_TYPED(cmd_report, CLI_WELL, "--summary DATA/made-train.json", " -> ",
			     "\n  CPU efficiency ", "\n  Memory efficiency ",
			     "\n  More: jobmeter report --full ");
	ASSERT_EQ(count_lines(train), (size_t)5);
	ASSERT(strncmp(train, "jobmeter: train.sh   OK, 2 m 14 s   made-node17, 4 cores\n  ",
		       strlen("jobmeter: train.sh   OK, 2 m 14 s   made-node17, 4 cores\n  ")) ==
	       0);
	calm = ASSERT_TYPED(cmd_report, CLI_WELL, "--summary DATA/made-short.json",
			    "\n  true died of SIGSEGV. -> A core file");
	ASSERT_EQ(count_lines(calm), (size_t)5);
	both = ASSERT_TYPED(cmd_report, CLI_WELL,
			    "--summary DATA/made-train.json DATA/made-train-before.json");
	ASSERT_EQ(count_lines(both), (size_t)5);
	ASSERT_TYPED(cmd_report, CLI_USAGE, "--summary --json DATA/made-train.json");
}

TEST(a_list_has_the_columns_that_are_wanted_and_nothing_else)
{
	const char *both = "DATA/made-train.json DATA/made-train-before.json";
	const char *text;
	char line[256];

	snprintf(line, sizeof(line), "-o node,memory,elapsed %s", both);
	text = ASSERT_TYPED(cmd_report, CLI_WELL, line, "  made-node17  3.1 GiB  2 m 14 s\n");
	ASSERT(strncmp(text, "  node         memory   elapsed\n", strlen("  node")) == 0);
	ASSERT_LACKS(text, "max");
	ASSERT_TYPED(cmd_report, CLI_USAGE, "-o node,mem DATA/made-train.json");
	ASSERT_TYPED(cmd_report, CLI_USAGE, "-o x.html DATA/made-train.json");
	ASSERT_TYPED(cmd_report, CLI_USAGE, "-o node --json DATA/made-train.json");
}

TEST(ranks_have_the_least_the_mean_and_the_most)
{
	ASSERT_TYPED(cmd_report, CLI_WELL, "DATA/made-train.json DATA/made-train-before.json",
		     "cores used   memory ", "\n            min  ", "\n            mean ",
		     "\n            max  ");
}

TEST(a_page_is_of_all_records_together)
{
	const char *text;

	ASSERT_TYPED(cmd_report, CLI_WELL,
		     "-f html DATA/made-train.json DATA/made-train-before.json",
		     "<!DOCTYPE html>\n<html lang=\"en\">",
		     "Merged from 2 records on 1 node; the time includes 23 h 58 m "
		     "between them.");
	text = ASSERT_TYPED(cmd_report, CLI_WELL, "DATA/made-train.json --output OUT/x.html",
			    "x.html\n");
	ASSERT_LACKS(text, "train.sh");
	ASSERT_TOLD(typed_contents("x.html"), "<h1>./train.sh --epochs 3</h1>");
}

TEST(a_ticket_is_in_markdown)
{
	const char *printed =
		ASSERT_TYPED(cmd_report, CLI_WELL, "-f markdown DATA/made-train.json",
			     "## ./train.sh --epochs 3\n\n**OK**, 2 m 14 s, made-node17");

	ASSERT_TYPED(cmd_report, CLI_WELL, "-q DATA/made-train.json --output OUT/x.md");
	ASSERT_TEXT(typed_contents("x.md"), printed);
}

TEST(a_directory_is_all_its_records)
{
	const char *text = ASSERT_TYPED(cmd_report, CLI_WELL, "DATA", "merged from 9 records");

	ASSERT_LACKS(text, "left out");
	ASSERT_TYPED(cmd_report, CLI_WELL, "DATA DATA/made-train.json DATA/made-ways.json",
		     "2 records are left out: ", "merged from 9 records");
}

TEST(what_is_broken_is_told_in_a_line_with_its_code)
{
	/* clang-format off */
	static const struct typed_row rows[] = {
		{ "--jsn", CLI_USAGE, "jobmeter report: there is no option '--jsn'; did you mean '--json'?\n" },
		{ "-f csv --json", CLI_USAGE, "jobmeter report: '--json' and another '--format' exclude each other\n" },
		{ "nope", CLI_FAILED, "jobmeter report: there is no file, directory or local run 'nope'\n" },
		{ "./nope", CLI_FAILED, "jobmeter report: cannot read './nope': No such file or directory\n" },
		{ "", CLI_FAILED, "jobmeter report: there is no local run yet" },
		{ "DATA/made-train.json --output /nonexistent/x.json", CLI_FAILED, "jobmeter report: cannot write '/nonexistent/x.json': No such file or directory\n" },
		{ "DATA/made-train.txt", CLI_FAILED, "made-train.txt: line 1: " },
	};
	/* clang-format on */

	typed_rows(&cmd_report, rows, ARRAY_SIZE(rows));
}

TEST(help_lists_every_option)
{
	const char *text = ASSERT_TYPED(cmd_report, CLI_WELL, "--help",
					"usage: jobmeter report [OPTION...] [FILE|DIR|ID...]\n",
					"      --output FILE ", "  -m, --merge ", "      --full ",
					"\nHow to read it:\n",
					"\n  CPU efficiency\n      CPU time over (elapsed time x ");

	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		if (strncmp(line, "      ", 6) == 0 && line[6] != '-')
			ASSERT(strcspn(line, "\n") <= 82); /* bytes: "≥" takes three */
	}
}
