/* SPDX-License-Identifier: MIT */
#include "cli/site_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/anomalies.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "cli/arguments.h"
#include "cli/jobs_ask.h"
#include "cli/jobs_columns.h"
#include "cli/output.h"
#include "cli/reader.h"
#include "model/document.h"
#include "model/json_place.h"
#include "report/html.h"
#include "report/page.h"
#include "report/rows_html.h"
#include "report/rows_markdown.h"
#include "report/rows_text.h"

#define SCHEMA "jobmeter.site_report/1"
#define TOP 10 /* rows of a table */
#define JOBS_MOST 20000 /* that are looked at one by one, the newest */
#define DAY_NS (86400 * UINT64_C(1000000000))
#define HISTORY_NS (28 * DAY_NS) /* jobs so much earlier are looked at, too */
#define USERS_TYPE "users"
#define FINDINGS "findings"

/* clang-format off */
/* Tables in their order.  @by: FINDINGS, what jobs are added up by, or NULL: jobs; those with the most of @most come first.
 * @state: only jobs that ended so; NULL: all. */
static const struct part {
	const char *type, *title, *by, *columns, *most, *remark, *state;
} parts[] = {
	{ "usage", "Accounts", "account", "account,jobs,core_time,cpu_time,read,written,energy,emissions,cost", "core_seconds", NULL },
	{ "usage", "Users", "user", "user,jobs,core_time,cpu_time,read,written,energy,emissions,cost", "core_seconds", NULL },
	{ "usage", "Partitions", "partition", "partition,jobs,core_time,cpu_time,energy", "core_seconds", NULL },
	{ "energy", "Accounts", "account", "account,jobs,core_time,energy,energy_rate,emissions,cost", "energy.joules", NULL },
	{ "energy", "Users", "user", "user,jobs,core_time,energy,energy_rate,emissions,cost", "energy.joules", NULL },
	{ "energy", "Jobs with the most energy", NULL, "id,cluster,user,name,elapsed,core_time,energy,energy_rate,emissions", "energy.joules",
	  "PER CORE-HOUR is the energy by allocated cores x elapsed time: many times the usual means GPUs, or cores of which few were allocated on a node that had to stay on" },
	{ "efficiency", "Users", "user", "user,jobs,core_time,cpu,unused", "unused_core_seconds", NULL },
	{ "efficiency", "Kinds of jobs, by first finding", "reason", "reason,jobs,core_time,cpu,unused", "unused_core_seconds", NULL },
	{ "efficiency", "Jobs with the most unused core time", NULL, "id,cluster,user,name,cores,elapsed,cpu,memory,unused,reason", "unused_core_seconds",
	  "MEM is the peak of memory as a share of what was asked for; 'jobmeter report ID' says why the cores were idle" },
	{ "waste", "Users by unused core time", "user", "user,jobs,core_time,cpu,unused", "unused_core_seconds",
	  "UNUSED is allocated core time less CPU time: cores without work, or that waited for a disk or a network. Look at a large share of it first: a low CPU" },
	{ "waste", "Jobs and nodes that differ from their like", FINDINGS, NULL, NULL,
	  "USUAL is the median of so many (OF) jobs of the same user, name and cores in four weeks before, or of the other nodes; SCATTER is how far those lie from it as a rule. NUMBER is what differs most. Jobs on a node that differs are left out of this table: look at the node first" },
	{ "waste", "Core time by how jobs ended", "state", "state,jobs,core_time,energy", "core_seconds",
	  "What did not complete is mostly lost: 'jobmeter jobs --all --state TIMEOUT' lists such jobs, and so for each STATE" },
	{ "waste", "Users whose jobs reached their time limit", "user", "user,jobs,core_time,energy", "core_seconds",
	  "Their jobs were ended in state TIMEOUT: ask these users to request more time, or to write checkpoints", "TIMEOUT" },
	{ "waste", "Jobs with the most unused core time", NULL, "id,cluster,user,name,cores,elapsed,cpu,unused,reason", "unused_core_seconds", NULL },
	{ USERS_TYPE, "Users", "user", "user,jobs,core_time,cpu,unused,read,written,energy,energy_rate,emissions,cost", "core_seconds", NULL },
};

