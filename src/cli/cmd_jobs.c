/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/jobs_ask.h"
#include "cli/jobs_columns.h"
#include "cli/moment.h"
#include "cli/output.h"
#include "cli/reader.h"
#include "cli/runs.h"
#include "client/web.h"
#include "model/job_filter.h"
#include "model/json_place.h"
#include "model/rows.h"

#define JOB_LIST_SCHEMA "jobmeter.job_list/1"
#define JOB_SUMS_SCHEMA "jobmeter.job_sums/1"
#define SINCE_DEFAULT "7d"
#define LIMIT_UNSET SIZE_MAX

struct listing {
	struct job_filter filter;
	struct jobs_table table; /* what was found */
	struct jobs_column by; /* what jobs are summed by; no name: they are listed */
	const char *database;
	bool is_of_all;
	bool is_recent; /* no --since was given */
	bool is_document; /* not text or CSV */
	const struct cli_command *command;
	int exit_code;
};

static int parse_limit(const char *text, void *at, struct error *err)
{
	uint64_t limit;

	if (parse_u64(text, &limit) < 0)
		return error_set(err, -EINVAL, "'--limit' is a number of jobs, not '%s'", text);
	*(size_t *)at = (size_t)limit;
	return 0;
}

#define AT(member) offsetof(struct listing, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "columns", 'o', "LIST", "columns of text and CSV, also by sacct's names", AT(table.columns), jobs_columns_parse, jobs_columns_word },
	{ "no-legend", 0, NULL, "print no line with the columns' names", AT(table.has_no_legend), NULL },
	{ "by", 'b', "COLUMN", "sums over all jobs of a user, account, partition, class (reason) ...", AT(by), jobs_column_parse_text },
	{ "user", 'u', "USER", "jobs of this user (default: yours)", AT(filter.user), NULL },
	{ "all", 'a', NULL, "jobs of all users that you may see", AT(is_of_all), NULL },
	{ "account", 'A', "ACCOUNT", "jobs that this account is charged for", AT(filter.account), NULL },
	{ "partition", 'r', "PARTITION", "jobs of this partition", AT(filter.partition), NULL },
	{ "state", 's', "STATE", "jobs in this state; running: that have not ended", AT(filter.state), NULL },
	{ "since", 'S', "TIME", "jobs that ran then or later (default: " SINCE_DEFAULT " ago)", AT(filter.since_ns), moment_parse_argument },
	{ "until", 'E', "TIME", "jobs that began before then", AT(filter.until_ns), moment_parse_argument },
	{ "name", 'n', "NAME", "jobs of this name", AT(filter.name), NULL },
	{ "text", 0, "TEXT", "jobs with this in their id, name, user, account or reason", AT(filter.text), NULL },
	{ "limit", 0, "N", "at most the newest N jobs (default: 1000, with --by all); 0: all", AT(filter.limit), parse_limit },
	{ "server", 0, "URL", "ask the server at this URL: jobs that its token may see", AT(database), argument_parse_url },
	{ "database", 0, "FILE", "read all jobs of a server's database, of a file of records, or of a directory of such", AT(database), NULL },
};
/* clang-format on */

/* ---- what is asked for ---- */

/* All jobs that match, unless a limit was asked for. */
static int settle_sums(struct listing *l, struct error *err)
{
	struct jobs_columns *columns = &l->table.columns;
	int r = l->table.has_standard_columns ? jobs_columns_parse(JOBS_SUMS_DEFAULT, columns, err)
					      : 0;

	if (r == 0 && columns->count == ROWS_COLUMNS_MAX)
		r = error_set(err, -EINVAL, "'-o' takes one column less beside '--by'");
	if (r < 0)
		return r;
	memmove(columns->items + 1, columns->items, columns->count++ * sizeof(*columns->items));
	columns->items[0] = l->by;
	return 0;
}

static int settle(struct listing *l, struct output *output, int argc, char **argv,
		  struct error *err)
{
	struct job_filter *filter = &l->filter;
	int r = 0;

	if (argc > 0)
		return error_set(err, -EINVAL,
				 "unexpected argument '%s'; 'jobmeter report %s' prints one job",
				 argv[0], argv[0]);
	if (l->is_of_all && filter->user)
		return error_set(err, -EINVAL, "'--all' and '--user' exclude each other");
	l->is_recent = !filter->since_ns && (!l->database || web_is_url(l->database));
	l->table.has_standard_columns = !l->table.columns.count;
	if (filter->limit == LIMIT_UNSET)
		filter->limit = l->by.name ? 0 : JOB_LIMIT_DEFAULT;
	l->table.schema = l->by.name ? JOB_SUMS_SCHEMA : JOB_LIST_SCHEMA;
	l->table.list = l->by.name ? "sums" : "jobs";
	l->table.by = l->by.key;
	if (l->is_recent)
		r = moment_parse_argument(SINCE_DEFAULT, &filter->since_ns, err);
	if (r == 0 && l->by.name)
		r = settle_sums(l, err);
	else if (r == 0 && l->table.has_standard_columns)
		r = jobs_columns_parse(JOBS_COLUMNS_DEFAULT, &l->table.columns, err);
	return r < 0 ? r : output_settle(output, err);
}

