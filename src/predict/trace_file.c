/* SPDX-License-Identifier: MIT */
#include "predict/trace_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "basic/timestamp.h"

#define NS UINT64_C(1000000000)
#define SECONDS_MAX (INT64_MAX / NS / 2)
#define KIB 1024.0
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

void trace_file_clear(struct trace_file *file)
{
	free(file->jobs);
	*file = (struct trace_file){};
}

static struct past_job *add_job(struct trace_file *file)
{
	struct past_job *job;

	if (array_reserve(&file->jobs, &file->room, file->count, sizeof(*file->jobs)) < 0)
		return NULL;
	job = &file->jobs[file->count++];
	*job = (struct past_job){};
	for (enum target t = 0; t < TARGETS; t++)
		job->outcome.values[t] = NAN;
	return job;
}

/* Without the end that other systems give it. */
static char *parse_next_row(char **text)
{
	char *line = parse_next_line(text);

	if (line)
		line[strcspn(line, "\r")] = '\0';
	return line;
}

/* Not negative, and finite. */
static bool parse_number(const char *text, double *ret)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end || !(number >= 0) || !(number < (double)SECONDS_MAX))
		return false;
	*ret = number;
	return true;
}

/* ---- SWF ---- */

/* clang-format off */
enum {
	SWF_JOB, SWF_SUBMIT, SWF_WAIT, SWF_RUN, SWF_PROCS, SWF_CPU_S, SWF_MEMORY,
	SWF_ASKED_PROCS, SWF_LIMIT, SWF_ASKED_MEMORY, SWF_STATUS, SWF_USER, SWF_GROUP,
	SWF_PROGRAM, SWF_QUEUE, SWF_PARTITION, SWF_FIELDS = 18,
};
/* clang-format on */
#define SWF_COMPLETED 1
#define SWF_CANCELLED 5

static int take_swf(char *line, struct trace_file *ret)
{
	double fields[SWF_FIELDS]; /* -1: not known */
	const char *words[SWF_FIELDS];
	const double *procs = &fields[SWF_ASKED_PROCS];
	struct past_job *job;

	for (size_t i = 0; i < SWF_FIELDS; i++) {
		words[i] = parse_next_word(&line);
		if (!words[i]) {
			ret->refused++;
			return 0;
		}
		if (!parse_number(words[i], &fields[i]))
			fields[i] = -1;
	}
	if (fields[SWF_SUBMIT] < 0 || *words[SWF_USER] == '-') {
		ret->refused++;
		return 0;
	}
	if (fields[SWF_RUN] <= 0 || (int64_t)fields[SWF_STATUS] == SWF_CANCELLED) {
		ret->silent++;
		return 0;
	}
	job = add_job(ret);
	if (!job)
		return -ENOMEM;
	if (*procs <= 0)
		procs = &fields[SWF_PROCS];
	job->request = (struct job_request){
		.user = request_hash(words[SWF_USER]),
		.account = request_hash(words[SWF_GROUP]),
		.partition = request_hash(words[SWF_PARTITION]),
		.qos = request_hash(words[SWF_QUEUE]),
		.name = request_hash(words[SWF_PROGRAM]),
		.cores = MAX(*procs, 0.0),
		.limit_s = MAX(fields[SWF_LIMIT], 0.0),
		.memory_bytes = MAX(fields[SWF_ASKED_MEMORY], 0.0) * KIB * MAX(*procs, 1.0),
		.submit_ns = (uint64_t)fields[SWF_SUBMIT] * NS,
	};
	job->outcome.end_ns =
		(uint64_t)MIN(fields[SWF_SUBMIT] + MAX(fields[SWF_WAIT], 0.0) + fields[SWF_RUN],
			      (double)SECONDS_MAX) *
		NS;
	job->outcome.is_lower_bound = (int64_t)fields[SWF_STATUS] != SWF_COMPLETED &&
				      fields[SWF_LIMIT] > 0 && fields[SWF_RUN] >= fields[SWF_LIMIT];
	job->outcome.values[TARGET_RUNTIME] = fields[SWF_RUN];
	if (fields[SWF_MEMORY] > 0)
		job->outcome.values[TARGET_MEMORY] = fields[SWF_MEMORY] * KIB *
						     MAX(fields[SWF_PROCS], 1.0);
	if (fields[SWF_CPU_S] > 0)
		job->outcome.values[TARGET_CORES] = fields[SWF_CPU_S] *
						    MAX(fields[SWF_PROCS], 1.0) / fields[SWF_RUN];
	return 0;
}