static const struct jobs_column finding_columns[] = {
	{ "what", "WHAT", JOBS_TEXT, "what" },
	{ "cluster", "CLUSTER", JOBS_TEXT, "cluster" },
	{ "user", "USER", JOBS_TEXT, "user" },
	{ "name", "NAME", JOBS_TEXT, "name" },
	{ "number", "NUMBER", JOBS_TEXT, "number" },
	{ "value", "VALUE", JOBS_TEXT, "value_text" },
	{ "median", "USUAL", JOBS_TEXT, "median_text" },
	{ "scatter", "SCATTER", JOBS_TEXT, "scatter_text" },
	{ "of", "OF", JOBS_COUNT, "of" },
};

/* What a job is held against its like by. */
static const struct jobs_column numbers[ANOMALY_NUMBERS] = {
	{ "elapsed", NULL, JOBS_SECONDS, "elapsed_seconds" },
	{ "cpu", NULL, JOBS_SHARE, "cpu_efficiency" },
	{ "memory peak", NULL, JOBS_BYTES, "memory.peak_bytes" },
	{ "read and written", NULL, JOBS_BYTES, "io.read.bytes", "io.write.bytes" },
	{ "energy", NULL, JOBS_ENERGY, "energy.joules" },
};
/* clang-format on */

int site_report_parse_type(const char *text, void *at, struct error *err)
{
	const char *word;

	for (size_t i = 0; (word = site_report_type_word(NULL, i)); i++) {
		if (strcmp(word, text) == 0) {
			*(const char **)at = word;
			return 0;
		}
	}
	return error_set(err, -EINVAL, "'--type' is waste, efficiency, energy or usage, not '%s'",
			 text);
}

const char *site_report_type_word(const void *target UNUSED, size_t i)
{
	static const char *const words[] = { "waste", "efficiency", "energy", "usage" };

	return i < ARRAY_SIZE(words) ? words[i] : NULL;
}

int site_report_parse_user(const char *text, void *at, struct error *err)
{
	struct site_report_options *options = at;

	if (options->users.count == SITE_REPORT_USERS)
		return error_set(err, -EINVAL, "'--user' is given more than %d times",
				 SITE_REPORT_USERS);
	options->users.names[options->users.count++] = text;
	return 0;
}

/* ---- what is looked at ---- */

struct table {
	const struct part *part;
	struct jobs_columns columns;
	json_t *rows; /* owned */
	size_t of; /* so many, of which these are the first; 0: not counted */
};

enum { TOTAL_JOBS, TOTAL_CORE, TOTAL_UNUSED, TOTAL_ENERGY, TOTALS };
static const char *const total_keys[TOTALS] = { "jobs", "core_seconds", "unused_core_seconds",
						"energy.joules" };

struct report {
	const char *type;
	struct job_filter filter;
	const struct site_report_options *options;
	struct reader *reader;
	struct table tables[ARRAY_SIZE(parts)];
	size_t count;
	struct anomaly_job *history; /* owned, with its texts */
	json_t *jobs; /* briefs of these, by their tags */
	json_t *found;
	double total[TOTALS]; /* over all rows of the first table */
	bool lacks_emissions; /* the server took too long */
	bool is_cut; /* there were more jobs than were looked at */
};

static void report_clear(struct report *r)
{
	for (size_t i = 0; i < r->count; i++)
		json_decref(r->tables[i].rows);
	for (size_t i = 0; r->history && i < json_array_size(r->jobs); i++)
		free((char *)(uintptr_t)r->history[i].like);
	free(r->history);
	json_decref(r->jobs);
	reader_close(r->reader);
}

