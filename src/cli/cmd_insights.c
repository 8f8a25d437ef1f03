/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "cli/arguments.h"
#include "basic/cleanup.h"
#include "basic/cli.h"
#include "cli/commands.h"
#include "model/document.h"
#include "basic/error.h"
#include "cli/insights_text.h"
#include "basic/macro.h"
#include "cli/output.h"
#include "report/page.h"
#include "codec/records.h"
#include "cli/site_rules.h"

#define INSIGHTS_SCHEMA "jobmeter.insights/1"

struct settings {
	const char *rules, *checked;
	bool is_list, is_names;
	int fail_on; /* an enum severity and 1; 0: none */
};

static int parse_severity(const char *text, void *at, struct error *err)
{
	for (int i = SEVERITY_INFO; i <= SEVERITY_CRITICAL; i++) {
		if (strcmp(severity_name((enum severity)i), text) == 0) {
			*(int *)at = i + 1;
			return 0;
		}
	}
	return error_set(err, -EINVAL,
			 "there is no severity '%s'; there are info, warning and critical", text);
}

static const char *severity_word(const void *target, size_t i)
{
	(void)target;
	return i <= SEVERITY_CRITICAL ? severity_name((enum severity)i) : NULL;
}

#define AT(member) offsetof(struct settings, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "rules", 0, "FILE", "add the rules of FILE; they override all others", AT(rules), NULL },
	{ "list", 'l', NULL, "list the rules with their conditions, sources and files", AT(is_list), NULL },
	{ "names", 0, NULL, "list the names that rules may use", AT(is_names), NULL },
	{ "check", 0, "FILE", "check a file of rules and print what is wrong in which line", AT(checked), NULL },
	{ "fail-on", 0, "SEVERITY", "exit with 3 if an insight is at least as severe", AT(fail_on), parse_severity, severity_word },
};
/* clang-format on */

/* ---- of a record ---- */

/* What is written, and how it came to be. */
struct finding {
	const struct record *record;
	struct analysis analysis;
};

static int write_document(const struct output *output, const struct finding *finding, FILE *out)
{
	_cleanup_(document_freep) struct document *d = output_new_document(output, out);
	const struct record *record = finding->record;

	if (!d)
		return -ENOMEM;
	document_begin_map(d);
	document_put_string(d, "schema", INSIGHTS_SCHEMA);
	document_begin_flat_map_of(d, "job");
	document_put_string(d, "manager", record->job.manager);
	document_put_string(d, "id", record->job.id);
	document_put_string(d, "name", record->job.name);
	document_end_map(d);
	analysis_format(&finding->analysis, d);
	document_key(d, "unknown");
	insights_format_unknown(&finding->analysis.insights, d);
	document_end_map(d);
	return document_finish(d);
}

static int write_finding(const struct output *output, const void *what, FILE *out,
			 struct error *err)
{
	const struct finding *finding = what;
	struct page page = page_for(out);
	int r = 0;

	if (output->format == OUTPUT_TEXT)
		insights_text(finding->record, &finding->analysis, &page);
	else if (output->format == OUTPUT_MARKDOWN)
		insights_markdown(finding->record, &finding->analysis, out);
	else
		r = write_document(output, finding, out);
	return output_end(out, r, "insights", err);
}

/* -ENOTRECOVERABLE: what was asked for was found. */
static int check_severity(const struct settings *settings, const struct insights *insights,
			  struct error *err)
{
	const struct rule *first = insights->count ? insights->items[0].rule : NULL;

	if (!settings->fail_on || !first || (int)first->severity + 1 < settings->fail_on)
		return 0;
	return error_set(err, -ENOTRECOVERABLE, "%s: %s", severity_name(first->severity),
			 first->id);
}

static int tell(const struct settings *settings, const struct output *output,
		const struct rules *rules, const struct record *record, struct error *err)
{
	struct finding finding = { .record = record };
	int r = analysis_make(rules, record, &finding.analysis);

	if (r < 0)
		return error_set_errno(err, r, "cannot ask the rules");
	r = output_print_by(output, write_finding, &finding, err);
	if (r == 0)
		r = check_severity(settings, &finding.analysis.insights, err);
	analysis_clear(&finding.analysis);
	return r;
}

