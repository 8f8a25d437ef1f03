/* SPDX-License-Identifier: MIT */
#include "cli/watch_report.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "report/mount_rows.h"
#include "cli/output.h"
#include "report/page.h"
#include "report/reports.h"
#include "model/rows.h"
#include "report/rows_text.h"
#include "codec/session.h"
#include "model/record.h"
#include "basic/utf8.h"
#include "cli/watch.h"

struct what {
	const struct session *session;
	bool is_session, is_full;
	const struct rules *rules;
};

static void list_jobs(const struct session *session, struct page *page)
{
	static const struct rows_column columns[] = {
		{ "job" },
		{ "name", .is_left = true, .rank = 2 },
		{ "time" },
		{ "cores used" },
		{ "peak", .rank = 1 },
		{ "read" },
		{ "written" },
	};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_table *table;

	rows_gap(rows);
	table = rows_table(rows, ROWS_ALL, "jobs", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < session->jobs.count; i++) {
		const struct record *r = session->jobs.items[i];
		const struct value *peak = &r->reading.values[METRIC_MEMORY_PEAK];
		uint64_t cores = 0;
		bool has_cores = record_cores_busy(r, &cores);

		rows_row(table, ROWS_ALL);
		rows_words(table, "%s/%s", r->job.manager ? r->job.manager : "-",
			   r->job.id ? r->job.id : "-");
		rows_cell(table, cell_words(r->job.name));
		rows_cell(table, cell_number(ROWS_TIME, r->time.elapsed_ns));
		rows_cell(table, cell_words(has_cores ? humanize_cores(cores).text : NULL));
		rows_cell(table, cell_if(peak->is_known, cell_number(ROWS_SIZE, peak->number)));
		rows_cell(table, cell_total(r, METRIC_READ_BYTES));
		rows_cell(table, cell_total(r, METRIC_WRITE_BYTES));
	}
	rows_text(rows, ROWS_TEXT, page);
}

static int print_page(const struct what *what, FILE *out, struct error *err)
{
	_cleanup_(record_freep) struct record *sum = NULL;
	struct page page = page_for(out);
	int r;

	page.is_full = what->is_full;
	if (!what->is_session) {
		report_text(what->session->jobs.items[0], NULL, what->rules, &page);
		return 0;
	}
	r = session_sum(what->session, &sum);
	if (r < 0)
		return error_set_errno(err, r, "cannot sum the jobs");
	free(sum->job.name);
	sum->job.name = strdup(what->session->name);
	report_text(sum, NULL, what->rules, &page);
	list_jobs(what->session, &page);
	return 0;
}

static int write_record(const void *rules, const struct record *record, struct document *d)
{
	return analysis_format_record(rules, record, d);
}

static int write_session(const struct output *output, const struct session *session, FILE *out)
{
	const struct record_writer writer = { write_record, output->rules };
	_cleanup_(document_freep) struct document *d = output_new_document(output, out);
	_cleanup_(record_freep) struct record *sum = NULL;
	int r = d ? session_sum(session, &sum) : -ENOMEM;

	if (r == 0)
		r = session_format(session, sum, &writer, d);
	return r < 0 ? r : document_finish(d);
}

/* CSV and NDJSON have a record a line, whatever it is. */
static int write_machine(const struct output *output, const struct what *what, FILE *out)
{
	bool is_tree = output->format == OUTPUT_JSON || output->format == OUTPUT_YAML;

	return what->is_session && is_tree ? write_session(output, what->session, out)
					   : output_write(output, &what->session->jobs, out);
}

static int write_file(const struct output *output, const void *data, FILE *out, struct error *err)
{
	int r = output->format == OUTPUT_TEXT ? print_page(data, out, err)
					      : write_machine(output, data, out);

	return r < 0 && output->format != OUTPUT_TEXT
		       ? error_set_errno(err, r, "cannot write '%s'", output->file)
		       : r;
}

int watch_report(const struct output *output, const struct session *session, bool is_session,
		 struct error *err)
{
	const struct what what = { session, is_session, output->is_full, output->rules };
	/* a file for machines leaves the terminal free for people */
	bool is_text_wanted = (output->format == OUTPUT_TEXT) != (output->file != NULL);
	int r = 0;