/* Put it where it belongs, the greatest first, if it is among the first. */
static int keep_top(json_t *rows, const char *most, json_t *row)
{
	const double number = json_number_value(json_object_get(row, most));
	size_t at = json_array_size(rows);
	int r = 0;

	while (at > 0 &&
	       json_number_value(json_object_get(json_array_get(rows, at - 1), most)) < number)
		at--;
	if (at < TOP && number > 0)
		r = json_array_insert(rows, at, row);
	if (json_array_size(rows) > TOP)
		json_array_remove(rows, TOP);
	return r < 0 ? -ENOMEM : 0;
}

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

/* Only jobs that have ended, and did not fail, are like others.  Jobs and nodes of two clusters may
 * have one name: a node's is followed by its cluster's, behind the text of what is alike. */
static int add_history(struct report *r, json_t *row)
{
	struct anomaly_job *job = &r->history[json_array_size(r->jobs)];
	json_t *brief = json_pack(
		"{s:O?, s:O?, s:O?, s:O?, s:O?}", "id", json_object_get(row, "id"), "cluster",
		json_object_get(row, "cluster"), "user", json_object_get(row, "user"), "name",
		json_object_get(row, "name"), "node", json_object_get(row, "node"));
	char *like;

	if (!brief ||
	    asprintf(&like, "%s\n%s\n%s\n%s\n%g%c%s\n%s", text_of(row, "user"),
		     text_of(row, "name"), text_of(row, "manager"), text_of(row, "cluster"),
		     json_number_value(json_object_get(row, "cpu.allocated_cores")), '\0',
		     text_of(row, "node"), text_of(row, "cluster")) < 0)
		return json_decref(brief), -ENOMEM;
	*job = (struct anomaly_job){ .like = like,
				     .node = *text_of(row, "node") ? like + strlen(like) + 1 : NULL,
				     .tag = json_array_size(r->jobs) };
	(void)timestamp_parse(text_of(row, "start"), &job->start_ns);
	for (size_t i = 0; i < ANOMALY_NUMBERS; i++) {
		if (!jobs_cell_number(&numbers[i], row, &job->numbers[i]))
			job->numbers[i] = NAN;
	}
	return json_array_append_new(r->jobs, brief) < 0 ? free(like), -ENOMEM : 0;
}

static int take_job(struct report *r, json_t *row)
{
	const char *end = text_of(row, "end"), *state = text_of(row, "state");
	uint64_t end_ns = UINT64_MAX;
	int code = 0;

	(void)timestamp_parse(end, &end_ns);
	for (size_t i = 0; code == 0 && end_ns >= r->filter.since_ns && i < r->count; i++) {
		if (!r->tables[i].part->by)
			code = keep_top(r->tables[i].rows, r->tables[i].part->most, row);
	}
	if (code == 0 && r->history && *end && *text_of(row, "name") &&
	    (!strcmp(state, "COMPLETED") || !strcmp(state, "ENDED")))
		code = add_history(r, row);
	return code;
}

/* Page by page, so that only the first of each table are kept. */
static int read_jobs(struct report *r, struct error *err)
{
	struct job_filter filter = r->filter;
	bool has_more = true;
	int code = 0;

	if (r->history)
		filter.since_ns -= MIN(filter.since_ns, HISTORY_NS);
	filter.limit = JOB_LIMIT_DEFAULT;
	while (code == 0 && has_more && filter.offset < JOBS_MOST) {
		_cleanup_(json_freep) json_t *page = json_array();

		code = reader_list_jobs(r->reader, &filter, page, err);
		if (code < 0)
			return code;
		has_more = json_array_size(page) == filter.limit;
		filter.offset += json_array_size(page);
		jobs_complete_all(page);
		for (size_t i = 0; code == 0 && i < json_array_size(page); i++)
			code = take_job(r, json_array_get(page, i));
	}
	r->is_cut = has_more;
	return code < 0 ? error_set_errno(err, code, "cannot look at the jobs") : 0;
}

