/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments.h"
#include "basic/cleanup.h"
#include "basic/cli.h"
#include "cli/commands.h"
#include "analysis/comparison.h"
#include "model/document.h"
#include "basic/error.h"
#include "analysis/expression.h"
#include "basic/macro.h"
#include "cli/output.h"
#include "report/page.h"
#include "report/sentence.h"
#include "codec/records.h"
#include "analysis/rules.h"
#include "cli/moment.h"
#include "cli/site_report.h"
#include "cli/site_rules.h"
#include "analysis/variables.h"
#include "basic/csv.h"
#include "report/headline.h"
#include "report/report_compare.h"
#include "model/record.h"
#include "model/rows.h"
#include "report/rows_markdown.h"
#include "report/rows_text.h"

/* ---- comparisons for people and for spreadsheets ---- */

struct compared { /* the first one is what the others are compared with */
	const char **names;
	struct record **records;
	struct comparison *comparisons; /* that of the first is empty */
	size_t count;
	bool is_all; /* noise, too, in what is for people */
};

#define CHANGES_MAX 12 /* beside those that are always shown, unless all are asked for */

static bool is_same_text(struct amount a, struct amount b, struct dimension d)
{
	return strcmp(amount_format(a, d).text, amount_format(b, d).text) == 0;
}

/* A mount did all of it, and the number of the whole job says so already. */
static bool is_said(const struct comparison *c, const struct change *change)
{
	const char *name = change->variable->name + strlen(MOUNT_PREFIX);

	for (size_t i = 0; change->variable->is_mount && i < c->count; i++) {
		const struct change *other = &c->items[i];

		if (!other->variable->is_mount && strcmp(other->variable->name, name) == 0)
			return is_same_text(other->before, change->before,
					    other->variable->dimension) &&
			       is_same_text(other->after, change->after,
					    other->variable->dimension);
	}
	return false;
}

/* @shown and @hidden count the large changes that are and that are not. */
static bool is_shown(const struct compared *all, const struct comparison *c,
		     const struct change *change, size_t *shown, size_t *hidden)
{
	if (all->is_all || change->place)
		return true;
	if (!change->is_large || is_said(c, change))
		return false;
	if (*shown < CHANGES_MAX) {
		(*shown)++;
		return true;
	}
	(*hidden)++;
	return false;
}

/* "elapsed", "blocked sleep seconds", "read calls /scratch" */
static char *name_change(const struct change *change)
{
	const char *name = change->variable->name;
	char *text;

	if (change->place)
		return strdup(first_numbers[change->place - 1].label);
	if (change->variable->is_mount)
		name += strlen(MOUNT_PREFIX);
	if (asprintf(&text, "%s%s%s", name, change->mount ? " " : "",
		     change->mount ? change->mount : "") < 0)
		return NULL;
	for (size_t i = 0; name[i]; i++)
		text[i] = text[i] == '_' ? ' ' : text[i];
	return text;
}

/* "+12 %", "x 3.1", "same", "new", "gone". */
static struct human tell_ratio(const struct change *change)
{
	struct amount ratio = change_ratio(change);
	struct human h;

	if (change->before.number == change->after.number)
		return (struct human){ "same" };
	if (change->before.number == 0)
		return (struct human){ "new" };
	if (change->after.number == 0)
		return (struct human){ "gone" };
	if (ratio.number >= 2)
		snprintf(h.text, sizeof(h.text), "x %.24s",
			 amount_format(ratio, DIMENSION_NUMBER).text);
	else
		snprintf(h.text, sizeof(h.text), "%s%.24s", ratio.number < 1 ? "-" : "+",
			 humanize_percent(ratio.number < 1 ? 1 - ratio.number : ratio.number - 1)
				 .text);
	return h;
}

static struct human format_change(struct amount a, const struct change *change)
{
	return amount_format(a, change->variable->dimension);
}

/* Of shares the points of a hundred between them: a percent of a percent is another thing. */
static struct human tell_difference(const struct change *change)
{
	struct amount difference = change_difference(change);
	struct human h;

	if (change->variable->dimension.is_share)
		snprintf(h.text, sizeof(h.text), "%+.1f points", difference.number * 100);
	else
		snprintf(h.text, sizeof(h.text), "%s%.28s", difference.number > 0 ? "+" : "",
			 format_change(difference, change).text);
	return h;
}