static int tell_records(const struct cli_command *command, const struct settings *settings,
			struct arguments *arguments, const struct output *output, int argc,
			char **argv, struct error *err)
{
	_cleanup_(records_clear) struct records records = {};
	_cleanup_(rules_freep) struct rules *rules = NULL;
	int r = site_rules_load(command, settings->rules, &rules, err);

	if (r == 0)
		r = arguments_read(command, arguments, argc, argv, &records, err);
	if (r == 0)
		r = arguments_merge(&records, err);
	if (r == 0)
		r = tell(settings, output, rules, records.items[0], err);
	return r < 0 ? r : arguments->exit_code;
}

/* ---- of the rules ---- */

static int check(const char *path, struct error *err)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	int r = site_rules_check(path, &rules, err);

	if (r == 0)
		insights_count(rules, path);
	return r;
}

static int list(const struct cli_command *command, const struct settings *settings,
		struct error *err)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct page page = page_for(stdout);
	int r = site_rules_load(command, settings->rules, &rules, err);

	if (r == 0)
		insights_list(rules, &page);
	return r;
}

static int list_names(const struct cli_command *command, const struct settings *settings,
		      struct error *err)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct page page = page_for(stdout);
	int r = site_rules_load(command, settings->rules, &rules, err);

	if (r == 0)
		insights_list_names(rules->variables, &page);
	return r;
}

static int check_usage(const struct settings *settings, int argc, char **argv,
		       struct output *output, struct error *err)
{
	bool is_of_rules = settings->is_list || settings->is_names || settings->checked;

	if (settings->is_list + settings->is_names + !!settings->checked > 1)
		return error_set(err, -EINVAL,
				 "'--list', '--names' and '--check' exclude each other");
	if (is_of_rules && argc > 0)
		return error_set(err, -EINVAL, "unexpected argument '%s'", argv[0]);
	if (output_settle(output, err) < 0)
		return -EINVAL;
	if (is_of_rules && (output->format != OUTPUT_TEXT || output->file))
		return error_set(err, -EINVAL, "rules have text output only");
	return 0;
}

static int run_insights(const struct cli_command *command, int argc, char **argv)
{
	_cleanup_(arguments_clear) struct arguments arguments = {};
	struct settings settings = {};
	struct output output = { .has_markdown = true, .no_csv = "insights has no csv output" };
	const struct cli_options groups[] = {
		{ output_options, output_document_option_count, &output },
		{ options, ARRAY_SIZE(options), &settings },
		{ arguments_options, arguments_option_count, &arguments },
	};
	struct error err = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r < 0 || check_usage(&settings, argc, argv, &output, &err) < 0)
		return cli_misuse(command, &err);
	r = output_check(&output, &err);
	if (r < 0)
		return cli_fail(command, &err);
	if (settings.checked)
		r = check(settings.checked, &err);
	else if (settings.is_list)
		r = list(command, &settings, &err);
	else if (settings.is_names)
		r = list_names(command, &settings, &err);
	else
		r = tell_records(command, &settings, &arguments, &output, argc, argv, &err);
	if (r == -ENOTRECOVERABLE)
		return cli_found(command, &err);
	return r < 0 ? cli_fail(command, &err) : r;
}

const struct cli_command cmd_insights = {
	.name = "insights",
	.arguments = "[OPTION...] [FILE|DIR|ID...]",
	.summary = "Print all findings on a record, with their numbers and advice",
	.details =
		"Without an argument: the last local run.  Several records are merged into one.\n"
		"/etc/jobmeter/insights.yaml and ~/.config/jobmeter/insights.yaml change the built-in rules\n"
		"for all commands; jobmeter-insights.yaml(5) explains the language.\n",
	.run = run_insights,
};