/* ---- findings ---- */

static json_t *text_of_number(enum jobs_kind kind, double number)
{
	const struct jobs_column column = { .kind = kind, .key = "n" };
	_cleanup_(json_freep) json_t *row = json_pack("{s:f}", "n", number);
	struct human human;

	return json_string(jobs_cell_text(&column, row, &human));
}

static int take_anomaly(void *context, const struct anomaly *a)
{
	struct report *r = context;
	const struct deviation *d = &a->deviation;
	const struct jobs_column ratio = { "elapsed / usual", NULL, JOBS_SHARE },
				 *number = a->job ? &numbers[a->number] : &ratio;
	const json_t *job = a->job ? json_array_get(r->jobs, a->job->tag) : NULL;
	const char *cluster = a->job ? text_of(job, "cluster") : strchr(a->node, '\n') + 1;
	_cleanup_free_ char *node = a->job ? NULL : strndup(a->node, strcspn(a->node, "\n"));
	size_t at = json_array_size(r->found);
	const json_t *last = json_array_get(r->found, at - 1);
	const double now = fabs(d->value), usual = fabs(d->median), most = fmax(now, usual);
	/* by which factor, either way; from nothing by a thousand */
	const double distance = most > 0 ? log2(most / fmax(fmin(now, usual), most / 1000)) : 0;
	json_t *row;

	if (a->job && a->job->start_ns < r->filter.since_ns)
		return 0;
	if (!a->job && !node)
		return -ENOMEM;
	row = json_pack(
		"{s:s+, s:s, s:O?, s:O?, s:O?, s:f, s:s, s:f, s:f, s:f, s:o, s:o, s:o, s:I}",
		"what", a->job ? "job " : "node ", a->job ? text_of(job, "id") : node, "cluster",
		cluster, "user", json_object_get(job, "user"), "name", json_object_get(job, "name"),
		"node", json_object_get(job, "node"), "distance", distance, "number", number->name,
		"value", d->value, "median", d->median, "scatter", d->scatter, "value_text",
		text_of_number(number->kind, d->value), "median_text",
		text_of_number(number->kind, d->median), "scatter_text",
		text_of_number(number->kind, d->scatter), "of", (json_int_t)d->count);
	if (a->job && json_equal(json_object_get(last, "what"), json_object_get(row, "what")) &&
	    strcmp(text_of(last, "cluster"), cluster) == 0) {
		if (json_number_value(json_object_get(last, "distance")) >= distance)
			return json_decref(row), 0;
		json_array_remove(r->found, --at);
	}
	while (!a->job && at-- > 0) { /* nodes come last: that one explains its jobs */
		const json_t *found = json_array_get(r->found, at);

		if (strcmp(text_of(found, "node"), node) == 0 &&
		    strcmp(text_of(found, "cluster"), cluster) == 0)
			json_array_remove(r->found, at);
	}
	return json_array_append_new(r->found, row) < 0 ? -ENOMEM : 0;
}

/* Nodes, and then the jobs that differ most. */
static int order_findings(json_t *found)
{
	_cleanup_(json_freep) json_t *jobs = json_array();
	int code = 0;

	for (size_t i = json_array_size(found); code == 0 && i-- > 0;) {
		if (*text_of(json_array_get(found, i), "what") == 'n')
			continue;
		code = keep_top(jobs, "distance", json_array_get(found, i));
		json_array_remove(found, i);
	}
	return code < 0 ? code : json_array_extend(found, jobs);
}

/* ---- tables ---- */