static struct rows *rows_of(const struct compared *all, size_t at)
{
	static const struct rows_column columns[] = {
		{ "what" }, { "before" }, { "after" }, { "difference", .rank = 1 }, { "change" },
	};
	const struct comparison *c = &all->comparisons[at];
	struct rows *rows = rows_new();
	struct rows_table *table = rows_table(rows, ROWS_FIRST, NULL, columns, ARRAY_SIZE(columns));
	_cleanup_free_ char *words = NULL;
	size_t shown = 0, hidden = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (is_shown(all, c, &c->items[i], &shown, &hidden)) {
			const struct change *change = &c->items[i];
			_cleanup_free_ char *name = name_change(change);

			rows_row(table, ROWS_FIRST);
			rows_cell(table, cell_words(name ? name : ""));
			rows_cell(table, cell_words(format_change(change->before, change).text));
			rows_cell(table, cell_words(format_change(change->after, change).text));
			rows_cell(table, cell_words(tell_difference(change).text));
			rows_cell(table, cell_words(tell_ratio(change).text));
		}
	}
	if (hidden)
		rows_line(rows, ROWS_FIRST, NULL, "%zu more number%s changed; --all shows %s.",
			  hidden, hidden == 1 ? "" : "s", hidden == 1 ? "it" : "them");
	words = report_compare(all->records[0], all->records[at]);
	rows_line(rows, ROWS_FIRST, NULL, "In short: %s.", words ? words : "about the same");
	return rows;
}

static void compare_text(const struct compared *all, struct page *page)
{
	for (size_t i = 1; i < all->count; i++) {
		_cleanup_(rows_freep) struct rows *rows = rows_of(all, i);

		if (i > 1)
			page_end_line(page);
		page_put(page, PAGE_BOLD, "%s", headline_name(all->records[i]));
		page_put(page, PAGE_PLAIN, "  %s, compared with %s", all->names[i], all->names[0]);
		page_end_line(page);
		rows_text(rows, ROWS_TEXT, page);
	}
}

static void compare_markdown(const struct compared *all, FILE *out)
{
	for (size_t i = 1; i < all->count; i++) {
		_cleanup_(rows_freep) struct rows *rows = rows_of(all, i);

		fputs(i > 1 ? "\n## " : "## ", out);
		markdown_put(all->names[i], out);
		fputs(", compared with ", out);
		markdown_put(all->names[0], out);
		fputc('\n', out);
		rows_markdown(rows, out);
	}
}

/* ---- CSV ---- */

static void put_number(struct amount a, FILE *out)
{
	fputc(',', out);
	if (a.is_known)
		fprintf(out, "%.15g", a.number);
}

/* RFC 4180; a row a number and record; what is not known is empty. */
static void compare_csv(const struct compared *all, FILE *out)
{
	fputs("record,name,mount,before,after,difference,ratio\n", out);
	for (size_t at = 1; at < all->count; at++) {
		const struct comparison *c = &all->comparisons[at];

		for (size_t i = 0; i < c->count; i++) {
			const struct change *change = &c->items[i];

			csv_put(all->names[at], out);
			fprintf(out, ",%s,", change->variable->name);
			csv_put(change->mount, out);
			put_number(change->before, out);
			put_number(change->after, out);
			put_number(change_difference(change), out);
			put_number(change_ratio(change), out);
			fputc('\n', out);
		}
	}
}

#define COMPARISON_SCHEMA "jobmeter.comparison/1"
#define COMPARED_MAX 64

struct settings {
	struct site_report_options site;
	const char *fail_on;
	bool is_all;
};

#define AT(member) offsetof(struct settings, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "all", 'a', NULL, "print all numbers, also those with small changes", AT(is_all), NULL },
	{ "fail-on", 0, "CONDITION", "exit with 3 if CONDITION holds: 'elapsed > 1.1x' is 1.1 times the first", AT(fail_on), NULL },
	{ "user", 'u', "USER", "compare sums over the jobs of users, given twice or more, instead of records", AT(site), site_report_parse_user },
	{ "since", 'S', "TIME", "with --user: jobs that ran then or later (default: 7d ago)", AT(site.filter.since_ns), moment_parse_argument },
	{ "until", 'E', "TIME", "with --user: jobs that began before then", AT(site.filter.until_ns), moment_parse_argument },
};
/* clang-format on */

