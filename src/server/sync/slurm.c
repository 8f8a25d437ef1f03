/* SPDX-License-Identifier: MIT */
/* Slurm, by one sacct for all jobs.  Names, comments and directories may hold any character, also
 * line breaks and whatever delimiter: so the delimiter holds a random number, and rows are
 * separated by counting fields. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "server/store/runs.h"
#include "server/sync/manager.h"

#define DELIMITER_SIZE 24

/* ---- values ---- */

/* "CANCELLED by 1002" */
static void take_state(char *text, struct store_run *run, size_t offset)
{
	text[strcspn(text, " +")] = '\0';
	value_take_text(text, run, offset);
}

/* "2026-11-27T19:08:48" in UTC; "Unknown" and "None": not yet, or never. */
static void take_moment(char *text, struct store_run *run, size_t offset)
{
	struct tm tm = {};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

	if (end && !*end)
		value_set_utc(run, offset, &tm);
}

/* "3:0": exit code and signal. */
static void take_exit(char *text, struct store_run *run, size_t offset UNUSED)
{
	const char *at = text;
	uint64_t code, number;

	if (parse_leading_u64(&at, &code) < 0 || *at++ != ':' || parse_u64(at, &number) < 0)
		return;
	if (number)
		run->signal = value_known(number);
	else
		run->exit_code = value_known(code);
}

static void take_derived(char *text, struct store_run *run, size_t offset)
{
	text[strcspn(text, ":")] = '\0';
	value_take_number(text, run, offset);
}

/* "billing=1,cpu=4,mem=16000M,node=1,gres/gpu=2": @offset: of the first of four values: nodes,
 * cores, gpus, memory. */
static void take_tres(char *text, struct store_run *run, size_t offset)
{
	static const char *const keys[] = { "node=", "cpu=", "gres/gpu=", "mem=" };
	static const char units[] = "KMGTPE";
	struct value *values = value_of_run(run, offset);
	char *word;

	while ((word = strsep(&text, ","))) {
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
			const char *at = word + strlen(keys[i]), *unit;
			uint64_t number;

			if (strncmp(word, keys[i], strlen(keys[i])) != 0 ||
			    parse_leading_u64(&at, &number) < 0)
				continue;
			unit = *at ? strchr(units, *at) : NULL;
			if (unit && number >> (53 - 10 * (unit - units)) == 0)
				number <<= 10 * (unit - units + 1);
			else if (*at)
				continue;
			values[i] = value_known(number);
		}
	}
}

/* "12", "9_3", "9_[3-9%2]", "10+1"; with a point behind it is a step. */
static void take_id(char *text, struct store_run *run, size_t offset UNUSED)
{
	char *part = text + strcspn(text, "_+");
	char kind = *part;
	uint64_t number;

	if (!kind)
		return;
	*part++ = '\0';
	if (kind == '_') {
		value_take_text(text, run, RUN_AT(array_id));
		if (parse_u64(part, &number) == 0)
			run->array_index = value_known(number);
		else
			value_take_text(part, run, RUN_AT(array_tasks));
	} else if (parse_u64(part, &number) == 0) {
		run->het_offset = value_known(number);
	}
}