static int add_sums(struct report *r, struct table *t, struct error *err)
{
	const size_t users = r->options->users.count;
	struct job_filter filter = r->filter;
	int code = 0;

	filter.state = t->part->state;
	for (size_t i = 0; code == 0 && i < (users ? users : 1); i++) {
		_cleanup_(json_freep) json_t *rows = NULL;

		filter.user = users ? r->options->users.names[i] : filter.user;
		code = jobs_ask_sums(r->reader, &t->columns.items[0], &filter, &rows, err);
		for (size_t k = 0; t == r->tables && k < json_array_size(rows); k++) {
			for (size_t n = 0; n < TOTALS; n++)
				r->total[n] += json_number_value(
					json_object_get(json_array_get(rows, k), total_keys[n]));
		}
		for (size_t k = 0; code == 0 && k < json_array_size(rows); k++) {
			json_t *row = json_array_get(rows, k);

			t->of += json_number_value(json_object_get(row, t->part->most)) > 0;
			code = users ? json_array_append(t->rows, row)
				     : keep_top(t->rows, t->part->most, row);
		}
	}
	return code;
}

static int add_emissions(struct report *r, struct table *t, struct error *err)
{
	bool wants = false;
	int code;

	for (size_t i = 0; i < t->columns.count; i++)
		wants |= t->columns.items[i].kind >= JOBS_GRAMS;
	if (!wants)
		return 0;
	code = jobs_add_emissions(r->reader, t->part->by ? t->columns.items[0].key : NULL,
				  &r->filter, t->rows, err);
	r->lacks_emissions |= code == -ETIME;
	return code == -ENOTSUP || code == -ETIME ? 0 : code;
}

static int begin_tables(struct report *r, struct error *err)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < ARRAY_SIZE(parts); i++) {
		struct table *t = &r->tables[r->count];

		if (strcmp(parts[i].type, r->type) != 0)
			continue;
		*t = (struct table){ .part = &parts[i], .rows = json_array() };
		r->count++;
		if (parts[i].columns) {
			code = jobs_columns_parse(parts[i].columns, &t->columns, err);
			continue;
		}
		memcpy(t->columns.items, finding_columns, sizeof(finding_columns));
		t->columns.count = ARRAY_SIZE(finding_columns);
		r->history = calloc(JOBS_MOST, sizeof(*r->history));
		r->found = t->rows;
	}
	return code;
}

static int fill(struct report *r, struct error *err)
{
	bool wants_jobs = false;
	int code = begin_tables(r, err);

	for (size_t i = 0; code == 0 && i < r->count; i++) {
		struct table *t = &r->tables[i];

		wants_jobs |= !t->part->by;
		if (t->part->by && t->part->columns)
			code = add_sums(r, t, err);
	}
	if (code == 0 && wants_jobs)
		code = read_jobs(r, err);
	if (code == 0 && r->history) {
		code = anomalies_find(r->history, json_array_size(r->jobs), take_anomaly, r);
		code = code < 0 ? code : order_findings(r->found);
		if (code < 0)
			error_set_errno(err, code, "cannot compare the jobs");
	}
	for (size_t i = 0; code == 0 && i < r->count; i++)
		code = add_emissions(r, &r->tables[i], err);
	return code;
}

/* ---- what is written ---- */

/* Energy, what it emitted and cost are columns only where they are known, and clusters where rows
 * differ in them. */
static bool is_shown(const struct table *t, const struct jobs_column *column)
{
	bool is_cluster = strcmp(column->name, "cluster") == 0;
	bool is = column->kind < JOBS_ENERGY && !is_cluster;

	for (size_t i = 1; is_cluster && !is && i < json_array_size(t->rows); i++)
		is = strcmp(text_of(json_array_get(t->rows, i), "cluster"),
			    text_of(json_array_get(t->rows, 0), "cluster")) != 0;
	for (size_t i = 0; !is && i < json_array_size(t->rows); i++)
		is = json_is_number(json_object_get(json_array_get(t->rows, i), column->key));
	return is;
}

static struct rows *make_rows(const struct report *r)
{
	struct rows *rows = rows_new();
	char since[TIMESTAMP_SIZE], until[TIMESTAMP_SIZE];
	size_t count = 0;
	const double *total = r->total;

