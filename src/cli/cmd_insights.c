/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "cli/arguments.h"
#include "basic/cleanup.h"
#include "basic/cli.h"
#include "cli/commands.h"
#include "model/document.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "cli/output.h"
#include "report/page.h"
#include "codec/records.h"
#include "cli/site_rules.h"
#include "analysis/billing.h"
#include "report/headline.h"
#include "report/shade.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "model/rows.h"
#include "report/rows_markdown.h"
#include "report/rows_text.h"

/* ---- insights and rules for people ---- */

#define NAME_WIDTH 42
#define LOST_SHARE_MIN 0.005 /* of the core time: less is not worth a word */

static void add_billing(const struct efficiency *e, struct rows *rows)
{
	if (!e->billing)
		return;
	rows_line(rows, ROWS_TEXT, "bill", "%s", e->billing->text);
	for (size_t i = 0; i < RESOURCE_COUNT; i++) {
		if (e->parts[i].is_known)
			rows_say(rows, i ? ", " : ": ", "%s %s", resource_name(i),
				 amount_format(e->parts[i], DIMENSION_SHARE).text);
	}
	for (size_t i = 0; i < e->billing->left_out_count; i++)
		rows_say(rows, i ? ", " : "; not measured: ", "%s", e->billing->left_out[i]);
}

static void say_hours(const char *what, double seconds, const struct core_time *t,
		      struct rows *rows)
{
	if (seconds >= LOST_SHARE_MIN * t->core)
		rows_say(rows, ", ", "%s %s (%s)", what,
			 amount_format(amount_of(seconds), DIMENSION_SECONDS).text,
			 amount_format(amount_of(seconds / t->core), DIMENSION_SHARE).text);
}

/* Core hours that were lost, by cause; nothing where that is not known. */
static void add_lost(const struct core_time *t, struct rows *rows)
{
	if (!t->has_causes || t->core <= 0)
		return;
	rows_begin(rows, ROWS_TEXT, "core time");
	say_hours(shade_on_cpu.label, t->on_cpu, t, rows);
	for (size_t cause = 0; cause < LOST_COUNT; cause++)
		say_hours(shade_of_cause(cause)->label, t->lost[cause], t, rows);
	say_hours(shade_idle.label, t->idle, t, rows);
}

static struct rows *rows_of(const struct analysis *analysis)
{
	struct rows *rows = rows_new();
	const struct classes *classes = &analysis->classes;
	const struct insights *insights = &analysis->insights;

	add_billing(&analysis->efficiency, rows);
	rows_begin(rows, ROWS_ALL, "class");
	for (size_t i = 0; i < classes->count; i++)
		rows_say(rows, ", ", "%s %s", classes->items[i].rule->id,
			 amount_format(classes->items[i].share, DIMENSION_SHARE).text);
	add_lost(&analysis->efficiency.core_time, rows);
	findings_rows(analysis, true, ROWS_ALL, rows);
	for (size_t i = 0; i < analysis->patterns->count; i++) {
		_cleanup_free_ char *text = pattern_text(analysis->patterns,
							 &analysis->patterns->items[i]);

		rows_line(rows, ROWS_ALL, pattern_id(analysis->patterns->items[i].kind), "%s",
			  text ? text : "");
	}
	rows_begin(rows, ROWS_TEXT, "not known");
	for (size_t i = 0; i < insights->unknown_count; i++)
		rows_say(rows, "; ", "%s (%s)", insights->unknown[i].rule->id,
			 insights->unknown[i].names);
	return rows;
}

/* "CPU efficiency 47 %"; by a site's weights "score 47, as billed". */
static struct human score_of(const struct efficiency *e)
{
	struct human h = { "CPU efficiency -" };

	if (e->score.is_known && e->billing)
		snprintf(h.text, sizeof(h.text), "score %.0f%s", e->score.number,
			 efficiency_basis(e));
	else if (e->score.is_known)
		snprintf(h.text, sizeof(h.text), "CPU efficiency %.0f %%", e->score.number);
	return h;
}

static void insights_text(const struct record *record, const struct analysis *analysis,
			  struct page *page)
{
	_cleanup_(rows_freep) struct rows *rows = rows_of(analysis);

	page_put(page, PAGE_BOLD, "%s", headline_name(record));
	page_put(page, PAGE_PLAIN, "  %s  %s", humanize_duration(record->time.elapsed_ns).text,
		 score_of(&analysis->efficiency).text);
	page_end_line(page);
	rows_text(rows, ROWS_TEXT, page);
}

static void insights_markdown(const struct record *record, const struct analysis *analysis,
			      FILE *out)
{
	_cleanup_(rows_freep) struct rows *rows = rows_of(analysis);

	fputs("## ", out);
	markdown_put(headline_name(record), out);
	fprintf(out, "\n\n%s, %s\n", humanize_duration(record->time.elapsed_ns).text,
		score_of(&analysis->efficiency).text);
	rows_markdown(rows, out);
}

/* ---- rules ---- */

