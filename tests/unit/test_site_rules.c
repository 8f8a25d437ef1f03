/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "cli/commands.h"
#include "basic/error.h"
#include "analysis/rules.h"
#include "cli/site_rules.h"
#include "test.h"
#include "typed.h"

#define NOBODY 65534
#define CHANGE "rules:\n  - id: cpu-low\n    thresholds: {enough: %s}\n"

/* "OUT/NAME"; the site's is named to commands, too. */
static const char *write_file(const char *name, const char *format, const char *threshold)
{
	const char *path = test_path(name);
	FILE *out;

	unlink(path); /* it may have been given away */
	out = fopen(path, "w");
	fprintf(out, format, threshold);
	fclose(out);
	chmod(path, 0644);
	return path;
}

static void write_site(const char *format, const char *threshold)
{
	setenv("JOBMETER_INSIGHTS", write_file("site.yaml", format, threshold), 1);
}

static void write_users(const char *format, const char *threshold)
{
	mkdir(test_path("jobmeter"), 0755);
	write_file("jobmeter/insights.yaml", format, threshold);
}

static void remove_users(void)
{
	unlink(test_path("jobmeter/insights.yaml"));
	unsetenv("JOBMETER_INSIGHTS");
}

static double enough_of(const struct rules *rules)
{
	for (size_t i = 0; i < rules->insights.count; i++) {
		if (strcmp(rules->insights.items[i].id, "cpu-low") == 0)
			return rules->insights.items[i].thresholds[0].amount.number;
	}
	return -1;
}

static double load(void)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct error err = {};

	setenv("XDG_CONFIG_HOME", test_dir(), 1);
	ASSERT_OK(site_rules_load(&cmd_report, NULL, &rules, &err));
	return enough_of(rules);
}

TEST(the_site_stands_above_what_is_built_in_and_the_user_above_the_site)
{
	write_site("# nothing%s\n", "");
	ASSERT(load() == 0.65);
	write_site(CHANGE, "50 %");
	ASSERT(load() == 0.5);
	write_users(CHANGE, "40 %");
	ASSERT(load() == 0.4);
	write_site("# nothing%s\n", "");
	ASSERT(load() == 0.4);
	remove_users();
}

TEST(a_broken_file_is_one_line_and_the_others_hold)
{
	const char *text;
	const char *line;

	write_site("rules:\n  - id: cpu-low\n    thresholds: {enuf: %s}\n", "5 %");
	write_users(CHANGE, "40 %");
	text = ASSERT_TYPED(cmd_report, CLI_WELL, "DATA/made-train.json",
			    "jobmeter report: a file of rules is ignored: /");
	line = strstr(
		text,
		"/site.yaml:3: thresholds: 'cpu-low' has no 'enuf'; it has enough, waiting\n");
	ASSERT(line != NULL);
	ASSERT(!strstr(line, "is ignored")); /* told once */
	ASSERT_LACKS(text, "2.1 of 4 cores were"); /* 53 % are enough for this user */
	ASSERT_TYPED(cmd_compare, CLI_WELL, "DATA/made-train.json DATA/made-train-before.json",
		     "jobmeter compare: a file of rules is ignored: ");
	remove_users();
}

TEST(reports_say_what_the_sites_rules_say)
{
	write_site("variables: {cores_wasted: cpu_allocated_cores - cores_busy}\nrules:\n  - id: "
		   "ours\n"
		   "    severity: critical\n    source: us\n    when: cores_wasted > %s\n"
		   "    text: \"{cores_wasted} cores were wasted.\"\n",
		   "1");
	ASSERT_TYPED(cmd_report, CLI_WELL, "DATA/made-train.json", "\n  1.9 cores were wasted.\n");
	ASSERT_TYPED(cmd_report, CLI_WELL, "--json DATA/made-train.json",
		     "\"evidence\": {\"cores_wasted\": 1.");
	ASSERT_TYPED(cmd_compare, CLI_WELL,
		     "--all DATA/made-train.json DATA/made-train-before.json", "cores wasted");
	remove_users();
}

TEST(a_file_that_others_may_write_to_is_not_read)
{
	write_site(CHANGE, "50 %");
	ASSERT_OK(chmod(getenv("JOBMETER_INSIGHTS"), 0666));
	ASSERT(load() == 0.65);
	ASSERT_TYPED(cmd_insights, CLI_WELL, "--list",
		     "is not read: others may write to it (chmod go-w)\n");
	ASSERT_OK(chmod(getenv("JOBMETER_INSIGHTS"), 0644));
	ASSERT(load() == 0.5);
	remove_users();
}

TEST(a_file_of_another_user_is_not_read)
{
	_cleanup_free_ char *text = NULL;

	write_site(CHANGE, "50 %");
	if (chown(getenv("JOBMETER_INSIGHTS"), NOBODY, NOBODY) == 0) { /* root only can give it away
									*/
		ASSERT(load() == 0.65);
		ASSERT_EQ(typed(&cmd_insights, "--list", &text), CLI_WELL);
		ASSERT_CONTAINS(text, "is not read: it is neither root's nor yours\n");
	}
	remove_users();
}

TEST(a_directory_and_an_endless_file_are_refused)
{
	setenv("JOBMETER_INSIGHTS", "/", 1);
	ASSERT_TYPED(cmd_insights, CLI_WELL, "--list", "cannot read '/': it is no plain file\n");
	ASSERT_TYPED(cmd_insights, CLI_FAILED, "--check /dev/zero",
		     "cannot read '/dev/zero': File too large\n");
	remove_users();
}

TEST(a_file_that_was_asked_for_must_be_there_and_right)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct error err = {};

	setenv("JOBMETER_INSIGHTS", "", 1);
	ASSERT_ERR(site_rules_load(&cmd_report, "/nonexistent/rules.yaml", &rules, &err), -ENOENT);
	ASSERT_CONTAINS(err.text, "cannot read '/nonexistent/rules.yaml'");
	ASSERT(!rules);
	remove_users();
}

TEST(the_score_is_by_what_the_site_bills)
{
	const char *text;

	write_site("billing: {'*': 'CPU=1,Mem=%s'}\n", "0.25G"); /* 4 cores, 16 GiB */
	text = ASSERT_TYPED(cmd_report, CLI_WELL, "DATA/made-train.json");
	ASSERT_CONTAINS(text, "score 36 of 100, as billed\n"); /* the mean of 53 and 19 */
	ASSERT_TYPED(cmd_insights, CLI_WELL, "DATA/made-train.json",
		     "\nbill        CPU=1,Mem=0.25G: cores 50 %, memory 50 %\n");
	ASSERT_TYPED(cmd_report, CLI_WELL, "--format markdown DATA/made-train.json",
		     ", score 36 of 100, as billed\n");
	ASSERT_TYPED(cmd_report, CLI_WELL, "--format html DATA/made-train.json",
		     " · score 36 of 100, as billed");
	remove_users();
}

TEST(the_example_is_right)
{
	ASSERT_TYPED(cmd_insights, CLI_WELL, "--check DATA/../../share/site-insights.yaml",
		     "site-insights.yaml: ok\nrules: 1 new, 2 changed, 1 disabled\n"
		     "classes: 0 new, 1 changed, 0 disabled\n"
		     "patterns: 0 new, 1 changed, 1 disabled\n"
		     "billing: 2 partitions\nvariables: 2\n");
}