	rows_line(rows, ROWS_ALL, NULL, "Jobs of %.10s to %.10s (UTC)",
		  timestamp_format(since, r->filter.since_ns),
		  timestamp_format(until, r->filter.until_ns));
	rows_begin(rows, ROWS_ALL, NULL);
	if (total[TOTAL_JOBS] > 0)
		rows_say(rows, "", "%.0f jobs, %s of core time, %s of it unused (%s)",
			 total[TOTAL_JOBS],
			 humanize_duration((uint64_t)(total[TOTAL_CORE] * 1e9)).text,
			 humanize_duration((uint64_t)(total[TOTAL_UNUSED] * 1e9)).text,
			 humanize_percent(total[TOTAL_UNUSED] / fmax(1, total[TOTAL_CORE])).text);
	if (total[TOTAL_ENERGY] > 0)
		rows_say(rows, ", ", "%s",
			 humanize_energy((uint64_t)(total[TOTAL_ENERGY] * 1e6)).text);
	for (size_t i = 0; i < r->count; i++)
		count += json_array_size(r->tables[i].rows);
	if (!count)
		rows_line(rows, ROWS_ALL, NULL, "none that you may see");
	for (size_t i = 0; i < r->count; i++) {
		const struct table *t = &r->tables[i];
		struct rows_column heads[ROWS_COLUMNS_MAX] = {};
		struct rows_table *table;

		for (size_t k = 0; k < t->columns.count; k++)
			heads[k] = (struct rows_column){
				.head = t->columns.items[k].head,
				.is_left = t->columns.items[k].kind <= JOBS_MOMENT,
				.forms = is_shown(t, &t->columns.items[k]) ? 0 : ROWS_NONE,
				.most = 32
			};
		rows_part(rows, t->part->title);
		if (json_array_size(t->rows)) { /* only HTML has headings */
			rows_gap(rows);
			rows_line(rows, ROWS_SHORT, NULL, "%s", t->part->title);
			rows_gap(rows);
		}
		table = rows_table(rows, ROWS_ALL, NULL, heads, t->columns.count);
		jobs_columns_fill(&t->columns, t->rows, table);
		if (t->of > json_array_size(t->rows))
			rows_remark(table, ROWS_ALL, "the first %zu of %zu",
				    json_array_size(t->rows), t->of);
		if (t->part->remark)
			rows_remark(table, ROWS_ALL, "%s", t->part->remark);
	}
	if (r->lacks_emissions)
		rows_line(rows, ROWS_ALL, NULL,
			  "what was emitted and cost took the server too long: ask for less time");
	if (r->is_cut)
		rows_line(rows, ROWS_ALL, NULL, "of single jobs the newest %d were looked at",
			  JOBS_MOST);
	return rows;
}

static void write_html(const struct report *r, const struct rows *rows, FILE *out)
{
	struct html h = { .out = out };

	fputs("<!DOCTYPE html>\n", out);
	html_begin(&h, "html");
	html_attribute(&h, "lang", "en");
	html_begin(&h, "head");
	html_raw(&h, "<meta charset=\"utf-8\">");
	html_element(&h, "title", NULL, "Jobs: %s", r->type);
	html_element(&h, "style", NULL,
		     "body{font-family:sans-serif;margin:2em} td,th{padding:.1em .8em;"
		     "text-align:right} td:first-child,th:first-child{text-align:left}");
	html_end(&h);
	html_begin(&h, "body");
	html_element(&h, "h1", NULL, "Jobs: %s", r->type);
	rows_html(rows, &h);
	html_end(&h);
	html_end(&h);
}

