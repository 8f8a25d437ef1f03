/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments.h"
#include "basic/cleanup.h"
#include "basic/cli.h"
#include "cli/commands.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "cli/output.h"
#include "report/page.h"
#include "report/html_report.h"
#include "codec/records.h"
#include "report/reports.h"
#include "analysis/rules.h"
#include "cli/moment.h"
#include "cli/site_report.h"
#include "cli/site_rules.h"

struct settings {
	struct site_report_options site;
	bool is_merged, is_summary;
	struct report_columns columns;
};

static int find_column(const char *name, size_t *ret, struct error *err)
{
	const char *known;

	for (size_t i = 0; (known = report_column_name(i)); i++) {
		if (strcmp(name, known) == 0) {
			*ret = i;
			return 0;
		}
	}
	if (strchr(name, '.') || strchr(name, '/'))
		return error_set(err, -EINVAL,
				 "'-o' is for columns; a file is named by '--output %s'", name);
	return error_set(err, -EINVAL,
			 "there is no column '%s'; there are rank, node, elapsed, cpu, cores, "
			 "memory, read, written",
			 name);
}

static int parse_columns(const char *text, void *at, struct error *err)
{
	_cleanup_free_ char *copy = strdup(text);
	struct report_columns columns = {};
	char *rest = copy, *name;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (name = strsep(&rest, ","))) {
		if (columns.count == REPORT_COLUMNS_MAX)
			return error_set(err, -EINVAL, "more than %d columns are too many",
					 REPORT_COLUMNS_MAX);
		r = find_column(name, &columns.items[columns.count++], err);
	}
	if (r == 0)
		*(struct report_columns *)at = columns;
	return r == -ENOMEM ? error_set_errno(err, r, "cannot take the columns") : r;
}

static const char *column_word(const void *target, size_t i)
{
	(void)target;
	return report_column_name(i);
}

static const struct cli_option options[] = {
	{ "summary", 0, NULL, "print five lines, for the end of a job's output",
	  offsetof(struct settings, is_summary), NULL },
	{ "columns", 'o', "LIST", "list the records, a line each, with these columns",
	  offsetof(struct settings, columns), parse_columns, column_word },
	{ "merge", 'm', NULL,
	  "merge all records into one (csv and ndjson keep them apart without it)",
	  offsetof(struct settings, is_merged), NULL },
	{ "type", 't', "TYPE", "report on the jobs of the site in the last 7 days",
	  offsetof(struct settings, site.type), site_report_parse_type, site_report_type_word },
	{ "since", 'S', "TIME", "with --type: jobs that ran then or later",
	  offsetof(struct settings, site.filter.since_ns), moment_parse_argument },
	{ "until", 'E', "TIME", "with --type: jobs that began before then",
	  offsetof(struct settings, site.filter.until_ns), moment_parse_argument },
	{ "user", 'u', "USER", "with --type: jobs of this user",
	  offsetof(struct settings, site.filter.user), NULL },
	{ "account", 'A', "ACCOUNT", "with --type: jobs that this account is charged for",
	  offsetof(struct settings, site.filter.account), NULL },
	{ "cluster", 0, "NAME", "jobs of this cluster, and an ID is looked for in the server alone",
	  offsetof(struct settings, site.filter.cluster), NULL },
};

static bool is_short(const struct settings *s)
{
	return s->is_summary || s->columns.count;
}

/* Which of both reports it is. */
static int check_site(const struct settings *s, int argc, char **argv, struct error *err)
{
	const struct job_filter of_id = { .cluster = s->site.filter.cluster };

	if (!s->site.type && memcmp(&s->site.filter, &of_id, sizeof(of_id)) != 0)
		return error_set(err, -EINVAL,
				 "'--since', '--until', '--user' and '--account' go with '--type'");
	if (s->site.type && (argc > 0 || is_short(s) || s->is_merged))
		return error_set(err, -EINVAL, "'--type' is of many jobs: it goes with no '%s'",
				 argc > 0	? argv[0]
				 : s->is_merged ? "--merge"
						: "-o' or '--summary");
	return 0;
}

static int print(const struct output *output, struct records *records, bool is_merged,
		 struct error *err)
{
	bool is_printed = output->format == OUTPUT_TEXT && !output->file && !output->is_quiet;
	_cleanup_(sheet_clear) struct sheet sheet = {};
	int r = 0;