static int write_documents(const struct output *output, const struct compared *all, FILE *out)
{
	_cleanup_(document_freep) struct document *d = output_new_document(output, out);

	if (!d)
		return -ENOMEM;
	document_begin_map(d);
	document_put_string(d, "schema", COMPARISON_SCHEMA);
	document_put_string(d, "baseline", all->names[0]);
	document_begin_list_of(d, "compared");
	for (size_t i = 1; i < all->count; i++) {
		document_begin_map(d);
		document_put_string(d, "record", all->names[i]);
		document_key(d, "changes");
		comparison_format(&all->comparisons[i], d);
		document_end_map(d);
	}
	document_end_list(d);
	document_end_map(d);
	return document_finish(d);
}

static int write_compared(const struct output *output, const void *what, FILE *out,
			  struct error *err)
{
	const struct compared *all = what;
	struct page page = page_for(out);
	int r = 0;

	if (output->format == OUTPUT_TEXT)
		compare_text(all, &page);
	else if (output->format == OUTPUT_CSV)
		compare_csv(all, out);
	else if (output->format == OUTPUT_MARKDOWN)
		compare_markdown(all, out);
	else
		r = write_documents(output, all, out);
	return output_end(out, r, "comparison", err);
}

/* ---- what was asked to fail on ---- */

static int explain_unknown(const char *name, const char *text, const struct expression *e,
			   const struct subject *b, struct error *err)
{
	const struct variable *variable;
	size_t i = 0;

	while ((variable = expression_variable(e, i++)) != NULL) {
		if (!variable_get(variable, b).is_known ||
		    !variable_get(variable, b->baseline).is_known)
			break;
	}
	return error_set(err, -ENODATA, "%s: whether '%s' is not known: %s", name, text,
			 variable ? variable->name : "it divides by nothing");
}

/* "elapsed_seconds is 2 m 14 s, 1.12 times the 2 m 00 s before", of each name in it. */
static int explain_holds(const char *name, const char *text, const struct expression *e,
			 const struct subject *b, struct error *err)
{
	const struct variable *variable;
	_cleanup_(sentence_freep) struct sentence said = {};

	for (size_t i = 0; (variable = expression_variable(e, i)) != NULL; i++) {
		struct amount now = variable_get(variable, b);
		struct amount before = variable_get(variable, b->baseline);

		if (!now.is_known || !before.is_known)
			continue;
		sentence_add(&said, "; ", "%s is %s", variable->name,
			     amount_format(now, variable->dimension).text);
		if (before.number > 0)
			sentence_add(&said, ", ", "%.3g times the %s before",
				     now.number / before.number,
				     amount_format(before, variable->dimension).text);
	}
	return error_set(err, -ENOTRECOVERABLE, "%s: '%s' holds: %s", name, text,
			 said.text ? said.text : "it names no number");
}

/* -ENOTRECOVERABLE: it holds of one of them; -ENODATA: that is not known of one, and it holds of
 * none. */
static int check_condition(const char *text, const struct expression *e, const struct compared *all,
			   struct error *err)
{
	struct subject baseline = { .record = all->records[0] };
	int r = 0;

	for (size_t i = 1; i < all->count; i++) {
		struct subject b = { .record = all->records[i], .baseline = &baseline };
		enum truth truth = expression_truth(e, &b);

		if (truth == TRUTH_YES)
			return explain_holds(all->names[i], text, e, &b, err);
		if (truth == TRUTH_UNKNOWN && r == 0)
			r = explain_unknown(all->names[i], text, e, &b, err);
	}
	return r;
}

static int parse_condition(const struct settings *settings, const struct variables *variables,
			   struct expression **ret, struct error *err)
{
	struct names names = { .variables = variables, .has_baseline = true };
	int r;

	if (!settings->fail_on)
		return 0;
	r = expression_parse(settings->fail_on, EXPRESSION_CONDITION, &names, ret, err);
	return r < 0 ? error_prefix(err, r, "--fail-on") : 0;
}

/* ---- the records ---- */

static void compared_clear(struct compared *all)
{
	for (size_t i = 0; i < all->count; i++) {
		comparison_clear(&all->comparisons[i]);
		record_free(all->records[i]);
	}
	free(all->names);
	free(all->records);
	free(all->comparisons);
}

/* A directory's records are one. */
static int read_one(const struct cli_command *command, struct arguments *arguments,
		    const char *name, struct record **ret, struct error *err)
{
	_cleanup_(records_clear) struct records records = {};
	int r = argument_read(command, arguments, name, &records, err);

	if (r == 0) {
		arguments_keep_newest(command, &records);
		r = arguments_merge(&records, err);
	}
	if (r < 0)
		return r;
	if (!records.count)
		return error_set(err, -ENOENT, "there is no record in '%s'", name);
	*ret = TAKE_PTR(records.items[0]);
	records.count = 0;
	free(TAKE_PTR(records.items));
	return 0;
}