static void list_rule(const struct rule *rule, const char *kind, struct page *page)
{
	page_put(page, PAGE_BOLD, "%s", rule->id);
	page_pad(page, 0, 2);
	page_put(page, PAGE_DIM, "%s%s%s", kind,
		 !rule->is_each_mount ? ""
		 : rule->is_by_path   ? ", each mount by path"
				      : ", each mount",
		 rule->is_disabled ? ", disabled" : "");
	page_end_line(page);
	if (rule->condition)
		page_paragraph(page, "when", rule->condition);
	for (size_t i = 0; i < rule->threshold_count; i++) {
		const struct constant *c = &rule->thresholds[i];

		page_label(page, i ? NULL : "thresholds");
		page_put(page, PAGE_PLAIN, "%s = %s", c->name,
			 amount_format_exact(c->amount, c->dimension).text);
		page_end_line(page);
	}
	for (size_t i = 0; i < rule->least_count; i++) {
		page_label(page, i ? NULL : "at least");
		page_put(page, PAGE_PLAIN, "%s", rule->least[i].text);
		page_end_line(page);
	}
	page_paragraph(page, "source", rule->source);
	for (size_t i = 0; i < rule->place_count; i++) {
		page_label(page, i ? "changed in" : "made in");
		page_put(page, PAGE_PLAIN, "%s:%u", rule->places[i].file, rule->places[i].line);
		page_end_line(page);
	}
	page_end_line(page);
}

static void list_rules(const struct rule_list *list, const char *kind, struct page *page)
{
	for (size_t i = 0; i < list->count; i++)
		list_rule(&list->items[i], kind ? kind : severity_name(list->items[i].severity),
			  page);
}

/* Each rule and class: when it holds, and where its thresholds are from. */
static void insights_list(const struct rules *rules, struct page *page)
{
	list_rules(&rules->insights, NULL, page);
	list_rules(&rules->classes, "class", page);
	list_rules(&rules->patterns, "pattern", page);
}

/* ---- a file of rules ---- */

struct counts {
	size_t made, changed, disabled;
};

static struct counts counts_of(const struct rule_list *list, const char *file)
{
	struct counts counts = {};

	for (size_t i = 0; i < list->count; i++) {
		const struct rule *rule = &list->items[i];

		if (strcmp(rule->places[rule->place_count - 1].file, file) != 0)
			continue;
		counts.made += rule->place_count == 1;
		counts.changed += rule->place_count > 1 && !rule->is_disabled;
		counts.disabled += rule->is_disabled;
	}
	return counts;
}

/* "FILE: all well: 2 rules are new..." */
static void insights_count(const struct rules *rules, const char *file)
{
	const struct {
		const char *name;
		const struct rule_list *list;
	} lists[] = {
		{ "rules", &rules->insights },
		{ "classes", &rules->classes },
		{ "patterns", &rules->patterns },
	};

	printf("%s: ok\n", file);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct counts counts = counts_of(lists[i].list, file);

		if (counts.made || counts.changed || counts.disabled)
			printf("%s: %zu new, %zu changed, %zu disabled\n", lists[i].name,
			       counts.made, counts.changed, counts.disabled);
	}
	if (rules->billings.count)
		printf("billing: %zu partitions\n", rules->billings.count);
	if (rules->variables->count > rules->variables->own_begin)
		printf("variables: %zu\n", rules->variables->count - rules->variables->own_begin);
}

/* Each name that rules may use. */
static void insights_list_names(const struct variables *variables, struct page *page)
{
	for (size_t i = 0; i < variables->count; i++) {
		const struct variable *v = &variables->items[i];

		page_put(page, PAGE_PLAIN, "%s", v->name);
		page_pad(page, NAME_WIDTH, 2);
		page_put(page, PAGE_DIM, "%s", dimension_name(v->dimension).text);
		page_pad(page, NAME_WIDTH + 20, 2);
		page_put(page, PAGE_PLAIN, "%s", v->help);
		page_end_line(page);
	}
}

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

static int tell_rules(const struct cli_command *command, const struct settings *settings,
		      struct error *err)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct page page = page_for(stdout);
	int r = settings->checked ? site_rules_check(settings->checked, &rules, err)
				  : site_rules_load(command, settings->rules, &rules, err);

	if (r < 0)
		return r;
	if (settings->checked)
		insights_count(rules, settings->checked);
	else if (settings->is_names)
		insights_list_names(rules->variables, &page);
	else
		insights_list(rules, &page);
	return r;
}

static bool is_of_rules(const struct settings *s)
{
	return s->is_list || s->is_names || s->checked;
}

static int check_usage(const struct settings *settings, int argc, char **argv,
		       struct output *output, struct error *err)
{
	if (settings->is_list + settings->is_names + !!settings->checked > 1)
		return error_set(err, -EINVAL,
				 "'--list', '--names' and '--check' exclude each other");
	if (is_of_rules(settings) && argc > 0)
		return error_set(err, -EINVAL, "unexpected argument '%s'", argv[0]);
	if (output_settle(output, err) < 0)
		return -EINVAL;
	if (is_of_rules(settings) && (output->format != OUTPUT_TEXT || output->file))
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
	if (is_of_rules(&settings))
		r = tell_rules(command, &settings, &err);
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