int trace_file_parse_swf(char *text, struct trace_file *ret, struct error *err)
{
	char *line;
	int r = 0;

	while (r == 0 && (line = parse_next_row(&text))) {
		if (*line && *line != ';')
			r = take_swf(line, ret);
	}
	if (r < 0)
		return error_set_errno(err, r, "cannot read the jobs");
	return ret->count
		       ? 0
		       : error_set(err, -EINVAL, "it has no job in the Standard Workload Format");
}

/* ---- sacct ---- */

/* clang-format off */
enum sacct_field {
	ID, USER, ACCOUNT, PARTITION, QOS, NAME, STATE, SUBMIT, END, ELAPSED, LIMIT, CORES,
	NODES, MEMORY, PEAK, CPU_S, JOULES, LIMIT_S, GPUS, SACCT_FIELDS,
};
/* clang-format on */
/* clang-format off */
static const struct {
	const char *name;
	enum sacct_field field;
} sacct_names[] = { /* the first that is there counts */
	{ "JobID", ID }, { "JobIDRaw", ID }, { "User", USER }, { "UID", USER },
	{ "Account", ACCOUNT }, { "Partition", PARTITION }, { "QOS", QOS }, { "JobName", NAME },
	{ "State", STATE }, { "Submit", SUBMIT }, { "End", END }, { "ElapsedRaw", ELAPSED },
	{ "TimelimitRaw", LIMIT }, { "ReqCPUS", CORES }, { "AllocCPUS", CORES },
	{ "ReqNodes", NODES }, { "NNodes", NODES }, { "AllocNodes", NODES },
	{ "ReqMem", MEMORY }, { "MaxRSS", PEAK }, { "CPUTimeRAW", CPU_S },
	{ "ConsumedEnergyRaw", JOULES },
	/* NREL's eagle-jobs, with commas between */
	{ "job_id", ID }, { "user", USER }, { "account", ACCOUNT }, { "partition", PARTITION }, { "qos", QOS },
	{ "name", NAME }, { "state", STATE }, { "submit_time", SUBMIT }, { "end_time", END },
	{ "run_time", ELAPSED }, { "wallclock_req", LIMIT_S }, { "processors_req", CORES },
	{ "nodes_req", NODES }, { "gpus_req", GPUS },
};
/* clang-format on */
#define COLUMNS_MAX 256

struct sacct_head {
	int of[COLUMNS_MAX]; /* enum sacct_field; -1: nothing of ours */
	size_t count;
	const char *separator;
};

/* NULL: no more.  Of a CSV the quotes go, and a comma between them stays. */
static const char *take_cell(char **line, const char *separator)
{
	char *cell = *line, *to = cell, *from = cell;

	if (!cell || *separator != ',' || *cell != '"')
		return strsep(line, separator);
	while (*++from) {
		if (*from == '"' && *++from != '"')
			break;
		*to++ = *from;
	}
	(void)strsep(&from, separator);
	*line = from;
	*to = '\0';
	return cell;
}

