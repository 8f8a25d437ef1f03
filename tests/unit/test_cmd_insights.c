/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "cli/commands.h"
#include "basic/macro.h"
#include "test.h"
#include "typed.h"

static int insights(const char *line, char **ret)
{
	return typed(&cmd_insights, line, ret);
}

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
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(insights("DATA/made-train.json", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "train.sh  2 m 14 s  CPU efficiency 53 %\n");
	ASSERT_CONTAINS(
		text,
		"warning     1.9 M reads of 4.2 KiB on /scratch took 39 % of the working time.");
	ASSERT_CONTAINS(text, "info        3.1 GiB of 16 GiB of memory were used. Ask for 4G.");
	ASSERT_CONTAINS(text, "not known   ");
	ASSERT_CONTAINS(text, "threads-uneven (threads_balance,");
}

TEST(markdown_is_for_tickets)
{
	_cleanup_free_ char *text = NULL, *saved = NULL;

	ASSERT_EQ(insights("--format markdown DATA/made-train.json", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "## train.sh\n\n2 m 14 s, CPU efficiency 53 %\n");
	ASSERT_CONTAINS(text, "\n- **warning**: 1.9 M reads of");
	ASSERT_CONTAINS(text, "`#SBATCH --mem=4G`");
	ASSERT_EQ(insights("-q --output OUT/x.md DATA/made-train.json", NULL), CLI_WELL);
	saved = typed_contents("x.md");
	ASSERT_STREQ(saved, text);
}

TEST(a_name_of_a_job_is_no_markdown)
{
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(insights("--format markdown DATA/made-nasty.json", &text), CLI_WELL);
	ASSERT_LACKS(text, "\x1b");
}

TEST(json_has_classes_efficiency_insights_and_what_is_unknown)
{
	_cleanup_free_ char *text = NULL;
	json_t *json;

	ASSERT_EQ(insights("--json DATA/made-train.json", &text), CLI_WELL);
	json = json_loads(text, 0, NULL);
	ASSERT_STREQ(json_string_value(json_object_get(json, "schema")), "jobmeter.insights/1");
	ASSERT(json_array_size(json_object_get(json, "insights")) == 2);
	ASSERT(json_array_size(json_object_get(json, "unknown")) == 20);
	ASSERT(json_is_object(json_object_get(json, "efficiency")));
	json_decref(json);
}

TEST(what_it_did_over_time_is_told)
{
	_cleanup_free_ char *text = NULL, *markdown = NULL, *document = NULL;
	json_t *json;

	ASSERT_EQ(insights("DATA/captured/checkpoints.json", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "\nphase       From 0 s to 11.7 s: 0.013 cores, read 18 MiB/s,");
	ASSERT_CONTAINS(text, "\ncheckpoints 14 bursts of writes, one each 5 s: 256 MiB in");
	ASSERT_EQ(insights("--format markdown DATA/captured/checkpoints.json", &markdown),
		  CLI_WELL);
	ASSERT_CONTAINS(markdown, "\n**Phase**: From 0 s to");
	ASSERT_EQ(insights("--json DATA/captured/checkpoints.json", &document), CLI_WELL);
	json = json_loads(document, 0, NULL);
	ASSERT(json_array_size(json_object_get(json, "patterns")) == 3);
	json_decref(json);
}

TEST(a_file_of_rules_stands_above_the_others)
{
	_cleanup_free_ char *text = NULL, *checked = NULL, *listed = NULL;

	write_rules("rules:\n  - id: ours\n    severity: critical\n    source: the site\n    when: "
		    "memory_usage > 10\n"
		    "    text: \"{memory_usage} of {memory_limit}\"\n");
	ASSERT_EQ(insights("--rules OUT/site.yaml DATA/made-train.json", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "critical    19 % of 16 GiB\n");
	ASSERT_CONTAINS(text, "of memory were used");
	ASSERT_EQ(insights("--check OUT/site.yaml", &checked), CLI_WELL);
	ASSERT_CONTAINS(checked, "/site.yaml: ok\nrules: 1 new, 0 changed, 0 disabled\n");
	ASSERT_EQ(insights("--rules OUT/site.yaml --list", &listed), CLI_WELL);
	ASSERT_CONTAINS(
		listed,
		"ours  critical\nwhen        memory_usage > 10\nat least    elapsed >= 1 s\nsource      the "
		"site\nmade in     /");
	ASSERT_CONTAINS(listed, "/site.yaml:2\n");
}

TEST(a_file_that_stands_alone_is_all_that_is_asked)
{
	_cleanup_free_ char *text = NULL;

	write_rules("alone: yes\nrules:\n  - id: ours\n    severity: critical\n    source: the "
		    "site\n    when: memory_usage > 10\n    text: \"{memory_usage}\"\n");
	ASSERT_EQ(insights("--rules OUT/site.yaml DATA/made-train.json", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "critical    19 %\n");
	ASSERT_LACKS(text, "of memory were used");
}

TEST(changes_are_listed_with_their_place)
{
	_cleanup_free_ char *checked = NULL, *listed = NULL, *names = NULL;

	write_rules("variables: {cores_wasted: cpu_allocated_cores - cores_busy}\nrules:\n  - id: "
		    "cpu-low\n    thresholds: {enough: 40 %}\n  - {id: serial, enabled: no}\n"
		    "classes:\n  - {id: cpu-bound, thresholds: {least: 60 %}}\n");
	ASSERT_EQ(insights("--check OUT/site.yaml", &checked), CLI_WELL);
	ASSERT_CONTAINS(checked,
			"rules: 0 new, 1 changed, 1 disabled\nclasses: 0 new, 1 changed, 0 "
			"disabled\nvariables: 1\n");
	ASSERT_EQ(insights("--rules OUT/site.yaml --list", &listed), CLI_WELL);
	ASSERT_CONTAINS(listed, "\nserial  info, disabled\n");
	ASSERT_CONTAINS(listed, "thresholds  enough = 40 %\n");
	ASSERT_CONTAINS(listed, "\nmade in     built-in insights.yaml:");
	ASSERT_CONTAINS(listed, "/site.yaml:3\n");
	ASSERT_EQ(insights("--rules OUT/site.yaml --names", &names), CLI_WELL);
	ASSERT_CONTAINS(names, "\ncores_wasted ");
	ASSERT_CONTAINS(names, "  cpu_allocated_cores - cores_busy\n");
}

TEST(broken_rules_are_told_with_their_line)
{
	_cleanup_free_ char *checked = NULL, *text = NULL;

	write_rules("rules:\n  - id: ours\n    when: memory > 10\n");
	ASSERT_EQ(insights("--check OUT/site.yaml", &checked), CLI_FAILED);
	ASSERT_CONTAINS(checked, "jobmeter insights: /");
	ASSERT_CONTAINS(checked, "/site.yaml:2: 'severity' is missing here\n");
	ASSERT_EQ(insights("--rules OUT/site.yaml DATA/made-train.json", &text), CLI_FAILED);
	ASSERT_STREQ(text, checked);
}

TEST(a_severity_can_be_a_failure)
{
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(insights("--fail-on critical DATA/made-train.json", NULL), CLI_WELL);
	ASSERT_EQ(insights("--fail-on warning DATA/made-train.json", &text), CLI_FOUND);
	ASSERT_CONTAINS(text, "jobmeter insights: warning: small-reads\n");
}

TEST(rules_and_names_are_listed)
{
	_cleanup_free_ char *rules = NULL, *names = NULL;

	ASSERT_EQ(insights("--list", &rules), CLI_WELL);
	ASSERT_CONTAINS(rules, "small-reads  warning, each mount\n");
	ASSERT_CONTAINS(rules, "thresholds  size = 16 KiB\n");
	ASSERT_CONTAINS(rules,
			"at least    elapsed >= 2 s\n            mount_read_calls >= 1000\n");
	ASSERT_EQ(insights("--names", &names), CLI_WELL);
	ASSERT_CONTAINS(names, "\nmemory_usage ");
	ASSERT_CONTAINS(names, "Peak memory over the limit");
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
