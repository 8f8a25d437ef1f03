/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/jobs_columns.h"
#include "cli/moment.h"
#include "cli/output.h"
#include "cli/reader.h"
#include "client/web.h"
#include "model/job_filter.h"
#include "model/json_place.h"
#include "server/store/store.h"

#define SCHEMA "jobmeter.usage/1"
#define SINCE_DEFAULT "30d"
#define ROWS_MOST 1000 /* as many as the API gives */
#define DAY_LENGTH 10 /* of "2026-11-20T00:00:00Z" */

struct usage {
	struct job_filter filter;
	struct jobs_table table;
	const char *by, *period;
	const char *database;
	int exit_code;
};

static const char *by_word(const void *target UNUSED, size_t i)
{
	return store_usage_word(i);
}

static const char *period_word(const void *target UNUSED, size_t i)
{
	return store_usage_period(i);
}

#define AT(member) offsetof(struct usage, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "by", 'b', "COLUMN", "a row for each of these (default: user)", AT(by), NULL, by_word },
	{ "period", 'p', "PERIOD", "and for each of its periods, in UTC", AT(period), NULL, period_word },
	{ "user", 'u', "USER", "jobs of this user", AT(filter.user), NULL },
	{ "account", 'A', "ACCOUNT", "jobs that this account is charged for", AT(filter.account), NULL },
	{ "partition", 'r', "PARTITION", "jobs of this partition", AT(filter.partition), NULL },
	{ "since", 'S', "TIME", "jobs that started on that day or later (default: " SINCE_DEFAULT " ago)", AT(filter.since_ns), moment_parse_argument },
	{ "until", 'E', "TIME", "jobs that started on a day that began before then", AT(filter.until_ns), moment_parse_argument },
	{ "no-legend", 0, NULL, "print no line with the columns' names", AT(table.has_no_legend), NULL },
	{ "server", 0, "URL", "ask the server at this URL: jobs that its token may see", AT(database), argument_parse_url },
	{ "database", 0, "FILE", "read all jobs of a server's database, of a file of records, or of a directory of such", AT(database), NULL },
};

/* The first two are those of the rows; ranks: what goes first where a terminal is narrow. */
static const struct jobs_column columns[] = {
	{ "key", "", JOBS_TEXT, "key" },
	{ "start", "FROM", JOBS_TEXT, "start" },
	{ "jobs", "JOBS", JOBS_COUNT, "jobs" },
	{ "core_hours", "CORE-H", JOBS_HOURS, "core_hours" },
	{ "wasted_core_hours", "WASTED", JOBS_HOURS, "wasted_core_hours" },
	{ "wasted_files_core_hours", "FILES", JOBS_HOURS, "wasted_files_core_hours", .rank = 3 },
	{ "wasted_page_faults_core_hours", "FAULTS", JOBS_HOURS, "wasted_page_faults_core_hours", .rank = 6 },
	{ "wasted_network_core_hours", "NETWORK", JOBS_HOURS, "wasted_network_core_hours", .rank = 5 },
	{ "wasted_locks_core_hours", "LOCKS", JOBS_HOURS, "wasted_locks_core_hours", .rank = 4 },
	{ "wasted_idle_core_hours", "IDLE", JOBS_HOURS, "wasted_idle_core_hours", .rank = 2 },
	{ "memory_asked_gib_hours", "GIB-H ASKED", JOBS_HOURS, "memory_asked_gib_hours", .rank = 7 },
	{ "memory_used_gib_hours", "USED", JOBS_HOURS, "memory_used_gib_hours", .rank = 8 },
	{ "read_bytes", "READ", JOBS_BYTES, "read_bytes", .rank = 9 },
	{ "written_bytes", "WRITTEN", JOBS_BYTES, "written_bytes", .rank = 10 },
	{ "joules", "ENERGY", JOBS_ENERGY, "joules", .rank = 1 },
};
/* clang-format on */

static int check_word(const char *option, const char *text, const char *(*word)(size_t i),
		      struct error *err)
{
	char list[64] = "";

