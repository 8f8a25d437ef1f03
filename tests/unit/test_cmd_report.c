/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "commands.h"
#include "file.h"
#include "macro.h"
#include "test.h"

#define ARGUMENTS_MAX 16

/* Run 'report' with the words of @format, which may hold DATA and OUT for folders; what it printed
 * to either stream is *ret (may be NULL).  Returns the exit code. */
static int report(const char *line, char **ret)
{
	_cleanup_free_ char *copy = strdup(line);
	char *argv[ARGUMENTS_MAX] = { "report" }, *save = NULL, words[ARGUMENTS_MAX][300],
	     path[300];
	int argc = 1, saved[2] = { dup(1), dup(2) }, fd, code;

	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		bool is_data = strncmp(word, "DATA", 4) == 0, is_out = strncmp(word, "OUT", 3) == 0;

		snprintf(words[argc], sizeof(words[argc]), "%s%s",
			 is_data  ? TEST_DATA
			 : is_out ? test_folder()
				  : "",
			 word + (is_data  ? 4
				 : is_out ? 3
					  : 0));
		argv[argc] = words[argc];
		argc++;
	}
	setenv("XDG_STATE_HOME", test_folder(), 1);
	snprintf(path, sizeof(path), "%s/printed", test_folder());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fflush(stdout);
	dup2(fd, 1);
	dup2(fd, 2);
	close(fd);
	code = cmd_report.run(&cmd_report, argc, argv);
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		dup2(saved[i], i + 1);
		close(saved[i]);
	}
	if (ret)
		ASSERT_OK(file_read(AT_FDCWD, path, 1 << 20, ret, NULL));
	return code;
}

static char *contents(const char *name)
{
	char path[300], *text = NULL;

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	ASSERT_OK(file_read(AT_FDCWD, path, 1 << 20, &text, NULL));
	return text;
}

TEST(json_of_one_record_is_the_record)
{
	_cleanup_free_ char *printed = NULL, *wanted = test_data("made-long.json");

	ASSERT_EQ(report("--json DATA/made-long.json", &printed), CLI_WELL);
	ASSERT_STREQ(printed, wanted);
}

TEST(text_is_for_people_also_beside_a_file)
{
	_cleanup_free_ char *printed = NULL, *quiet = NULL, *json = NULL, *text = NULL;
	_cleanup_free_ char *wanted = test_data("made-train.json");

	ASSERT_EQ(report("DATA/made-train.json --output OUT/x.json", &printed), CLI_WELL);
	ASSERT_CONTAINS(printed, "train.sh  exit 0  2 m 14 s");
	json = contents("x.json");
	ASSERT_STREQ(json, wanted);
	ASSERT_EQ(report("DATA/made-train.json -q --output OUT/x.txt", &quiet), CLI_WELL);
	ASSERT_STREQ(quiet, "");
	text = contents("x.txt");
	ASSERT_CONTAINS(text, "train.sh  exit 0  2 m 14 s");
}

TEST(several_are_merged_or_stand_on_lines)
{
	_cleanup_free_ char *text = NULL, *json = NULL, *lines = NULL, *one = NULL, *csv = NULL;
	const char *both = "DATA/made-train.json DATA/made-train-before.json";
	char line[256];

	ASSERT_EQ(report(both, &text), CLI_WELL);
	ASSERT_CONTAINS(text, "merged from 2 records on 1 node\n");
	ASSERT_CONTAINS(text, "\nrecords     rank  node");
	snprintf(line, sizeof(line), "%s --json", both);
	ASSERT_EQ(report(line, &json), CLI_WELL);
	ASSERT_CONTAINS(json, "\"merged\": {\"records\": 2, \"nodes\": 1}");
	snprintf(line, sizeof(line), "%s -f ndjson --output OUT/x.ndjson -q", both);
	ASSERT_EQ(report(line, NULL), CLI_WELL);
	lines = contents("x.ndjson");
	ASSERT_LACKS(lines, "merged");
	ASSERT_EQ(report("--merge -f ndjson OUT/x.ndjson", &one), CLI_WELL);
	ASSERT_CONTAINS(one, "\"merged\":{\"records\":2,\"nodes\":1}}\n");
	ASSERT_EQ(report("-f csv OUT/x.ndjson", &csv), CLI_WELL);
	ASSERT_CONTAINS(csv, "\n,made-node17,");
}

TEST(a_folder_is_all_its_records)
{
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(report("DATA", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "merged from 8 records");
}

TEST(what_is_broken_is_told_in_a_line_with_its_code)
{
	static const struct row {
		const char *line;
		int code;
		const char *text;
	} rows[] = {
		{ "--jsn", CLI_USAGE,
		  "jobmeter report: there is no option '--jsn'; did you mean '--json'?\n" },
		{ "-f csv --json", CLI_USAGE,
		  "jobmeter report: '--json' and another '--format' exclude each other\n" },
		{ "nope", CLI_FAILED,
		  "jobmeter report: there is no file, folder or local run 'nope'\n" },
		{ "./nope", CLI_FAILED,
		  "jobmeter report: cannot read './nope': No such file or directory\n" },
		{ "", CLI_FAILED, "jobmeter report: there is no local run yet" },
		{ "DATA/made-train.json --output /nonexistent/x.json", CLI_FAILED,
		  "jobmeter report: cannot write '/nonexistent/x.json': No such file or "
		  "directory\n" },
		{ "DATA/made-train.txt", CLI_FAILED, "made-train.txt: line 1: " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = NULL;

		ASSERT_EQ(report(rows[i].line, &text), rows[i].code);
		ASSERT_CONTAINS(text, rows[i].text);
	}
}

TEST(help_lists_every_option)
{
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(report("--help", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "usage: jobmeter report [OPTION...] [FILE|FOLDER|ID...]\n");
	ASSERT_CONTAINS(text, "      --output FILE ");
	ASSERT_CONTAINS(text, "  -m, --merge ");
}
