/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "analysis/rules.h"
#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "cli/commands.h"
#include "cli/jobs_columns.h"
#include "cli/jobs_text.h"
#include "cli/moment.h"
#include "cli/output.h"
#include "cli/reader.h"
#include "cli/site_rules.h"
#include "model/document.h"
#include "model/job_row.h"

#define JOB_LIST_SCHEMA "jobmeter.job_list/1"
#define SINCE_DEFAULT "7d"

struct settings {
	struct job_filter filter;
	const char *since, *until, *database, *columns;
	bool is_of_all, has_no_legend;
};

static int parse_limit(const char *text, void *at, struct error *err)
{
	uint64_t limit;

	if (parse_u64(text, &limit) < 0)
		return error_set(err, -EINVAL, "'--limit' is a number of jobs, not '%s'", text);
	*(size_t *)at = (size_t)limit;
	return 0;
}

static const char *column_word(const void *target, size_t i)
{
	const struct jobs_column *column = jobs_columns_at(i);

	(void)target;
	return column ? column->name : NULL;
}

#define AT(member) offsetof(struct settings, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "columns", 'o', "LIST", "columns of text and CSV, also by sacct's names", AT(columns), NULL, column_word },
	{ "no-legend", 0, NULL, "print no line with the columns' names", AT(has_no_legend), NULL },
	{ "user", 'u', "USER", "jobs of this user (default: yours)", AT(filter.user), NULL },
	{ "all", 'a', NULL, "jobs of all users whose jobs you may see", AT(is_of_all), NULL },
	{ "account", 'A', "ACCOUNT", "jobs that this account is charged for", AT(filter.account), NULL },
	{ "partition", 'r', "PARTITION", "jobs of this partition", AT(filter.partition), NULL },
	{ "state", 's', "STATE", "jobs in this state; running: that have not ended", AT(filter.state), NULL },
	{ "since", 'S', "TIME", "jobs that ran then or later (default: " SINCE_DEFAULT " ago)", AT(since), NULL },
	{ "until", 'E', "TIME", "jobs that began before then", AT(until), NULL },
	{ "name", 'n', "NAME", "jobs of this name", AT(filter.name), NULL },
	{ "text", 0, "TEXT", "jobs with this in their id, name, user, account or reason", AT(filter.text), NULL },
	{ "limit", 0, "N", "at most the newest N jobs (default: 1000); 0: all", AT(filter.limit), parse_limit },
	{ "database", 0, "FILE", "read all jobs of a server's database, of a file of records, or of a directory of such", AT(database), NULL },
};
/* clang-format on */

/* ---- what is asked for ---- */

static int settle_times(struct settings *settings, struct error *err)
{
	struct job_filter *filter = &settings->filter;
	uint64_t now_ns = clock_now_ns(CLOCK_REALTIME);
	const char *since = settings->since	 ? settings->since
			    : settings->database ? NULL
						 : SINCE_DEFAULT;
	int r = since ? moment_parse(since, now_ns, &filter->since_ns, err) : 0;

	if (r < 0)
		return error_prefix(err, r, "--since");
	if (settings->until)
		r = moment_parse(settings->until, now_ns, &filter->until_ns, err);
	return r < 0 ? error_prefix(err, r, "--until") : 0;
}

/* The caller's name, or his number where it has none. */
static const char *own_name(char *buffer, size_t size)
{
	const struct passwd *entry = getpwuid(geteuid());

	if (entry && entry->pw_name)
		snprintf(buffer, size, "%s", entry->pw_name);
	else
		snprintf(buffer, size, "%u", geteuid());
	return buffer;
}

static int check_usage(struct settings *settings, struct output *output, int argc, char **argv,
		       struct jobs_columns *ret_columns, struct error *err)
{
	if (argc > 0)
		return error_set(err, -EINVAL,
				 "unexpected argument '%s'; 'jobmeter report %s' prints one job",
				 argv[0], argv[0]);
	if (settings->is_of_all && settings->filter.user)
		return error_set(err, -EINVAL, "'--all' and '--user' exclude each other");
	if (output_settle(output, err) < 0 || settle_times(settings, err) < 0)
		return -EINVAL;
	return jobs_columns_parse(settings->columns ? settings->columns : JOBS_COLUMNS_DEFAULT,
				  ret_columns, err);
}

/* ---- what is written ---- */

struct list {
	const struct settings *settings;
	const struct job_rows *rows;
	const struct jobs_columns *columns;
};

static void put_share(const char *key, struct jobs_cell cell, struct document *d)
{
	document_key(d, key);
	if (cell.is_known)
		document_decimal(d, cell.number, 4);
	else
		document_null(d);
}