	for (size_t i = 0; word(i); i++) {
		if (!text || strcmp(word(i), text) == 0)
			return 0;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 word(i));
	}
	return error_set(err, -EINVAL, "'--%s' is one of %s, not '%s'", option, list, text);
}

static int settle(struct usage *u, struct output *output, int argc, char **argv, struct error *err)
{
	static char head[16];

	if (argc > 0)
		return error_set(err, -EINVAL, "unexpected argument '%s'", argv[0]);
	if (check_word("by", u->by, store_usage_word, err) < 0 ||
	    check_word("period", u->period, store_usage_period, err) < 0)
		return -EINVAL;
	if (!u->by)
		u->by = store_usage_word(0);
	for (size_t i = 0; u->by[i] && i + 1 < sizeof(head); i++)
		head[i] = (char)toupper(u->by[i]);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (i != 1 || u->period)
			u->table.columns.items[u->table.columns.count++] = columns[i];
	}
	u->table.columns.items[0].head = head;
	u->table.columns.items[0].name = u->by;
	u->table.has_standard_columns = true;
	u->table.schema = SCHEMA;
	u->table.list = "usage";
	u->table.by = u->by;
	u->filter.limit = ROWS_MOST;
	if (!u->filter.since_ns && (!u->database || web_is_url(u->database)))
		moment_parse_argument(SINCE_DEFAULT, &u->filter.since_ns, err);
	return output_settle(output, err);
}

static int tell(const struct cli_command *command, struct usage *u, const struct output *output,
		struct error *err)
{
	_cleanup_(reader_closep) struct reader *reader = NULL;
	_cleanup_(json_freep) json_t *answer = NULL;
	struct complaint complaint = { command, &u->exit_code };
	bool is_table = output->format == OUTPUT_TEXT || output->format == OUTPUT_CSV;
	struct error note = {};
	json_t *rows;
	int r = reader_open(u->database, complaint_tell, &complaint, &reader, err);

	if (r == 0)
		r = reader_get_usage(reader, u->by, u->period, &u->filter, &answer, err);
	if (r < 0)
		return r;
	rows = json_object_get(answer, u->table.list);
	if (is_table) {
		for (size_t i = 0; i < json_array_size(rows); i++) {
			const char *start = json_string_value(
				json_object_get(json_array_get(rows, i), "start"));

			if (start && strlen(start) > DAY_LENGTH)
				json_object_set_new(json_array_get(rows, i), "start",
						    json_stringn(start, DAY_LENGTH));
		}
	}
	u->table.rows = rows;
	r = output_print_by(output, jobs_table_write, &u->table, err);
	if (r < 0)
		return r;
	if (!json_array_size(rows))
		error_set(&note, 0, "no job of yours started then; '--since' goes back further");
	else if (json_is_true(json_object_get(answer, "more")))
		error_set(&note, 0, "these are the first %d rows; '--until' shows less at once",
			  ROWS_MOST);
	if (*note.text && output->format == OUTPUT_TEXT && !output->is_quiet)
		cli_say(command, &note);
	return 0;
}

static int run_usage(const struct cli_command *command, int argc, char **argv)
{
	struct usage u = {};
	struct output output = {};
	const struct cli_options groups[] = {
		{ output_options, output_document_option_count, &output },
		{ options, ARRAY_SIZE(options), &u },
	};
	struct error err = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r < 0 || settle(&u, &output, argc, argv, &err) < 0)
		return cli_misuse(command, &err);
	r = output_check(&output, &err);
	if (r == 0)
		r = tell(command, &u, &output, &err);
	return r < 0 ? cli_fail(command, &err) : u.exit_code;
}

const struct cli_command cmd_usage = {
	.name = "usage",
	.arguments = "[OPTION...]",
	.summary =
		"Print what users, accounts or partitions used and wasted, by day, week or month",
	.details =
		"Core-hours, those of them in which nothing was computed and why, memory asked for and used\n"
		"(GiB-hours), bytes and energy, of jobs that you may see; a job counts on the day on which it\n"
		"started.  '-' is not known.  'jobmeter jobs --by' adds up other things, from the jobs.\n",
	.run = run_usage,
};
