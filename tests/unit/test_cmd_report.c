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

static int report(const char *line, char **ret)
{
	return typed(&cmd_report, line, ret);
}

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
	_cleanup_free_ char *printed = NULL, *data = test_data("made-long.json"),
			    *wanted = record_of(data);
	_cleanup_free_ char *record = NULL;

	ASSERT_EQ(report("--json DATA/made-long.json", &printed), CLI_WELL);
	record = record_of(printed);
	ASSERT_STREQ(record, wanted);
}

TEST(json_has_what_is_concluded)
{
	_cleanup_free_ char *printed = NULL;

	ASSERT_EQ(report("--json DATA/made-train.json", &printed), CLI_WELL);
	ASSERT_CONTAINS(printed, "\"classification\": {");
	ASSERT_CONTAINS(printed, "\"score\": 52.546642");
	ASSERT_CONTAINS(printed, "\"id\": \"memory-low\"");
	ASSERT_CONTAINS(printed, "\"directive\": \"#SBATCH --mem=4G\"");
}

TEST(with_a_file_only_its_name_is_printed)
{
	_cleanup_free_ char *printed = NULL, *quiet = NULL, *json = NULL, *text = NULL;
	char wrote[256];
	_cleanup_free_ char *data = test_data("made-train.json"), *wanted = record_of(data),
			    *record = NULL;

	ASSERT_EQ(report("DATA/made-train.json --output OUT/x.json", &printed), CLI_WELL);
	snprintf(wrote, sizeof(wrote), "wrote %s/x.json\n", test_dir());
	ASSERT_STREQ(printed, wrote);
	json = typed_contents("x.json");
	record = record_of(json);
	ASSERT_STREQ(record, wanted);
	ASSERT_EQ(report("DATA/made-train.json -q --output OUT/x.txt", &quiet), CLI_WELL);
	ASSERT_STREQ(quiet, "");
	text = typed_contents("x.txt");
	ASSERT_CONTAINS(text, "train.sh   OK, 2 m 14 s");
	ASSERT_LACKS(text, "page faults");
}

TEST(full_is_all_there_is)
{
	_cleanup_free_ char *full = NULL, *text = NULL;

	ASSERT_EQ(report("--full DATA/made-train.json", &full), CLI_WELL);
	ASSERT_CONTAINS(full, "\npage faults 1.2 M minor, 34 major\n");
	ASSERT_LACKS(full, "More: ");
	ASSERT_EQ(report("--full -q DATA/made-train.json --output OUT/x.txt", NULL), CLI_WELL);
	text = typed_contents("x.txt");
	ASSERT_STREQ(text, full);
}

TEST(the_file_of_that_name_is_the_standard_output)
{
	_cleanup_free_ char *plain = NULL, *text = NULL, *csv = NULL;

	ASSERT_EQ(report("DATA/made-train.json", &plain), CLI_WELL);
	ASSERT_EQ(report("DATA/made-train.json --output -", &text), CLI_WELL);
	ASSERT_STREQ(text, plain);
	ASSERT_EQ(report("DATA/made-train.json --output - --format csv", &csv), CLI_WELL);
	ASSERT_CONTAINS(csv, "cluster,node,");
	ASSERT_LACKS(csv, "core time");
	ASSERT(access("-", F_OK) < 0);
}

TEST(several_are_merged_or_stand_on_lines)
{
	_cleanup_free_ char *text = NULL, *json = NULL, *lines = NULL, *one = NULL, *csv = NULL;
	const char *both = "DATA/made-train.json DATA/made-train-before.json";
	char line[256];

	ASSERT_EQ(report(both, &text), CLI_WELL);
	ASSERT_CONTAINS(text, "merged from 2 records on 1 node; the time includes 23 h 58 m "
			      "between them\n");
	ASSERT_CONTAINS(text, "\nrecords     rank  node");
	snprintf(line, sizeof(line), "%s --json", both);
	ASSERT_EQ(report(line, &json), CLI_WELL);
	ASSERT_CONTAINS(json, "\"merged\": {\"records\": 2, \"nodes\": 1}");
	snprintf(line, sizeof(line), "%s -f ndjson --output OUT/x.ndjson -q", both);
	ASSERT_EQ(report(line, NULL), CLI_WELL);
	lines = typed_contents("x.ndjson");
	ASSERT_LACKS(lines, "merged");
	ASSERT_EQ(report("--merge -f ndjson OUT/x.ndjson", &one), CLI_WELL);
	ASSERT_CONTAINS(one, "\"merged\":{\"records\":2,\"nodes\":1},");
	ASSERT_EQ(report("-f csv OUT/x.ndjson", &csv), CLI_WELL);
	ASSERT_CONTAINS(csv, "\n,made-node17,");
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
	_cleanup_free_ char *train = NULL, *calm = NULL, *both = NULL, *misuse = NULL;

	ASSERT_EQ(report("--summary DATA/made-train.json", &train), CLI_WELL);
	ASSERT_EQ(count_lines(train), (size_t)5);
	ASSERT(strncmp(train, "jobmeter: train.sh   OK, 2 m 14 s   made-node17, 4 cores\n  ",
		       strlen("jobmeter: train.sh   OK, 2 m 14 s   made-node17, 4 cores\n  ")) ==
	       0);
	ASSERT_CONTAINS(train, " -> ");
	ASSERT_CONTAINS(train, "\n  CPU efficiency ");
	ASSERT_CONTAINS(train, "\n  Memory efficiency ");
	ASSERT_CONTAINS(train, "\n  More: jobmeter report --full ");
	ASSERT_EQ(report("--summary DATA/made-short.json", &calm), CLI_WELL);
	ASSERT_EQ(count_lines(calm), (size_t)5);
	ASSERT_CONTAINS(calm, "\n  true died of SIGSEGV. -> A core file");
	ASSERT_EQ(report("--summary DATA/made-train.json DATA/made-train-before.json", &both),
		  CLI_WELL);
	ASSERT_EQ(count_lines(both), (size_t)5);
	ASSERT_EQ(report("--summary --json DATA/made-train.json", &misuse), CLI_USAGE);
}