	if (is_printed) {
		r = sheet_open(stdout, &sheet);
		if (r < 0)
			return error_set_errno(err, r, "cannot print the report");
		sheet.page.is_full = output->is_full;
		r = report_print(records, output->rules, &sheet.page, err);
	}
	if (r == 0 && (output_is_of_one(output) || (is_merged && output->format != OUTPUT_TEXT)))
		r = arguments_merge(records, err);
	if (r == 0 && output->file)
		r = output_save(output, records, err);
	if (r < 0)
		return r;
	if (output->file && !output->is_quiet)
		fprintf(stderr, "wrote %s\n", output->file);
	if (sheet.page.out)
		r = sheet_print(&sheet);
	else if (!output->file && output->format != OUTPUT_TEXT)
		r = output_write(output, records, stdout);
	if (r == 0 && fflush(stdout) != 0)
		r = -errno;
	return r < 0 ? error_set_errno(err, r, "cannot write to the standard output") : 0;
}

/* Short forms on the standard output: a line a record, or five lines of all of them. */
static int print_short(const struct settings *s, struct records *records, const struct rules *rules,
		       struct error *err)
{
	_cleanup_(sheet_clear) struct sheet sheet = {};
	int r = s->is_summary ? arguments_merge(records, err) : 0;

	if (r < 0)
		return r;
	r = sheet_open(stdout, &sheet);
	if (r == 0) {
		if (s->is_summary)
			summary_text(records->items[0], rules, &sheet.page);
		else
			report_list(records, &s->columns, &sheet.page);
		r = sheet_print(&sheet);
	}
	if (r == 0 && fflush(stdout) != 0)
		r = -errno;
	return r < 0 ? error_set_errno(err, r, "cannot write to the standard output") : 0;
}

/* What goes with these. */
static int check_short(const struct settings *s, const struct output *output, struct error *err)
{
	const char *option = s->is_summary ? "--summary" : "-o";

	if (!is_short(s))
		return 0;
	if (s->is_summary && s->columns.count)
		return error_set(err, -EINVAL, "'--summary' and '-o' exclude each other");
	if (output->format == OUTPUT_TEXT && !output->file && !output->is_full && !s->is_merged)
		return 0;
	return error_set(err, -EINVAL,
			 "'%s' prints text: it goes with no file, no other format, '--full' or "
			 "'--merge'",
			 option);
}

static int run_report(const struct cli_command *command, int argc, char **argv)
{
	_cleanup_(arguments_clear) struct arguments arguments = {};
	struct settings settings = {};
	struct output output = { .has_markdown = true, .has_html = true };
	const struct cli_options groups[] = {
		{ output_options, output_option_count, &output },
		{ options, ARRAY_SIZE(options), &settings },
		{ arguments_options, arguments_option_count, &arguments },
	};
	_cleanup_(records_clear) struct records records = {};
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct error err = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r < 0 || output_settle(&output, &err) < 0 ||
	    check_short(&settings, &output, &err) < 0 ||
	    check_site(&settings, argc, argv, &err) < 0)
		return cli_misuse(command, &err);
	r = output_check(&output, &err);
	if (r == 0 && settings.site.type) {
		r = site_report_print(command, &settings.site, arguments.database, &output,
				      &arguments.exit_code, &err);
		return r < 0 ? cli_fail(command, &err) : arguments.exit_code;
	}
	arguments.cluster = settings.site.filter.cluster;
	if (r == 0)
		r = arguments_read(command, &arguments, argc, argv, &records, &err);
	if (r == 0)
		r = site_rules_load(command, NULL, &rules, &err);
	output.rules = rules;
	if (r == 0 && is_short(&settings))
		r = print_short(&settings, &records, rules, &err);
	else if (r == 0)
		r = print(&output, &records, settings.is_merged, &err);
	return r < 0 ? cli_fail(command, &err) : arguments.exit_code;
}

const struct cli_command cmd_report = {
	.name = "report",
	.arguments = "[OPTION...] [FILE|DIR|ID...]",
	.summary =
		"Print a record, or several merged into one; without an argument the last local run",
	.details =
		"A directory means all *.json in it, '-' the standard input, an ID a local run, or a job\n"
		"of this node's agent or the site's server: 123, slurm/123, or 123@node17 for its part on one\n"
		"node.  Several records, and those of a job on several nodes, are merged.  --type reports on\n"
		"all jobs of the site that you may see.\n",
	.terms = reading_terms,
	.run = run_report,
};