static int read_all(const struct cli_command *command, struct arguments *arguments, int argc,
		    char **argv, const struct variables *variables, struct compared *all,
		    struct error *err)
{
	all->names = calloc((size_t)argc, sizeof(*all->names));
	all->records = calloc((size_t)argc, sizeof(*all->records));
	all->comparisons = calloc((size_t)argc, sizeof(*all->comparisons));
	if (!all->names || !all->records || !all->comparisons)
		return error_set_errno(err, ENOMEM, "cannot compare");
	for (; all->count < (size_t)argc; all->count++) {
		size_t i = all->count;
		int r = read_one(command, arguments, argv[i], &all->records[i], err);

		if (r < 0)
			return r;
		all->names[i] = argv[i];
		if (i > 0)
			r = comparison_make(variables, all->records[0], all->records[i],
					    &all->comparisons[i]);
		if (r < 0) {
			all->count++;
			return error_set_errno(err, r, "cannot compare");
		}
	}
	return 0;
}

static int compare(const struct cli_command *command, const struct settings *settings,
		   struct arguments *arguments, const struct output *output, int argc, char **argv,
		   const struct variables *variables, const struct expression *condition,
		   struct error *err)
{
	_cleanup_(compared_clear) struct compared all = { .is_all = settings->is_all };
	int r = read_all(command, arguments, argc, argv, variables, &all, err);

	if (r == 0)
		r = output_print_by(output, write_compared, &all, err);
	if (r == 0 && condition)
		r = check_condition(settings->fail_on, condition, &all, err);
	return r < 0 ? r : arguments->exit_code;
}

static int check_usage(const struct settings *s, int argc, struct output *output, struct error *err)
{
	if (s->site.users.count && (argc > 0 || s->is_all || s->fail_on))
		return error_set(err, -EINVAL,
				 "'--user' goes with no record, '--all' or '--fail-on'");
	if (s->site.users.count == 1)
		return error_set(err, -EINVAL,
				 "one user is compared with another: '--user' two times");
	if (s->site.users.count)
		return output_settle(output, err);
	if (s->site.filter.since_ns || s->site.filter.until_ns)
		return error_set(err, -EINVAL, "'--since' and '--until' go with '--user'");
	if (argc < 2)
		return error_set(err, -EINVAL, "compare needs two records or more");
	if (argc > COMPARED_MAX)
		return error_set(err, -EINVAL, "compare takes at most %d records", COMPARED_MAX);
	return output_settle(output, err);
}

static int run_compare(const struct cli_command *command, int argc, char **argv)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	_cleanup_(expression_freep) struct expression *condition = NULL;
	_cleanup_(arguments_clear) struct arguments arguments = {};
	struct settings settings = {};
	struct output output = { .has_markdown = true };
	const struct cli_options groups[] = {
		{ output_options, output_document_option_count, &output },
		{ options, ARRAY_SIZE(options), &settings },
		{ arguments_options, arguments_option_count, &arguments },
	};
	struct error err = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r > 0)
		r = check_usage(&settings, argc, &output, &err);
	if (r < 0)
		return cli_misuse(command, &err);
	if (settings.site.users.count) {
		r = output_check(&output, &err);
		if (r == 0)
			r = site_report_print(command, &settings.site, arguments.database, &output,
					      &arguments.exit_code, &err);
		return r < 0 ? cli_fail(command, &err) : arguments.exit_code;
	}
	r = site_rules_load(command, NULL, &rules, &err);
	if (r < 0)
		return cli_fail(command, &err);
	r = parse_condition(&settings, rules->variables, &condition, &err);
	if (r < 0)
		return cli_misuse(command, &err);
	r = output_check(&output, &err);
	if (r == 0)
		r = compare(command, &settings, &arguments, &output, argc, argv, rules->variables,
			    condition, &err);
	if (r == -ENOTRECOVERABLE)
		return cli_found(command, &err);
	return r < 0 ? cli_fail(command, &err) : r;
}

const struct cli_command cmd_compare = {
	.name = "compare",
	.arguments = "[OPTION...] FILE|DIR|ID FILE|DIR|ID...",
	.summary =
		"Compare records with the first: time, cores, memory and bytes, then what changed most",
	.details =
		"The records of a directory are merged into one.  jobmeter-insights.yaml(5) explains\n"
		"conditions; a condition with an unknown number fails.\n",
	.run = run_compare,
};