/* A table of all: its columns are those of any. */
static void write_csv(const struct report *r, FILE *out)
{
	struct jobs_columns all = {};

	for (size_t i = 0; i < r->count; i++) {
		for (size_t k = 0; k < r->tables[i].columns.count; k++) {
			const struct jobs_column *column = &r->tables[i].columns.items[k];
			size_t at = 0;

			while (at < all.count && strcmp(all.items[at].name, column->name) != 0)
				at++;
			if (at == all.count && at < ROWS_COLUMNS_MAX)
				all.items[all.count++] = *column;
		}
	}
	fputs("table", out);
	for (size_t k = 0; k < all.count; k++)
		fprintf(out, ",%s", all.items[k].name);
	for (size_t i = 0; i < r->count; i++) {
		for (size_t k = 0; k < json_array_size(r->tables[i].rows); k++) {
			fprintf(out, "\n\"%s\"", r->tables[i].part->title);
			for (size_t c = 0; c < all.count; c++) {
				fputc(',', out);
				jobs_cell_csv(&all.items[c], json_array_get(r->tables[i].rows, k),
					      out);
			}
		}
	}
	fputc('\n', out);
}

static int write_document(const struct output *output, const struct report *r, FILE *out)
{
	_cleanup_(document_freep) struct document *d = output_new_document(output, out);

	if (!d)
		return -ENOMEM;
	document_begin_map(d);
	document_put_string(d, "schema", SCHEMA);
	document_put_string(d, "type", r->type);
	document_put_time(d, "since", r->filter.since_ns);
	document_put_time(d, "until", r->filter.until_ns);
	document_put_boolean(d, "all_jobs", !r->is_cut);
	document_begin_map_of(d, "total");
	for (size_t i = 0; i < TOTALS; i++) {
		document_key(d, total_keys[i]);
		if (r->total[i] > 0 || i == TOTAL_JOBS)
			document_decimal(d, (uint64_t)llround(r->total[i] * 1000), 3);
		else
			document_null(d); /* no job knows it */
	}
	document_end_map(d);
	document_begin_list_of(d, "tables");
	for (size_t i = 0; i < r->count; i++) {
		document_begin_map(d);
		document_put_string(d, "title", r->tables[i].part->title);
		document_begin_list_of(d, "rows");
		for (size_t k = 0; k < json_array_size(r->tables[i].rows); k++)
			jobs_row_format(json_array_get(r->tables[i].rows, k), d);
		document_end_list(d);
		document_end_map(d);
	}
	document_end_list(d);
	document_end_map(d);
	return document_finish(d);
}

static int write_report(const struct output *output, const void *what, FILE *out, struct error *err)
{
	const struct report *r = what;
	_cleanup_(rows_freep) struct rows *rows = make_rows(r);
	struct page page = page_for(out);
	int code = 0;

	page.is_flush = true;
	if (output->format == OUTPUT_TEXT)
		rows_text(rows, ROWS_TEXT, &page);
	else if (output->format == OUTPUT_MARKDOWN)
		rows_markdown(rows, out);
	else if (output->format == OUTPUT_HTML)
		write_html(r, rows, out);
	else if (output->format == OUTPUT_CSV)
		write_csv(r, out);
	else
		code = write_document(output, r, out);
	return output_end(out, code, "report", err);
}

int site_report_print(const struct cli_command *command, const struct site_report_options *options,
		      const char *database, const struct output *output, int *exit_code,
		      struct error *err)
{
	_cleanup_(report_clear) struct report report = {
		.type = options->users.count ? USERS_TYPE : options->type,
		.filter = options->filter,
		.options = options,
		.jobs = json_array(),
	};
	struct complaint complaint = { command, exit_code };
	int r = reader_open(database, complaint_tell, &complaint, &report.reader, err);

	if (!report.filter.until_ns)
		report.filter.until_ns = clock_now_ns(CLOCK_REALTIME);
	if (!report.filter.since_ns)
		report.filter.since_ns = report.filter.until_ns - 7 * DAY_NS;
	if (r == 0)
		r = fill(&report, err);
	return r < 0 ? r : output_print_by(output, write_report, &report, err);
}
