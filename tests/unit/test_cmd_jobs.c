/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "cli/commands.h"
#include "basic/macro.h"
#include "test.h"
#include "typed.h"

TEST(a_row_stands_in_columns)
{
	const char *text = ASSERT_TYPED(cmd_jobs, CLI_WELL, "--database DATA/made-train.json",
					"ID      USER       NAME", "  2 m 14 s  ");

	ASSERT_CONTAINS(text, "\nmade-1  made-user  train.sh  "); /* its command */
	ASSERT_LACKS(text, " \n"); /* no blanks at an end */
}

TEST(a_directory_is_a_list_newest_first)
{
	const char *text = ASSERT_TYPED(cmd_jobs, CLI_WELL,
					"--database DATA -o id,start,end --no-legend");

	ASSERT(strstr(text, "2026-02-03 04:05:06") < strstr(text, "2026-02-02 04:05:06"));
	ASSERT(strstr(text, "2026-02-02 04:05:06") != NULL);
	ASSERT_LACKS(text, "ID");
}

TEST(columns_have_sacct_names_too)
{
	const char *ours, *theirs;

	ours = ASSERT_TYPED(
		cmd_jobs, CLI_WELL,
		"--database DATA/made-train.json -o id,name,memory_peak,cores,read,cpu_time "
		"-f csv",
		"id,name,memory_peak,cores,read,cpu_time\nmade-1,");
	theirs = ASSERT_TYPED(
		cmd_jobs, CLI_WELL,
		"--database DATA/made-train.json "
		"-o JobID%20,jobname,MaxRSS,AllocCPUS,MaxDiskRead,TotalCPU --format=csv");
	ASSERT_STREQ(theirs, ours);
}

TEST(a_column_may_be_any_number)
{
	ASSERT_TYPED(cmd_jobs, CLI_WELL,
		     "--database DATA/made-train.json -f csv -o id,io.read.calls,tasks.rchar_bytes",
		     "id,io.read.calls,tasks.rchar_bytes\nmade-1,");
	ASSERT_TYPED(cmd_jobs, CLI_WELL, "--database DATA/made-train.json -o io.read.calls",
		     "io.read.calls\n");
}

TEST(json_has_all_that_a_row_says)
{
	const char *lines;

	ASSERT_TYPED(cmd_jobs, CLI_WELL, "--database DATA/made-train.json --json",
		     "\"schema\": \"jobmeter.job_list/1\"", "\"cpu_efficiency\": 0.",
		     "\"reason\": \"", "\"io.read.bytes\": ");
	lines = ASSERT_TYPED(cmd_jobs, CLI_WELL, "--database DATA -f ndjson", "{\"cluster\":");
	ASSERT_LACKS(lines, "schema");
}

TEST(names_of_others_steer_no_terminal)
{
	const char *text = ASSERT_TYPED(cmd_jobs, CLI_WELL,
					"--database DATA/made-nasty.json -o id,name,node");

	ASSERT_LACKS(text, "\x1b");
	ASSERT_LACKS(text, "\a");
}

