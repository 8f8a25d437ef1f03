/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdio.h>

#include "basic/cleanup.h"
#include "cli/commands.h"
#include "basic/macro.h"
#include "test.h"
#include "typed.h"

static void write_rules(const char *text)
{
	const char *path = test_path("site.yaml");
	FILE *out;

	out = fopen(path, "w");
	fputs(text, out);
	fclose(out);
}

TEST(what_stands_out_is_told_with_numbers)
{
	ASSERT_TYPED(
		cmd_insights, CLI_WELL, "DATA/made-train.json",
		"train.sh  2 m 14 s  CPU efficiency 53 %\n",
		"warning     1.9 M reads of 4.2 KiB on /scratch took 39 % of the working time.",
		"info        3.1 GiB of 16 GiB of memory were used. Ask for 4G.", "not known   ",
		"threads-uneven (threads_balance,");
}

TEST(markdown_is_for_tickets)
{
	const char *text = ASSERT_TYPED(cmd_insights, CLI_WELL,
					"--format markdown DATA/made-train.json",
					"## train.sh\n\n2 m 14 s, CPU efficiency 53 %\n",
					"\n- **warning**: 1.9 M reads of", "`#SBATCH --mem=4G`");

	ASSERT_TYPED(cmd_insights, CLI_WELL, "-q --output OUT/x.md DATA/made-train.json");
	ASSERT_TEXT(typed_contents("x.md"), text);
}

TEST(a_name_of_a_job_is_no_markdown)
{
	const char *text = ASSERT_TYPED(cmd_insights, CLI_WELL,
					"--format markdown DATA/made-nasty.json");

	ASSERT_LACKS(text, "\x1b");
}

TEST(json_has_classes_efficiency_insights_and_what_is_unknown)
{
	const char *text;
	json_t *json;

	text = ASSERT_TYPED(cmd_insights, CLI_WELL, "--json DATA/made-train.json");
	json = json_loads(text, 0, NULL);
	ASSERT_STREQ(json_string_value(json_object_get(json, "schema")), "jobmeter.insights/1");
	ASSERT(json_array_size(json_object_get(json, "insights")) == 2);
	ASSERT(json_array_size(json_object_get(json, "unknown")) == 20);
	ASSERT(json_is_object(json_object_get(json, "efficiency")));
	json_decref(json);
}

TEST(what_it_did_over_time_is_told)
{
	const char *document;
	json_t *json;

	ASSERT_TYPED(cmd_insights, CLI_WELL, "DATA/captured/checkpoints.json",
		     "\nphase       From 0 s to 11.7 s: 0.013 cores, read 18 MiB/s,",
		     "\ncheckpoints 14 bursts of writes, one each 5 s: 256 MiB in");
	ASSERT_TYPED(cmd_insights, CLI_WELL, "--format markdown DATA/captured/checkpoints.json",
		     "\n**Phase**: From 0 s to");
	document = ASSERT_TYPED(cmd_insights, CLI_WELL, "--json DATA/captured/checkpoints.json");
	json = json_loads(document, 0, NULL);
	ASSERT(json_array_size(json_object_get(json, "patterns")) == 3);
	json_decref(json);
}

TEST(a_file_of_rules_stands_above_the_others)
{
	write_rules("rules:\n  - id: ours\n    severity: critical\n    source: the site\n    when: "
		    "memory_usage > 10\n"
		    "    text: \"{memory_usage} of {memory_limit}\"\n");
	ASSERT_TYPED(cmd_insights, CLI_WELL, "--rules OUT/site.yaml DATA/made-train.json",
		     "critical    19 % of 16 GiB\n", "of memory were used");
	ASSERT_TYPED(cmd_insights, CLI_WELL, "--check OUT/site.yaml",
		     "/site.yaml: ok\nrules: 1 new, 0 changed, 0 disabled\n");
	ASSERT_TYPED(
		cmd_insights, CLI_WELL, "--rules OUT/site.yaml --list",
		"ours  critical\nwhen        memory_usage > 10\nat least    elapsed >= 1 s\nsource      the "
		"site\nmade in     /",
		"/site.yaml:2\n");
}

