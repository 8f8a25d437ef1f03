/* SPDX-License-Identifier: MIT */
#include "cli/watch_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct what {
	const struct session *session;
	bool is_session, is_full;
	const struct rules *rules;
};

static void add_job(const struct record *r, struct rows_table *table)
{
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
	for (size_t i = 0; i < session->jobs.count; i++)
		add_job(session->jobs.items[i], table);
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