/* What a table alone does not tell. */
static void say_bounds(const struct cli_command *command, const struct listing *l)
{
	size_t count = json_array_size(l->table.rows);
	struct error text;

	if (l->by.name && count)
		return;
	if (!count)
		error_set(&text, 0, "no job matches%s",
			  l->is_recent ? "; '--since' searches beyond the last 7 days" : "");
	else if (l->filter.limit && count >= l->filter.limit)
		error_set(&text, 0, "these are the newest %zu that match; '--limit' shows more",
			  count);
	else
		return;
	cli_say(command, &text);
}

/* ---- what they emitted and cost ---- */

static bool wants_emissions(const struct listing *l)
{
	bool wants = l->is_document; /* which has all numbers */

	for (size_t i = 0; i < l->table.columns.count; i++)
		wants |= l->table.columns.items[i].kind >= JOBS_GRAMS;
	return wants;
}

static int find_all(struct listing *l, struct reader *reader, json_t **ret, struct error *err)
{
	int r;

	if (l->by.name)
		return jobs_ask_sums(reader, &l->by, &l->filter, ret, err);
	*ret = json_array();
	r = reader_list_jobs(reader, &l->filter, *ret, err);
	jobs_complete_all(*ret);
	return r;
}

static int find_jobs(struct listing *l, json_t **ret, struct error *err)
{
	_cleanup_(reader_closep) struct reader *reader = NULL;
	struct complaint complaint = { l->command, &l->exit_code };
	int r = reader_open(l->database, complaint_tell, &complaint, &reader, err);

	if (r == 0)
		r = find_all(l, reader, ret, err);
	if (r == 0 && wants_emissions(l))
		r = jobs_add_emissions(reader, l->by.name ? l->by.key : NULL, &l->filter, *ret,
				       err);
	else
		return r;
	return l->is_document ? 0 : r; /* which was not asked for them: not knowing is no failure */
}

/* Without a server there are one's own runs. */
static int find_runs(struct listing *l, json_t **ret, struct error *err)
{
	_cleanup_free_ char *directory = runs_directory();
	struct error note;
	int r;

	if (!directory)
		return -ENOTCONN;
	error_set(&note, 0, "no server answers here; these are your own runs, in '%s'", directory);
	cli_say(l->command, &note);
	l->database = directory;
	r = find_jobs(l, ret, err);
	l->database = NULL;
	return r;
}

static int list_jobs(const struct cli_command *command, struct listing *l,
		     const struct output *output, struct error *err)
{
	_cleanup_(json_freep) json_t *jobs = NULL;
	int r = find_jobs(l, &jobs, err);

	if ((r == -ENOTCONN || r == -ECONNREFUSED) && !l->database) {
		json_decref(jobs);
		jobs = NULL;
		r = find_runs(l, &jobs, err);
	}

	l->table.rows = jobs;
	if (r == 0)
		r = output_print_by(output, jobs_table_write, &l->table, err);
	if (r == 0 && output->format == OUTPUT_TEXT && !output->is_quiet)
		say_bounds(command, l);
	return r;
}

static int run_jobs(const struct cli_command *command, int argc, char **argv)
{
	struct listing l = { .filter.limit = LIMIT_UNSET, .command = command };
	struct output output = {};
	const struct cli_options groups[] = {
		{ output_options, output_document_option_count, &output },
		{ options, ARRAY_SIZE(options), &l },
	};
	struct error err = {};
	char uid[24];
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r > 0)
		r = settle(&l, &output, argc, argv, &err);
	if (r < 0)
		return cli_misuse(command, &err);
	snprintf(uid, sizeof(uid), "%u", geteuid());
	if (!l.is_of_all && !l.filter.user && !l.database)
		l.filter.user = uid;
	l.is_document = output.format != OUTPUT_TEXT && output.format != OUTPUT_CSV;
	r = output_check(&output, &err);
	if (r == 0)
		r = list_jobs(command, &l, &output, &err);
	return r < 0 ? cli_fail(command, &err) : l.exit_code;
}

const struct cli_command cmd_jobs = {
	.name = "jobs",
	.arguments = "[OPTION...]",
	.summary = "List past jobs (default: yours, last 7 days)",
	.details =
		"The newest come first; running jobs have the numbers of their last checkpoint.  A TIME is 7d,\n"
		"36h (ago), 2026-11-20 or 2026-11-20T14:30.  A column may be any number of the JSON, such as\n"
		"cpu.user_seconds.  'jobmeter report ID' prints one of the jobs.  --by sums over all matching\n"
		"jobs: 'jobmeter jobs --all --by account' shows core time and energy of each account,\n"
		"'jobmeter jobs --by reason' those of each class of job.\n",
	.run = run_jobs,
};