/* clang-format off */
/* sacct's; the last one holds no line break. */
static const struct value_field fields[] = {
	{ "JobID", take_id, 0 },
	{ "JobIDRaw", value_take_text, RUN_AT(id) },
	{ "SLUID", value_take_word, RUN_AT(sluid) },
	{ "JobName", value_take_text, RUN_AT(name) },
	{ "User", value_take_text, RUN_AT(user) },
	{ "UID", value_take_number, RUN_AT(uid) },
	{ "Account", value_take_text, RUN_AT(account) },
	{ "Partition", value_take_text, RUN_AT(partition) },
	{ "QOS", value_take_word, RUN_AT(qos) },
	{ "Reservation", value_take_text, RUN_AT(reservation) },
	{ "State", take_state, RUN_AT(state) },
	{ "ExitCode", take_exit, 0 },
	{ "DerivedExitCode", take_derived, RUN_AT(derived_exit_code) },
	{ "Reason", value_take_word, RUN_AT(wait_reason) },
	{ "Submit", take_moment, RUN_AT(submit) },
	{ "Eligible", take_moment, RUN_AT(eligible) },
	{ "Start", take_moment, RUN_AT(start) },
	{ "End", take_moment, RUN_AT(end) },
	{ "ElapsedRaw", value_take_seconds, RUN_AT(elapsed) },
	{ "Suspended", value_take_duration, RUN_AT(suspended) },
	{ "TimelimitRaw", value_take_minutes, RUN_AT(time_limit) },
	{ "NodeList", value_take_word, RUN_AT(node_list) },
	{ "ReqTRES", take_tres, RUN_AT(requested_nodes) },
	{ "AllocTRES", take_tres, RUN_AT(nodes) },
	{ "Restarts", value_take_number, RUN_AT(restarts) },
	{ "Comment", value_take_text, RUN_AT(comment) },
	{ "WorkDir", value_take_text, RUN_AT(workdir) },
	{ "Cluster", value_take_text, RUN_AT(cluster) },
};
/* clang-format on */
_Static_assert(RUN_AT(requested_memory) - RUN_AT(requested_nodes) == 3 * sizeof(struct value),
	       "take_tres()");
_Static_assert(RUN_AT(allocated_memory) - RUN_AT(nodes) == 3 * sizeof(struct value), "take_tres()");

/* ---- asking ---- */

static void format_delimiter(uint64_t mark, char text[DELIMITER_SIZE])
{
	/* without a mark as Slurm's own recordings have it */
	if (mark)
		snprintf(text, DELIMITER_SIZE, "\x1f%016" PRIx64 "\x1f", mark);
	else
		snprintf(text, DELIMITER_SIZE, "\x1f");
}

static void format_moment(uint64_t seconds, const char *option, char *text, size_t size)
{
	time_t moment = (time_t)seconds;
	struct tm tm = {};
	char words[32] = "";

	gmtime_r(&moment, &tm);
	strftime(words, sizeof(words), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, size, "--%s=%s", option, words);
}

/* Those that this version of Slurm has, by `sacct --helpformat`. */
static void format_fields(const char *known_fields, char *text, size_t size)
{
	size_t length = (size_t)snprintf(text, size, "--format=");

	for (size_t i = 0; i < ARRAY_SIZE(fields) && length < size; i++) {
		if (parse_has_word(known_fields, fields[i].name))
			length += (size_t)snprintf(text + length, size - length, "%s%s",
						   text[length - 1] == '=' ? "" : ",",
						   fields[i].name);
	}
}

static bool make_command(enum manager_question question, const struct query_request *request,
			 const char *known_fields, struct manager_command *ret)
{
	const char *const fields_argv[] = { "sacct", "--helpformat", NULL };
	const char *const accounts_argv[] = { "sacctmgr",
					      "--parsable2",
					      "--noheader",
					      "show",
					      "account",
					      "withcoordinator",
					      "format=account,coordinators",
					      NULL };
	const char *const runs_argv[] = { "sacct",	   "--allusers",  "--duplicates",
					  "--allocations", "--parsable2", "--noconvert",
					  ret->texts[0],   ret->texts[1], ret->texts[2],
					  ret->texts[3],   NULL };
	char delimiter[DELIMITER_SIZE];

	if (question == QUESTION_FIELDS) {
		memcpy(ret->argv, fields_argv, sizeof(fields_argv));
		return true;
	}
	if (question == QUESTION_ACCOUNTS) {
		memcpy(ret->argv, accounts_argv, sizeof(accounts_argv));
		return true;
	}
	format_delimiter(request->mark, delimiter);
	snprintf(ret->texts[0], sizeof(ret->texts[0]), "--delimiter=%s", delimiter);
	format_moment(request->since_s, "starttime", ret->texts[1], sizeof(ret->texts[1]));
	format_moment(request->until_s, "endtime", ret->texts[2], sizeof(ret->texts[2]));
	format_fields(known_fields, ret->texts[3], sizeof(ret->texts[3]));
	memcpy(ret->argv, runs_argv, sizeof(runs_argv));
	return true;
}

/* ---- reading ---- */