TEST(a_file_that_stands_alone_is_all_that_is_asked)
{
	const char *text;

	write_rules("alone: yes\nrules:\n  - id: ours\n    severity: critical\n    source: the "
		    "site\n    when: memory_usage > 10\n    text: \"{memory_usage}\"\n");
	text = ASSERT_TYPED(cmd_insights, CLI_WELL, "--rules OUT/site.yaml DATA/made-train.json",
			    "critical    19 %\n");
	ASSERT_LACKS(text, "of memory were used");
}

TEST(changes_are_listed_with_their_place)
{
	write_rules("variables: {cores_wasted: cpu_allocated_cores - cores_busy}\nrules:\n  - id: "
		    "cpu-low\n    thresholds: {enough: 40 %}\n  - {id: serial, enabled: no}\n"
		    "classes:\n  - {id: cpu-bound, thresholds: {least: 60 %}}\n");
	ASSERT_TYPED(cmd_insights, CLI_WELL, "--check OUT/site.yaml",
		     "rules: 0 new, 1 changed, 1 disabled\nclasses: 0 new, 1 changed, 0 "
		     "disabled\nvariables: 1\n");
	ASSERT_TYPED(cmd_insights, CLI_WELL, "--rules OUT/site.yaml --list",
		     "\nserial  info, disabled\n", "thresholds  enough = 40 %\n",
		     "\nmade in     built-in insights.yaml:", "/site.yaml:3\n");
	ASSERT_TYPED(cmd_insights, CLI_WELL, "--rules OUT/site.yaml --names", "\ncores_wasted ",
		     "  cpu_allocated_cores - cores_busy\n");
}

TEST(broken_rules_are_told_with_their_line)
{
	const char *checked, *text;

	write_rules("rules:\n  - id: ours\n    when: memory > 10\n");
	checked = ASSERT_TYPED(cmd_insights, CLI_FAILED, "--check OUT/site.yaml",
			       "jobmeter insights: /",
			       "/site.yaml:2: 'severity' is missing here\n");
	text = ASSERT_TYPED(cmd_insights, CLI_FAILED, "--rules OUT/site.yaml DATA/made-train.json");
	ASSERT_STREQ(text, checked);
}

TEST(a_severity_can_be_a_failure)
{
	ASSERT_TYPED(cmd_insights, CLI_WELL, "--fail-on critical DATA/made-train.json");
	ASSERT_TYPED(cmd_insights, CLI_FOUND, "--fail-on warning DATA/made-train.json",
		     "jobmeter insights: warning: small-reads\n");
}

TEST(rules_and_names_are_listed)
{
	ASSERT_TYPED(cmd_insights, CLI_WELL, "--list", "small-reads  warning, each mount\n",
		     "thresholds  size = 16 KiB\n",
		     "at least    elapsed >= 2 s\n            mount_read_calls >= 1000\n");
	ASSERT_TYPED(cmd_insights, CLI_WELL, "--names", "\nmemory_usage ",
		     "Peak memory over the limit");
}

TEST(wrong_usage_is_one_line)
{
	/* clang-format off */
	static const struct typed_row rows[] = {
		{ "--list --names", CLI_USAGE, "'--list', '--names' and '--check' exclude each other\n" },
		{ "--list DATA/made-train.json", CLI_USAGE, "unexpected argument" },
		{ "--list --json", CLI_USAGE, "rules have text output only\n" },
		{ "-f csv DATA/made-train.json", CLI_USAGE, "no csv output\n" },
		{ "--fail-on bad", CLI_USAGE, "there is no severity 'bad'; there are info, warning and critical\n" },
	};
	/* clang-format on */

	typed_rows(&cmd_insights, rows, ARRAY_SIZE(rows));
}
