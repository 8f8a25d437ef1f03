/* SPDX-License-Identifier: MIT */
/* LSF, by one bjobs for all jobs: those that wait, run, or ended within its CLEAN_PERIOD.  Its
 * delimiter is one character: with it in a project's name, users spoil a row of their own; the
 * job's name is last. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "server/store/runs.h"
#include "server/sync/manager.h"

#define DELIMITER '\x1f'
#define LEADING(text) (text)[strspn(text, "0123456789")] = '\0'

/* "Nov 28 10:00:16 2026 L": what follows says how sure it is. */
static void take_moment(char *text, struct store_run *run, size_t offset)
{
	struct tm tm = {};

	if (strptime(text, "%b %d %H:%M:%S %Y", &tm))
		value_set_utc(run, offset, &tm);
}

/* "TERM_RUNLIMIT: job killed after reaching LSF run time limit" */
static void take_reason(char *text, struct store_run *run, size_t offset)
{
	text[strcspn(text, ":")] = '\0';
	value_take_state(text, run, offset);
}

/* "125 second(s)" */
static void take_seconds(char *text, struct store_run *run, size_t offset)
{
	LEADING(text);
	value_take_seconds(text, run, offset);
}

/* "60.0/hostA" */
static void take_minutes(char *text, struct store_run *run, size_t offset)
{
	LEADING(text);
	value_take_minutes(text, run, offset);
}

/* "-" where there is none. */
static void take_word(char *text, struct store_run *run, size_t offset)
{
	if (strcmp(text, "-") != 0)
		value_take_text(text, run, offset);
}

static void take_index(char *text, struct store_run *run, size_t offset)
{
	if (strcmp(text, "0") != 0)
		value_take_number(text, run, offset);
}

/* clang-format off */
static const struct value_field fields[] = {
	{ "jobid", value_take_text, RUN_AT(id) },
	{ "jobindex", take_index, RUN_AT(array_index) },
	{ "stat", value_take_state, 0 },
	{ "exit_reason", take_reason, 0 },
	{ "exit_code", value_take_number, RUN_AT(exit_code) },
	{ "user", take_word, RUN_AT(user) },
	{ "queue", take_word, RUN_AT(partition) },
	{ "proj_name", take_word, RUN_AT(account) },
	{ "submit_time", take_moment, RUN_AT(submit) },
	{ "start_time", take_moment, RUN_AT(start) },
	{ "finish_time", take_moment, RUN_AT(end) },
	{ "run_time", take_seconds, RUN_AT(elapsed) },
	{ "runtimelimit", take_minutes, RUN_AT(time_limit) },
	{ "nalloc_slot", value_take_number, RUN_AT(cores) },
	{ "exec_host", take_word, RUN_AT(node_list) },
	{ "job_name", take_word, RUN_AT(name) },
	{},
};
/* clang-format on */
#define FIELDS (ARRAY_SIZE(fields) - 1)

static bool make_command(enum manager_question question, const struct query_request *request UNUSED,
			 const char *known_fields UNUSED, struct manager_command *ret)
{
	const char *const argv[] = { "bjobs",	  "-a", "-u",	       "all",
				     "-noheader", "-o", ret->texts[0], NULL };
	size_t length = 0;

	for (size_t i = 0; i < FIELDS; i++)
		length += (size_t)snprintf(ret->texts[0] + length, sizeof(ret->texts[0]) - length,
					   "%s ", fields[i].name);
	snprintf(ret->texts[0] + length, sizeof(ret->texts[0]) - length, "delimiter='%c'",
		 DELIMITER);
	memcpy(ret->argv, argv, sizeof(argv));
	return question == QUESTION_RUNS;
}

static int open_answer(struct manager_answer *a, struct error *err)
{
	a->at = a->text;
	if (strlen(a->text) != a->length || (a->length && a->text[a->length - 1] != '\n'))
		return error_set(err, -EBADMSG, "bjobs' answer has a NUL in it, or breaks off");
	return 0;
}

/* Of one that has not ended bjobs tells when it must. */
static void settle(struct manager_answer *a, struct store_run *run)
{
	static const char *const open[] = { "PENDING", "RUNNING", "SUSPENDED" };

	for (size_t i = 0; run->state && i < ARRAY_SIZE(open); i++) {
		if (strcmp(run->state, open[i]) == 0)
			run->end = run->elapsed = run->exit_code = (struct value){};
	}
	if (run->end.is_known && !run->exit_code.is_known && run->state &&
	    strcmp(run->state, "COMPLETED") == 0)
		run->exit_code = value_known(0);
	if (!run->array_index.is_known || !run->id)
		return;
	run->array_id = run->id;
	snprintf(a->id, sizeof(a->id), "%.20s[%llu]", run->id,
		 (unsigned long long)run->array_index.number);
	run->id = a->id;
}

static int next_run(struct manager_answer *a, struct store_run *ret, struct error *err)
{
	struct store_run run = { .manager = manager_lsf.name, .cluster = a->cluster };
	char *line = parse_next_line(&a->at), *text;
	size_t count = 0;

	if (!line)
		return 0;
	while (count < FIELDS && line) {
		text = line;
		line = count + 1 < FIELDS ? strchr(text, DELIMITER) : NULL;
		if (line)
			*line++ = '\0';
		fields[count].take(text, &run, fields[count].offset);
		count++;
	}
	settle(a, &run);
	*ret = run;
	return count == FIELDS && value_is_run(&run)
		       ? 1
		       : error_set(
				 err, -EBADMSG,
				 "a line of bjobs has not all fields, or no job's number, state and "
				 "moment of submission with its year");
}

const struct manager manager_lsf = {
	.name = "lsf",
	.is_of_all = true,
	.command = make_command,
	.open = open_answer,
	.next = next_run,
};
