/* SPDX-License-Identifier: MIT */
/* PBS Pro, OpenPBS and Torque, by their accounting log: a file a day, a line a record.
 *
 *   11/28/2026 10:00:16;E;4413.server;user=ann ... ctime=1795860000 ... Exit_status=0 ...
 *
 * Records D and A, and some R, have no more than the job's id.  The lines of a job are read
 * together and in their order, so that the last state of each run counts; where its other lines
 * were read before, the store has what they said. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "server/store/runs.h"
#include "server/sync/manager.h"

#define NS UINT64_C(1000000000)
#define HOUR_S UINT64_C(3600)
#define DAY_S (24 * HOUR_S)
#define ZONE_STEP_S 900 /* time zones differ by quarters of an hour */
#define ZONE_SLACK_S 1 /* between an end and its stamp */
#define ZONE_MARK "zone " /* before a line that shows the log's time zone, and nothing else */
#define STAMP_FORMAT "%m/%d/%Y %H:%M:%S"
#define STAMP_LENGTH 19 /* "11/28/2026 10:00:16" */
#define KINDS "QSRDAE" /* of what becomes of a job */
#define SIGNALS 256 /* an exit status from there on is a signal's */
#define SIGNAL_MAX 128
#define TERMINATED 15

/* Below zero: it did not come to run. */
static void take_exit(char *text, struct store_run *run, size_t offset UNUSED)
{
	uint64_t number;

	run->state = *text == '-' || strcmp(text, "0") != 0 ? "FAILED" : "COMPLETED";
	if (parse_u64(text, &number) < 0)
		return;
	if (number >= SIGNALS && number < SIGNALS + SIGNAL_MAX)
		run->signal = value_known(number - SIGNALS);
	else
		run->exit_code = value_known(number);
}

/* How often it was started. */
static void take_count(char *text, struct store_run *run, size_t offset)
{
	uint64_t number;

	if (parse_u64(text, &number) == 0 && number)
		*value_of_run(run, offset) = value_known(number - 1);
}

/* clang-format off */
static const struct value_field fields[] = {
	{ "user", value_take_text, RUN_AT(user) },
	{ "account", value_take_text, RUN_AT(account) },
	{ "jobname", value_take_text, RUN_AT(name) },
	{ "queue", value_take_text, RUN_AT(partition) },
	{ "ctime", value_take_epoch, RUN_AT(submit) },
	{ "etime", value_take_epoch, RUN_AT(eligible) },
	{ "start", value_take_epoch, RUN_AT(start) },
	{ "end", value_take_epoch, RUN_AT(end) },
	{ "exec_host", value_take_text, RUN_AT(node_list) },
	{ "run_count", take_count, RUN_AT(restarts) },
	{ "start_count", take_count, RUN_AT(restarts) },
	{ "Exit_status", take_exit, 0 },
	{ "Resource_List.nodect", value_take_number, RUN_AT(nodes) },
	{ "Resource_List.nodect", value_take_number, RUN_AT(requested_nodes) },
	{ "unique_node_count", value_take_number, RUN_AT(nodes) },
	{ "Resource_List.ncpus", value_take_number, RUN_AT(requested_cores) },
	{ "Resource_List.ngpus", value_take_number, RUN_AT(requested_gpus) },
	{ "Resource_List.mem", value_take_size, RUN_AT(requested_memory) },
	{ "Resource_List.walltime", value_take_duration, RUN_AT(time_limit) },
	{ "resources_used.ncpus", value_take_number, RUN_AT(cores) },
	{ "total_execution_slots", value_take_number, RUN_AT(cores) },
	{ "resources_used.walltime", value_take_duration, RUN_AT(elapsed) },
	{},
};
/* clang-format on */

/* ---- asking ---- */

/* For sed: lines of the hours that the question is about, and of one more on each side, by the
 * local clock; and one end of a job, whatever its hour: of a zone behind ours those hours may have
 * no line. */
static void print_hours(const struct query_request *request, char *ret, size_t size)
{
	char date[16] = "", day[16], hour[4];
	FILE *out = fmemopen(ret, size, "w");

	if (!out)
		return;
	for (uint64_t s = request->since_s - MIN(request->since_s, HOUR_S);
	     s <= request->until_s + HOUR_S; s += HOUR_S) {
		const time_t moment = (time_t)s;
		struct tm tm;

		if (!localtime_r(&moment, &tm))
			break;
		strftime(day, sizeof(day), "%m/%d/%Y", &tm);
		strftime(hour, sizeof(hour), "%H", &tm);
		if (strcmp(day, date) == 0)
			fprintf(out, "|%s", hour);
		else
			fprintf(out, "%s\\#^%s (%s", *date ? "):#p;" : "", day, hour);
		memcpy(date, day, sizeof(date));
	}
	fprintf(out, "%s0,/^[^;]*;E;/{/^[^;]*;E;/s/^/" ZONE_MARK "/p}", *date ? "):#p;" : "");
	fclose(out);
}