/* Cut off and return the next field of a row; NULL: the text ends within it. */
static char *cut_field(struct manager_answer *a, const char *delimiter, bool is_last)
{
	char *begin = a->at, *end = strstr(begin, is_last ? "\n" : delimiter);

	if (!end)
		return NULL;
	*end = '\0';
	a->at = end + (is_last ? 1 : strlen(delimiter));
	return begin;
}

static size_t find_field(const char *name)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(fields) && strcmp(fields[i].name, name) != 0)
		i++;
	return i; /* ARRAY_SIZE(fields): one that says nothing to us */
}

/* Whether its last row has all columns. */
static bool is_whole(const char *at, const char *delimiter, size_t columns)
{
	for (size_t i = 0; *at || i % columns; i++) {
		const char *behind = i % columns + 1 < columns ? delimiter : "\n",
			   *end = strstr(at, behind);

		if (!end)
			return false;
		at = end + strlen(behind);
	}
	return true;
}

/* Its first line names the columns. */
static int open_answer(struct manager_answer *a, struct error *err)
{
	char delimiter[DELIMITER_SIZE], *line, *at, *next;
	bool has_id = false;

	format_delimiter(a->mark, delimiter);
	if (strlen(a->text) != a->length)
		return error_set(err, -EBADMSG, "sacct's answer has a NUL in it");
	a->at = a->text;
	line = cut_field(a, delimiter, true);
	for (at = line; at && a->column_count < ARRAY_SIZE(a->columns); at = next) {
		next = strstr(at, delimiter);
		if (next) {
			*next = '\0';
			next += strlen(delimiter);
		}
		has_id |= strcmp(at, "JobIDRaw") == 0;
		a->columns[a->column_count++] = find_field(at);
	}
	if (!has_id || a->column_count < 2)
		return error_set(err, -EBADMSG,
				 "sacct's answer does not begin with names of fields");
	return is_whole(a->at, delimiter, a->column_count)
		       ? 0
		       : error_set(err, -EBADMSG, "sacct's answer breaks off");
}

/* Slurm says "0:0" of what has not ended, and how long it has run so far. */
static void settle(struct store_run *run)
{
	/* before 23.02 what was cancelled while it waited began when it ended, on no node */
	if (run->end.is_known && run->start.number == run->end.number && !run->node_list)
		run->start = (struct value){};
	if (run->end.is_known && run->start.is_known && run->end.number >= run->start.number)
		return;
	run->exit_code = run->signal = run->derived_exit_code = run->elapsed = (struct value){};
	if (!run->suspended.number)
		run->suspended = (struct value){};
	if (!run->start.is_known)
		run->nodes = run->cores = run->gpus = (struct value){};
}

static int next_run(struct manager_answer *a, struct store_run *ret, struct error *err)
{
	char delimiter[DELIMITER_SIZE];

	format_delimiter(a->mark, delimiter);
	while (*a->at) {
		struct store_run run = { .manager = manager_slurm.name, .cluster = "" };

		for (size_t i = 0; i < a->column_count; i++) {
			char *text = cut_field(a, delimiter, i + 1 == a->column_count);

			if (!text) /* open_answer() has seen that it is whole */
				return error_set(err, -EBADMSG, "sacct's answer breaks off");
			if (a->columns[i] < ARRAY_SIZE(fields))
				fields[a->columns[i]].take(text, &run,
							   fields[a->columns[i]].offset);
		}
		if (run.id && strchr(run.id, '.')) /* a step */
			continue;
		if (!value_is_run(&run))
			return error_set(
				err, -EBADMSG,
				"a row of sacct has no number, state or moment of submission");
		settle(&run);
		*ret = run;
		return 1;
	}
	return 0;
}

/* "chem|ann,bob" */
static bool next_coordinator(struct manager_answer *a, const char **ret_account,
			     const char **ret_user)
{
	char *line;

	while (!a->users || !*a->users) {
		line = parse_next_line(&a->at);
		if (!line)
			return false;
		a->account = strsep(&line, "|");
		a->users = line;
	}
	*ret_account = a->account;
	*ret_user = strsep(&a->users, ",");
	return true;
}

const struct manager manager_slurm = {
	.name = "slurm",
	.command = make_command,
	.open = open_answer,
	.next = next_run,
	.next_coordinator = next_coordinator,
};
