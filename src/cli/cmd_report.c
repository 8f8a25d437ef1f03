/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "cli/arguments.h"
#include "basic/cleanup.h"
#include "basic/cli.h"
#include "cli/commands.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "cli/output.h"
#include "report/page.h"
#include "report/reading.h"
#include "codec/records.h"
#include "cli/report.h"
#include "analysis/rules.h"
#include "cli/site_rules.h"

struct settings {
	bool is_merged;
};

static const struct cli_option options[] = {
	{ "merge", 'm', NULL,
	  "merge all records into one (csv and ndjson keep them apart without it)",
	  offsetof(struct settings, is_merged), NULL },
};

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
	if (r < 0 || output_settle(&output, &err) < 0)
		return cli_misuse(command, &err);
	r = output_check(&output, &err);
	if (r == 0)
		r = arguments_read(command, &arguments, argc, argv, &records, &err);
	if (r == 0)
		r = site_rules_load(command, NULL, &rules, &err);
	output.rules = rules;
	if (r == 0)
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
		"that the agent of this node or the site's server knows: 123, slurm/123, and the part of it\n"
		"on one node 123@node17.  Several records, and those of a job on several nodes, are merged.\n",
	.terms = reading_terms,
	.run = run_report,
};