/* Within its directory: of the files that were written since, the lines of that time. */
static bool make_command(enum manager_question question, const struct query_request *request,
			 const char *known_fields UNUSED, struct manager_command *ret)
{
	const char *const argv[] = { "find",  ".",     "-maxdepth", "1",	   "-type",
				     "f",     "-name", "[0-9]*",    "-newermt",	   ret->texts[0],
				     "-exec", "sed",   "-nE",	    ret->texts[1], "{}",
				     "+",     NULL };

	snprintf(ret->texts[0], sizeof(ret->texts[0]), "@%" PRIu64, request->since_s);
	print_hours(request, ret->texts[1], sizeof(ret->texts[1]));
	memcpy(ret->argv, argv, sizeof(argv));
	return question == QUESTION_RUNS;
}

/* ---- lines ---- */

/* ";E;4413.server;": where the id begins; NULL: it is no record of ours. */
static const char *find_id(const char *line)
{
	if (strnlen(line, STAMP_LENGTH) < STAMP_LENGTH || line[STAMP_LENGTH] != ';' ||
	    !line[STAMP_LENGTH + 1] || !strchr(KINDS, line[STAMP_LENGTH + 1]) ||
	    line[STAMP_LENGTH + 2] != ';')
		return NULL;
	line += STAMP_LENGTH + 3;
	/* the array as a whole is not one of its jobs */
	return strcspn(line, ";") && line[strcspn(line, ";")] &&
			       strcspn(line, "[;") + 1 != strcspn(line, "];")
		       ? line
		       : NULL;
}

static uint64_t local_moment(const char *stamp)
{
	struct tm tm = { .tm_isdst = -1 };
	time_t seconds = strptime(stamp, STAMP_FORMAT, &tm) ? mktime(&tm) : 0;

	return seconds > 0 ? (uint64_t)seconds * NS : 0;
}

/* "user=ann group=\"RConsole Users\" ...": the first of a name counts, and no text of a user
 * comes before it. */
static void take_message(char *at, struct store_run *run)
{
	char seen[ARRAY_SIZE(fields)] = {};

	while (*at) {
		char *name = at + strspn(at, " "), *text = name + strcspn(name, "= "), *end;
		bool is_quoted;

		if (*text != '=') {
			at = text + strspn(text, " ");
			continue;
		}
		*text++ = '\0';
		is_quoted = *text == '"';
		text += is_quoted;
		end = text + strcspn(text, is_quoted ? "\"" : " ");
		at = *end ? end + 1 : end;
		*end = '\0';
		for (size_t i = 0; fields[i].name; i++) {
			if (strcmp(fields[i].name, name) == 0 && !seen[i]++)
				fields[i].take(text, run, fields[i].offset);
		}
	}
}

static struct store_run take_line(char *line, const char *cluster)
{
	struct store_run run = { .manager = manager_pbs.name, .cluster = cluster };
	char kind[] = { line[STAMP_LENGTH + 1], '\0' };
	char *id = line + STAMP_LENGTH + 3, *message = strchr(id, ';');
	const char *index = strchr(id, '[');
	uint64_t number;

	*message++ = '\0';
	value_take_text(id, &run, RUN_AT(id));
	if (index && index < message && index++ && parse_leading_u64(&index, &number) == 0)
		run.array_index = value_known(number);
	take_message(message, &run);
	value_take_state(kind, &run, 0);
	/* a run that is not the first one is known by its start: each has another */
	if (run.restarts.number && run.start.is_known)
		run.submit = run.start;
	if (!run.end.is_known && strchr("DAR", *kind) && local_moment(line))
		run.end = value_known(local_moment(line));
	return run;
}

/* What the ends of jobs say of the log's time zone. */
struct zone {
	bool is_ours; /* by one of them at least */
	int64_t ahead_s; /* by another one; 0: by none */
};

/* The end of a job has two times: the stamp, by the clock of PBS's server, and "end", since the
 * epoch. */
static void look_at_zone(const char *line, struct zone *zone)
{
	_cleanup_free_ char *copy = NULL;
	struct tm stamp = {}, local;
	struct store_run run;
	int64_t ahead_s, rest_s;
	time_t end;

	if (zone->is_ours || line[STAMP_LENGTH + 1] != 'E' || !(copy = strdup(line)))
		return;
	run = take_line(copy, "");
	end = (time_t)(run.end.number / NS);
	if (!run.end.is_known || !strptime(line, STAMP_FORMAT, &stamp) ||
	    !localtime_r(&end, &local))
		return;
	ahead_s = timegm(&stamp) - timegm(&local);
	rest_s = llabs(ahead_s) % ZONE_STEP_S;
	if (llabs(ahead_s) < ZONE_STEP_S - ZONE_SLACK_S)
		zone->is_ours = true;
	else if ((rest_s <= ZONE_SLACK_S || rest_s >= ZONE_STEP_S - ZONE_SLACK_S) &&
		 llabs(ahead_s) < (int64_t)DAY_S)
		zone->ahead_s = ahead_s; /* else it was logged late */
}