static void parse_head(char *line, struct sacct_head *ret)
{
	bool is_there[SACCT_FIELDS] = {};
	const char *word;

	if (strncmp(line, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
		line += strlen(BYTE_ORDER_MARK);
	ret->separator = strchr(line, '|') ? "|" : ",";
	while (ret->count < COLUMNS_MAX && (word = take_cell(&line, ret->separator))) {
		ret->of[ret->count] = -1;
		for (size_t i = 0; i < ARRAY_SIZE(sacct_names); i++) {
			enum sacct_field field = sacct_names[i].field;

			if (strcmp(sacct_names[i].name, word) != 0 || is_there[field])
				continue;
			ret->of[ret->count] = (int)field;
			is_there[field] = true;
		}
		ret->count++;
	}
}

static uint64_t moment_of(const char *text)
{
	char whole[TIMESTAMP_SIZE], *blank;
	uint64_t ns = 0, seconds;

	if (parse_u64(text, &seconds) == 0)
		return seconds < SECONDS_MAX ? seconds * NS : 0;
	if (snprintf(whole, sizeof(whole), "%sZ", text) >= (int)sizeof(whole))
		return 0;
	blank = strchr(whole, ' '); /* "2026-01-01 08:55:55" */
	if (blank)
		*blank = 'T';
	if (timestamp_parse(whole, &ns) < 0)
		return 0;
	return ns;
}

/* "16000M", "1.50G", "2048K", with "n" or "c" behind it in older versions; bare: bytes. */
static double bytes_of(const char *text)
{
	static const char units[] = "KMGT";
	char *end;
	double number = strtod(text, &end);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (end == text || !(number >= 0) || !(number < 1e15))
		return NAN;
	return unit ? number * KIB * pow(KIB, (double)(unit - units)) : number;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* The memory of its steps is that of their job, which stands before them. */
static void take_step(const char *const fields[SACCT_FIELDS], struct trace_file *ret)
{
	struct past_job *job = ret->count ? &ret->jobs[ret->count - 1] : NULL;
	char id[64];
	size_t length = strcspn(fields[ID], ".");
	double bytes = bytes_of(fields[PEAK]);

	if (!job || length >= sizeof(id) || !(bytes > 0))
		return;
	snprintf(id, sizeof(id), "%.*s", (int)length, fields[ID]);
	if (job->id == request_hash(id))
		job->outcome.values[TARGET_MEMORY] = fmax(job->outcome.values[TARGET_MEMORY],
							  bytes);
}

static int take_sacct(char *line, const struct sacct_head *head, struct trace_file *ret)
{
	static const char *const killed[] = { "TIMEOUT", "OUT_OF_MEMORY", "DEADLINE" };
	static const char *const ended[] = { "COMPLETED", "FAILED" };
	const char *fields[SACCT_FIELDS], *word;
	bool is_killed = false, is_ended = false;
	double elapsed_s, joules;
	struct past_job *job;
	size_t column = 0;

	for (size_t i = 0; i < SACCT_FIELDS; i++)
		fields[i] = "";
	while ((word = take_cell(&line, head->separator))) {
		if (column < head->count && head->of[column] >= 0)
			fields[head->of[column]] = word;
		column++;
	}
	if (column != head->count) { /* a name with a "|" in it, or a row that is broken in two */
		ret->refused++;
		return 0;
	}
	if (strchr(fields[ID], '.')) {
		take_step(fields, ret);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(killed); i++)
		is_killed |= begins(fields[STATE], killed[i]);
	for (size_t i = 0; i < ARRAY_SIZE(ended); i++)
		is_ended |= begins(fields[STATE], ended[i]);
	if (!(is_killed || is_ended) || !parse_number(fields[ELAPSED], &elapsed_s) ||
	    !moment_of(fields[SUBMIT]) || !moment_of(fields[END])) {
		ret->silent++;
		return 0;
	}
	job = add_job(ret);
	if (!job)
		return -ENOMEM;
	job->id = request_hash(fields[ID]);
	job->request = (struct job_request){
		.user = request_hash(fields[USER]),
		.account = request_hash(fields[ACCOUNT]),
		.partition = request_hash(fields[PARTITION]),
		.qos = request_hash(fields[QOS]),
		.name = request_hash_name(fields[NAME]),
		.submit_ns = moment_of(fields[SUBMIT]),
	};
	(void)parse_number(fields[CORES], &job->request.cores);
	(void)parse_number(fields[NODES], &job->request.nodes);
	if (parse_number(fields[LIMIT], &job->request.limit_s))
		job->request.limit_s *= 60;
	(void)parse_number(fields[LIMIT_S], &job->request.limit_s);
	(void)parse_number(fields[GPUS], &job->request.gpus);
	job->request.memory_bytes = fmax(0, bytes_of(fields[MEMORY]));
	job->outcome.is_lower_bound = is_killed;
	job->outcome.end_ns = moment_of(fields[END]);
	job->outcome.values[TARGET_RUNTIME] = elapsed_s;
	if (bytes_of(fields[PEAK]) > 0)
		job->outcome.values[TARGET_MEMORY] = bytes_of(fields[PEAK]);
	if (elapsed_s > 0 && parse_number(fields[JOULES], &joules) && joules > 0) {
		job->outcome.values[TARGET_ENERGY] = joules;
		job->outcome.values[TARGET_POWER] = joules / elapsed_s /
						    MAX(job->request.nodes, 1.0);
	}
	return 0;
}

int trace_file_parse_sacct(char *text, struct trace_file *ret, struct error *err)
{
	static const enum sacct_field needed[] = { ID, USER, STATE, SUBMIT, END, ELAPSED };
	static const char *const words[] = {
		"JobID", "User", "State", "Submit", "End", "ElapsedRaw"
	};
	struct sacct_head head = {};
	char *line = parse_next_row(&text);
	int r = 0;

	if (line)
		parse_head(line, &head);
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		bool is_there = false;

		for (size_t column = 0; column < head.count; column++)
			is_there |= head.of[column] == (int)needed[i];
		if (!is_there)
			return error_set(err, -EINVAL,
					 "its head lacks %s: it is to be the output of 'sacct -P "
					 "-o ...', or the CSV of eagle-jobs",
					 words[i]);
	}
	while (r == 0 && (line = parse_next_row(&text))) {
		if (*line)
			r = take_sacct(line, &head, ret);
	}
	if (r < 0)
		return error_set_errno(err, r, "cannot read the jobs");
	return ret->count ? 0 : error_set(err, -EINVAL, "it has no job that ended");
}