static void format_row(const struct job_row *row, struct document *d)
{
	document_begin_map(d);
	job_row_format(row, d);
	put_share("cpu_efficiency", jobs_cpu_efficiency(row), d);
	put_share("memory_efficiency", jobs_memory_efficiency(row), d);
	document_end_map(d);
}

static int write_lines(const struct output *output, const struct list *list, FILE *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->rows->count; i++) {
		_cleanup_(document_freep) struct document *d = output_new_document(output, out);

		if (!d)
			return -ENOMEM;
		format_row(&list->rows->items[i], d);
		r = document_finish(d);
	}
	return r;
}

static int write_document(const struct output *output, const struct list *list, FILE *out)
{
	_cleanup_(document_freep) struct document *d = output_new_document(output, out);

	if (!d)
		return -ENOMEM;
	document_begin_map(d);
	document_put_string(d, "schema", JOB_LIST_SCHEMA);
	document_begin_list_of(d, "jobs");
	for (size_t i = 0; i < list->rows->count; i++)
		format_row(&list->rows->items[i], d);
	document_end_list(d);
	document_end_map(d);
	return document_finish(d);
}

static int write_list(const struct output *output, const void *what, FILE *out, struct error *err)
{
	const struct list *list = what;
	bool has_head = !list->settings->has_no_legend;
	int r = 0;

	if (output->format == OUTPUT_TEXT)
		jobs_text(list->rows, list->columns, has_head, !list->settings->columns, out);
	else if (output->format == OUTPUT_CSV)
		jobs_csv(list->rows, list->columns, has_head, out);
	else if (output->format == OUTPUT_NDJSON)
		r = write_lines(output, list, out);
	else
		r = write_document(output, list, out);
	return output_end(out, r, "jobs", err);
}

/* What a table alone does not tell. */
static void say_bounds(const struct cli_command *command, const struct settings *settings,
		       size_t count)
{
	struct error text;

	if (count == 0) {
		error_set(&text, 0, "no job matches%s",
			  settings->since || settings->database
				  ? ""
				  : "; '--since' looks beyond the last 7 days");
		cli_say(command, &text);
	} else if (settings->filter.limit && count >= settings->filter.limit) {
		error_set(&text, 0, "these are the newest %zu that match; '--limit' shows more",
			  count);
		cli_say(command, &text);
	}
}

static int list_jobs(const struct cli_command *command, const struct settings *settings,
		     const struct output *output, const struct jobs_columns *columns,
		     struct error *err)
{
	_cleanup_(job_rows_clear) struct job_rows rows = {};
	_cleanup_(rules_freep) struct rules *rules = NULL;
	_cleanup_(reader_closep) struct reader *reader = NULL;
	const struct list list = { settings, &rows, columns };
	int r = site_rules_load(command, NULL, &rules, err);

	if (r == 0)
		r = reader_open(settings->database, rules, &reader, err);
	if (r == 0)
		r = reader_list_jobs(reader, &settings->filter, &rows, err);
	if (r == 0)
		r = output_print_by(output, write_list, &list, err);
	if (r == 0 && output->format == OUTPUT_TEXT && !output->is_quiet)
		say_bounds(command, settings, rows.count);
	return r;
}

static int run_jobs(const struct cli_command *command, int argc, char **argv)
{
	struct settings settings = { .filter.limit = JOB_LIMIT_DEFAULT };
	struct output output = {};
	const struct cli_options groups[] = {
		{ output_options, output_document_option_count, &output },
		{ options, ARRAY_SIZE(options), &settings },
	};
	struct jobs_columns columns;
	struct error err = {};
	char name[256];
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r > 0)
		r = check_usage(&settings, &output, argc, argv, &columns, &err);
	if (r < 0)
		return cli_misuse(command, &err);
	if (!settings.is_of_all && !settings.filter.user && !settings.database)
		settings.filter.user = own_name(name, sizeof(name));
	r = output_check(&output, &err);
	if (r == 0)
		r = list_jobs(command, &settings, &output, &columns, &err);
	return r < 0 ? cli_fail(command, &err) : CLI_WELL;
}

const struct cli_command cmd_jobs = {
	.name = "jobs",
	.arguments = "[OPTION...]",
	.summary = "List jobs of the past and what they did; without an option yours of 7 days",
	.details =
		"The newest come first; of those that run the last checkpoint tells.  A TIME is 7d, 36h\n"
		"(so long ago), 2026-11-20 or 2026-11-20T14:30.  A column may be any number that the JSON\n"
		"has, such as cpu.user_seconds.  'jobmeter report ID' prints one of the jobs.\n",
	.run = run_jobs,
};