TEST(filters_choose)
{
	static const struct row {
		const char *options;
		bool has_before, has_storm;
	} rows[] = {
		{ "", true, true },
		{ "--since 2026-02-03", false, true },
		{ "--until 2026-02-03", true, false },
		{ "--user made-user", true, true },
		{ "-u nobody-at-all", false, false },
		{ "--state COMPLETED", true, true },
		{ "--state failed", false, false },
		{ "--text MADE-3", false, true },
		{ "--name train.sh", true, false },
		{ "--limit 0", true, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char line[300];
		const char *text;

		snprintf(line, sizeof(line), "--database DATA -o id %s", rows[i].options);
		text = ASSERT_TYPED(cmd_jobs, CLI_WELL, line);
		ASSERT_EQ((int)i * 10 + (strstr(text, "made-0") != NULL),
			  (int)i * 10 + rows[i].has_before);
		ASSERT_EQ((int)i * 10 + (strstr(text, "made-3") != NULL),
			  (int)i * 10 + rows[i].has_storm);
	}
}

/* Another one of the same key, and not newer: a copy that somebody changed. */
TEST(a_record_that_a_directory_has_twice_is_said)
{
	_cleanup_free_ char *record = test_data("made-train.json"), *dir = NULL;
	const char *text;
	static const char *const names[] = { "a.json", "b.json" };

	ASSERT(asprintf(&dir, "%s/twice", test_dir()) > 0);
	ASSERT_OK(mkdir(dir, 0700));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[300];
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		file = fopen(path, "we");
		ASSERT(file != NULL);
		ASSERT(fputs(record, file) >= 0 && fclose(file) == 0);
		memcpy(strstr(record, "made-user"), "MADE", 4);
	}
	text = ASSERT_TYPED(cmd_jobs, CLI_FAILED, "--database OUT/twice -o user --no-legend",
			    "/twice: another record has this key and sequence\n", "made-user\n");
	ASSERT_LACKS(text, "MADE-user\n");
}

TEST(what_is_left_out_is_said)
{
	const char *quiet;

	ASSERT_TYPED(cmd_jobs, CLI_WELL, "--database DATA --name nothing",
		     "jobmeter jobs: no job matches\n");
	ASSERT_TYPED(cmd_jobs, CLI_WELL, "--database DATA --limit 2",
		     "jobmeter jobs: these are the newest 2 that match; '--limit' shows "
		     "more\n");
	quiet = ASSERT_TYPED(cmd_jobs, CLI_WELL, "--database DATA --limit 2 -f csv");
	ASSERT_LACKS(quiet, "newest");
}

TEST(what_is_wrong_is_told_in_a_line_with_its_code)
{
	/* clang-format off */
	static const struct typed_row rows[] = {
		{ "", CLI_FAILED, "jobmeter jobs: no server answers at '/nonexistent/server.sock': No such file or directory\n" },
		{ "123", CLI_USAGE, "jobmeter jobs: unexpected argument '123'; 'jobmeter report 123' prints one job\n" },
		{ "-o id,nmae", CLI_USAGE, "there is no column 'nmae'; did you mean 'name'?\n" },
		{ "-o", CLI_USAGE, "needs its LIST" },
		{ "--since yesterday", CLI_USAGE, "'yesterday' is no time" },
		{ "--limit many", CLI_USAGE, "'--limit' is a number of jobs, not 'many'\n" },
		{ "-a -u x", CLI_USAGE, "'--all' and '--user' exclude each other\n" },
		{ "--format html", CLI_USAGE, "this command has no html output\n" },
		{ "--database /nonexistent", CLI_FAILED, "cannot read '/nonexistent': No such file or directory\n" },
		{ "--database DATA/made-train.txt", CLI_FAILED, "made-train.txt: line 1: " },
	};
	/* clang-format on */

	typed_rows(&cmd_jobs, rows, ARRAY_SIZE(rows));
}

TEST(reports_take_a_job_of_a_database_by_its_id)
{
	ASSERT_TYPED(cmd_report, CLI_WELL, "made-0 --database DATA", "train.sh   OK, 2 m 00 s");
	ASSERT_TYPED(cmd_report, CLI_FAILED, "--database DATA made-99",
		     "jobmeter report: '" TEST_DATA "': there is no job 'made-99'\n");
	ASSERT_TYPED(cmd_report, CLI_FAILED, "--database DATA",
		     "'--database', '--server' and '--cluster' go with the id of a job\n");
	ASSERT_TYPED(cmd_report, CLI_WELL, "run/made-0@made-node17 --database DATA");
}

TEST(compare_and_insights_take_them_too)
{
	ASSERT_TYPED(cmd_compare, CLI_WELL, "--database DATA made-0 made-4", "made-4");
	ASSERT_TYPED(cmd_insights, CLI_WELL, "--database DATA made-0", "CPU efficiency ");
}