TEST(a_list_has_the_columns_that_are_wanted_and_nothing_else)
{
	const char *both = "DATA/made-train.json DATA/made-train-before.json";
	_cleanup_free_ char *text = NULL, *wrong = NULL, *file = NULL, *other = NULL;
	char line[256];

	snprintf(line, sizeof(line), "-o node,memory,elapsed %s", both);
	ASSERT_EQ(report(line, &text), CLI_WELL);
	ASSERT(strncmp(text, "  node         memory   elapsed\n", strlen("  node")) == 0);
	ASSERT_CONTAINS(text, "  made-node17  3.1 GiB  2 m 14 s\n");
	ASSERT_LACKS(text, "max");
	ASSERT_EQ(report("-o node,mem DATA/made-train.json", &wrong), CLI_USAGE);
	ASSERT_EQ(report("-o x.html DATA/made-train.json", &file), CLI_USAGE);
	ASSERT_EQ(report("-o node --json DATA/made-train.json", &other), CLI_USAGE);
}

TEST(ranks_have_the_least_the_mean_and_the_most)
{
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(report("DATA/made-train.json DATA/made-train-before.json", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "cores used   memory ");
	ASSERT_CONTAINS(text, "\n            min  ");
	ASSERT_CONTAINS(text, "\n            mean ");
	ASSERT_CONTAINS(text, "\n            max  ");
}

TEST(a_page_is_of_all_records_together)
{
	_cleanup_free_ char *printed = NULL, *text = NULL, *saved = NULL;

	ASSERT_EQ(report("-f html DATA/made-train.json DATA/made-train-before.json", &printed),
		  CLI_WELL);
	ASSERT_CONTAINS(printed, "<!DOCTYPE html>\n<html lang=\"en\">");
	ASSERT_CONTAINS(printed, "Merged from 2 records on 1 node; the time includes 23 h 58 m "
				 "between them.");
	ASSERT_EQ(report("DATA/made-train.json --output OUT/x.html", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "x.html\n");
	ASSERT_LACKS(text, "train.sh");
	saved = typed_contents("x.html");
	ASSERT_CONTAINS(saved, "<h1>./train.sh --epochs 3</h1>");
}

TEST(a_ticket_is_in_markdown)
{
	_cleanup_free_ char *printed = NULL, *saved = NULL;

	ASSERT_EQ(report("-f markdown DATA/made-train.json", &printed), CLI_WELL);
	ASSERT_CONTAINS(printed, "## ./train.sh --epochs 3\n\n**OK**, 2 m 14 s, made-node17");
	ASSERT_EQ(report("-q DATA/made-train.json --output OUT/x.md", NULL), CLI_WELL);
	saved = typed_contents("x.md");
	ASSERT_STREQ(saved, printed);
}

TEST(a_directory_is_all_its_records)
{
	_cleanup_free_ char *text = NULL, *twice = NULL;

	ASSERT_EQ(report("DATA", &text), CLI_WELL);
	ASSERT_LACKS(text, "left out");
	ASSERT_CONTAINS(text, "merged from 9 records");
	ASSERT_EQ(report("DATA DATA/made-train.json DATA/made-ways.json", &twice), CLI_WELL);
	ASSERT_CONTAINS(twice, "2 records are left out: ");
	ASSERT_CONTAINS(twice, "merged from 9 records");
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
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(report("--help", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "usage: jobmeter report [OPTION...] [FILE|DIR|ID...]\n");
	ASSERT_CONTAINS(text, "      --output FILE ");
	ASSERT_CONTAINS(text, "  -m, --merge ");
	ASSERT_CONTAINS(text, "      --full ");
	ASSERT_CONTAINS(text, "\nHow to read it:\n");
	ASSERT_CONTAINS(text, "\n  CPU efficiency\n      CPU time over (elapsed time x ");
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		if (strncmp(line, "      ", 6) == 0 && line[6] != '-')
			ASSERT(strcspn(line, "\n") <= 82); /* bytes: "≥" takes three */
	}
}