	if (output->file) /* first: who reads what is printed may have gone */
		r = output_save_by(output, write_file, &what, err);
	else if (output->format != OUTPUT_TEXT)
		r = write_machine(output, &what, stdout);
	if (output->file && (r < 0 || !is_text_wanted || output->is_quiet))
		return r;
	if (r == 0 && is_text_wanted && !output->is_quiet) {
		r = print_page(&what, stdout, err);
		if (r < 0)
			return r;
	}
	if (fflush(stdout) != 0 || r < 0)
		return error_set_errno(err, r < 0 ? r : errno,
				       "cannot write to the standard output");
	return 0;
}

#define LABEL_COLUMNS 20
#define HEAD_EVERY 20 /* lines, on a terminal */

static const struct column {
	const char *head;
	unsigned int end; /* where it ends, to the right */
} columns[] = {
	{ "cores", 36 }, { "memory", 47 }, { "read/s", 58 }, { "write/s", 69 }, { "calls/s", 78 },
};

/* The text of a column, right aligned. */
static void put_cell(struct page *page, size_t column, const char *text)
{
	size_t length = utf8_columns(text), end = columns[column].end;

	page_pad(page, end > length ? end - length : 0, 1);
	page_put(page, PAGE_PLAIN, "%s", text);
}

/* What happened so often, a second; rounded. */
static uint64_t rate(uint64_t number, uint64_t elapsed_ns)
{
	return (uint64_t)(((unsigned __int128)number * 1000000000 + elapsed_ns / 2) / elapsed_ns);
}

static void put_rate(struct page *page, size_t column, const struct record *r, enum metric_id id)
{
	uint64_t total;

	if (!r->time.elapsed_ns || !record_total(r, id, &total))
		put_cell(page, column, "-");
	else
		put_cell(page, column, humanize_bytes(rate(total, r->time.elapsed_ns)).text);
}

static void print_job(const struct watched *job, const char *time_text, struct page *page)
{
	_cleanup_(record_freep) struct record *r = NULL;
	_cleanup_free_ char *label = utf8_shorten(job->label, LABEL_COLUMNS);
	uint64_t cores;
	uint64_t reads, writes, meta;
	const struct metric *usage = metric_find("memory", "usage_bytes");
	const struct value *now;
	const struct value *peak;
	char text[48] = "-";

	if (!job->before || !label || record_subtract(job->last, job->before, &r, NULL) < 0 || !r)
		return;
	page_put(page, PAGE_PLAIN, "%s  %s", time_text, label);
	put_cell(page, 0, record_cores_busy(r, &cores) ? humanize_cores(cores).text : "-");
	/* memory now, if it is known; else the peak, marked as one */
	now = usage ? &r->reading.values[metric_id_of(usage)] : NULL;
	peak = &r->reading.values[METRIC_MEMORY_PEAK];
	if (now && now->is_known)
		snprintf(text, sizeof(text), "%s", humanize_bytes(now->number).text);
	else if (peak->is_known)
		snprintf(text, sizeof(text), "<%s", humanize_bytes(peak->number).text);
	put_cell(page, 1, text);
	put_rate(page, 2, r, METRIC_READ_BYTES);
	put_rate(page, 3, r, METRIC_WRITE_BYTES);
	if (!r->time.elapsed_ns || !record_total(r, METRIC_READ_CALLS, &reads) ||
	    !record_total(r, METRIC_WRITE_CALLS, &writes) ||
	    !record_total(r, METRIC_META_CALLS, &meta))
		put_cell(page, 4, "-");
	else
		put_cell(page, 4,
			 humanize_count(rate(reads + writes + meta, r->time.elapsed_ns)).text);
	page_end_line(page);
}

void watch_live_print(void *context, const struct watched_list *list, uint64_t due_ns)
{
	struct watch_live *live = context;
	const time_t due = (time_t)(due_ns / 1000000000);
	char text[16] = "";
	struct tm tm;

	if (localtime_r(&due, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	if (live->lines == 0 || (live->is_terminal && live->lines >= HEAD_EVERY)) {
		struct page *page = &live->page;

		page_put(page, PAGE_DIM, "time      job");
		for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
			put_cell(page, i, columns[i].head);
		page_end_line(page);
		live->lines = 0;
	}
	for (size_t i = 0; i < list->count; i++) {
		if (!list->items[i]->is_live)
			continue;
		print_job(list->items[i], text, &live->page);
		live->lines++;
	}
	fflush(live->page.out);
}