/* In another time zone lines of other hours would be taken, or none. */
static int check_zone(const struct zone *zone, struct error *err)
{
	const double steps = round((double)zone->ahead_s / ZONE_STEP_S);

	if (zone->is_ours || !zone->ahead_s)
		return 0;
	return error_set(err, -EBADMSG,
			 "the accounting log is of another time zone, %+g hours from the server's: "
			 "start the server with TZ set to that zone",
			 steps * ZONE_STEP_S / (double)HOUR_S);
}

static int compare_lines(const void *left, const void *right)
{
	const char *a = *(char *const *)left, *b = *(char *const *)right;
	const char *id = find_id(a), *other = find_id(b);
	size_t length = strcspn(id, ";"), other_length = strcspn(other, ";");
	int r = strncmp(id, other, MIN(length, other_length));

	if (r == 0)
		r = (length > other_length) - (length < other_length);
	if (r == 0) /* the year, then month and day, then the time */
		r = strncmp(a + 6, b + 6, 4);
	if (r == 0)
		r = strncmp(a, b, 6);
	if (r == 0)
		r = strncmp(a + 10, b + 10, STAMP_LENGTH - 10);
	/* within a second in the file's order */
	return r ? r : (a > b) - (a < b);
}

static int open_answer(struct manager_answer *a, struct error *err)
{
	struct zone asked = {}, any = {}; /* of the hours asked for, and of whatever hour */
	size_t count = 0;
	char *line;

	if (strlen(a->text) != a->length || (a->length && a->text[a->length - 1] != '\n'))
		return error_set(err, -EBADMSG,
				 "the accounting log has a NUL in it, or breaks off");
	for (const char *at = a->text; (at = strchr(at, '\n')); at++)
		count++;
	a->lines = calloc(count + 1, sizeof(*a->lines));
	if (!a->lines)
		return error_set_errno(err, ENOMEM, "cannot read the accounting log");
	a->at = a->text;
	while ((line = parse_next_line(&a->at))) {
		const size_t mark = strlen(ZONE_MARK);

		if (strncmp(line, ZONE_MARK, mark) == 0 && find_id(line + mark))
			look_at_zone(line + mark, &any);
		if (!find_id(line))
			continue;
		look_at_zone(line, &asked);
		a->lines[a->line_count++] = line;
	}
	qsort(a->lines, a->line_count, sizeof(*a->lines), compare_lines);
	return check_zone(asked.is_ours || asked.ahead_s ? &asked : &any, err);
}

/* ---- runs ---- */

/* What PBS itself does not tell apart: it ends a job that takes too long as it ends a deleted one.
 */
static void settle(struct store_run *run)
{
	if (run->signal.number == TERMINATED && run->elapsed.is_known && run->time_limit.is_known &&
	    run->elapsed.number >= run->time_limit.number)
		run->state = "TIMEOUT";
	else if (run->signal.number == TERMINATED && run->state &&
		 strcmp(run->state, "FAILED") == 0)
		run->state = "CANCELLED";
	if (!run->start.is_known)
		run->nodes = run->cores = (struct value){};
}

static void add_line(struct store_run *run, const struct store_run *more)
{
	const char *state = run->state;
	bool has_ended = run->end.is_known;

	store_run_add(run, more);
	/* the deletion of a job is logged before its end; later records do not change the end */
	if (has_ended && (!more->end.is_known || !run->state || strcmp(run->state, "FAILED") == 0))
		run->state = state;
}

static int next_run(struct manager_answer *a, struct store_run *ret, struct error *err)
{
	struct store_run run = {};

	while (a->line_at < a->line_count || a->has_next) {
		struct store_run more = a->has_next ? *a->next
						    : take_line(a->lines[a->line_at++], a->cluster);
		bool is_same = run.id && strcmp(run.id, more.id) == 0 &&
			       (!more.submit.is_known ||
				(run.submit.is_known ? more.submit.number == run.submit.number
						     : more.end.is_known)); /* else another run */

		a->has_next = run.id && !is_same;
		if (a->has_next) {
			*a->next = more;
			break;
		}
		if (run.id)
			add_line(&run, &more);
		else if (more.submit.is_known || more.end.is_known)
			run = more;
	}
	if (!run.id)
		return 0;
	settle(&run);
	*ret = run;
	return (run.submit.is_known ? value_is_run(&run) : run.state && run.end.is_known)
		       ? 1
		       : error_set(err, -EBADMSG, "a record of PBS makes no sense");
}

const struct manager manager_pbs = {
	.name = "pbs",
	.is_of_files = true,
	.command = make_command,
	.open = open_answer,
	.next = next_run,
};
