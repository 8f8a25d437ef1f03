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

static int jobs(const char *line, char **ret)
{
	setenv("TZ", "UTC", 1);
	return typed(&cmd_jobs, line, ret);
}

TEST(a_row_stands_in_columns)
{
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(jobs("--database DATA/made-train.json", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "ID      USER       NAME");
	ASSERT_CONTAINS(text, "\nmade-1  made-user  train.sh  "); /* its command */
	ASSERT_CONTAINS(text, "  2 m 14 s  ");
	ASSERT_LACKS(text, " \n"); /* no blanks at an end */
}

TEST(a_directory_is_a_list_newest_first)
{
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(jobs("--database DATA -o id,start,end --no-legend", &text), CLI_WELL);
	ASSERT(strstr(text, "2026-02-03 04:05:06") < strstr(text, "2026-02-02 04:05:06"));
	ASSERT(strstr(text, "2026-02-02 04:05:06") != NULL);
	ASSERT_LACKS(text, "ID");
}

TEST(columns_have_sacct_names_too)
{
	_cleanup_free_ char *ours = NULL, *theirs = NULL;

	ASSERT_EQ(jobs("--database DATA/made-train.json -o id,name,memory_peak,cores,read,cpu_time "
		       "-f csv",
		       &ours),
		  CLI_WELL);
	ASSERT_CONTAINS(ours, "id,name,memory_peak,cores,read,cpu_time\nmade-1,");
	ASSERT_EQ(jobs("--database DATA/made-train.json "
		       "-o JobID%20,jobname,MaxRSS,AllocCPUS,MaxDiskRead,TotalCPU --format=csv",
		       &theirs),
		  CLI_WELL);
	ASSERT_STREQ(theirs, ours);
}

TEST(a_column_may_be_any_number)
{
	_cleanup_free_ char *text = NULL, *table = NULL;

	ASSERT_EQ(
		jobs("--database DATA/made-train.json -f csv -o id,io.read.calls,tasks.rchar_bytes",
		     &text),
		CLI_WELL);
	ASSERT_CONTAINS(text, "id,io.read.calls,tasks.rchar_bytes\nmade-1,");
	ASSERT_EQ(jobs("--database DATA/made-train.json -o io.read.calls", &table), CLI_WELL);
	ASSERT_CONTAINS(table, "io.read.calls\n");
}

TEST(json_has_all_that_a_row_says)
{
	_cleanup_free_ char *json = NULL, *lines = NULL;

	ASSERT_EQ(jobs("--database DATA/made-train.json --json", &json), CLI_WELL);
	ASSERT_CONTAINS(json, "\"schema\": \"jobmeter.job_list/1\"");
	ASSERT_CONTAINS(json, "\"cpu_efficiency\": 0.");
	ASSERT_CONTAINS(json, "\"reason\": \"");
	ASSERT_CONTAINS(json, "\"io.read.bytes\": ");
	ASSERT_EQ(jobs("--database DATA -f ndjson", &lines), CLI_WELL);
	ASSERT_CONTAINS(lines, "{\"cluster\":");
	ASSERT_LACKS(lines, "schema");
}

TEST(names_of_others_steer_no_terminal)
{
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(jobs("--database DATA/made-nasty.json -o id,name,node", &text), CLI_WELL);
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
		_cleanup_free_ char *text = NULL;
		char line[300];

		snprintf(line, sizeof(line), "--database DATA -o id %s", rows[i].options);
		ASSERT_EQ(jobs(line, &text), CLI_WELL);
		ASSERT_EQ((int)i * 10 + (strstr(text, "made-0") != NULL),
			  (int)i * 10 + rows[i].has_before);
		ASSERT_EQ((int)i * 10 + (strstr(text, "made-3") != NULL),
			  (int)i * 10 + rows[i].has_storm);
	}
}

/* Another one of the same key, and not newer: a copy that somebody changed. */
TEST(a_record_that_a_directory_has_twice_is_said)
{
	_cleanup_free_ char *text = NULL, *record = test_data("made-train.json"), *dir = NULL;
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
	ASSERT_EQ(jobs("--database OUT/twice -o user --no-legend", &text), CLI_FAILED);
	ASSERT_CONTAINS(text, "/twice: another record has this key and sequence\n");
	ASSERT_CONTAINS(text, "made-user\n");
	ASSERT_LACKS(text, "MADE-user\n");
}

TEST(what_is_left_out_is_said)
{
	_cleanup_free_ char *none = NULL, *some = NULL, *quiet = NULL;

	ASSERT_EQ(jobs("--database DATA --name nothing", &none), CLI_WELL);
	ASSERT_CONTAINS(none, "jobmeter jobs: no job matches\n");
	ASSERT_EQ(jobs("--database DATA --limit 2", &some), CLI_WELL);
	ASSERT_CONTAINS(some, "jobmeter jobs: these are the newest 2 that match; '--limit' shows "
			      "more\n");
	ASSERT_EQ(jobs("--database DATA --limit 2 -f csv", &quiet), CLI_WELL);
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

static int report(const char *line, char **ret)
{
	return typed(&cmd_report, line, ret);
}

TEST(reports_take_a_job_of_a_database_by_its_id)
{
	_cleanup_free_ char *text = NULL, *none = NULL, *nothing = NULL, *of_node = NULL;

	ASSERT_EQ(report("made-0 --database DATA", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "train.sh   OK, 2 m 00 s");
	ASSERT_EQ(report("--database DATA made-99", &none), CLI_FAILED);
	ASSERT_CONTAINS(none, "jobmeter report: '" TEST_DATA "': there is no job 'made-99'\n");
	ASSERT_EQ(report("--database DATA", &nothing), CLI_FAILED);
	ASSERT_CONTAINS(nothing,
			"'--database', '--server' and '--cluster' go with the id of a job\n");
	ASSERT_EQ(report("run/made-0@made-node17 --database DATA", &of_node), CLI_WELL);
}

TEST(compare_and_insights_take_them_too)
{
	_cleanup_free_ char *compared = NULL, *insights = NULL;

	ASSERT_EQ(typed(&cmd_compare, "--database DATA made-0 made-4", &compared), CLI_WELL);
	ASSERT_CONTAINS(compared, "made-4");
	ASSERT_EQ(typed(&cmd_insights, "--database DATA made-0", &insights), CLI_WELL);
	ASSERT_CONTAINS(insights, "CPU efficiency ");
}
