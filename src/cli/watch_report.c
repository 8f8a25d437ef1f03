/* SPDX-License-Identifier: MIT */
#include "watch_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "cleanup.h"
#include "document.h"
#include "error.h"
#include "humanize.h"
#include "macro.h"
#include "output.h"
#include "page.h"
#include "report_text.h"
#include "session.h"
#include "table.h"

struct what {
	const struct session *session;
	bool is_session;
	const struct rules *rules;
};

static void list_job(const struct record *r, struct table *table)
{
	const struct value *peak = &r->reading.values[METRIC_MEMORY_PEAK];
	uint64_t cores = 0, read = 0, written = 0;
	bool has_cores = record_cores_used(r, &cores);
	bool has_read = record_total(r, METRIC_READ_BYTES, &read);
	bool has_written = record_total(r, METRIC_WRITE_BYTES, &written);

	table_cell(table, "%s/%s", r->job.manager ? r->job.manager : "-",
		   r->job.id ? r->job.id : "-");
	table_cell(table, "%s", r->job.name ? r->job.name : "-");
	table_cell(table, "%s", humanize_duration(r->time.elapsed_ns).text);
	table_cell(table, "%s", has_cores ? humanize_cores(cores).text : "-");
	table_cell(table, "%s", peak->is_known ? humanize_bytes(peak->number).text : "-");
	table_cell(table, "%s", has_read ? humanize_bytes(read).text : "-");
	table_cell(table, "%s", has_written ? humanize_bytes(written).text : "-");
}

static void list_jobs(const struct session *session, struct page *page)
{
	static const struct table_column columns[] = {
		{ "job" },
		{ "name", .is_left = true, .rank = 2 },
		{ "time" },
		{ "cores used" },
		{ "peak", .rank = 1 },
		{ "read" },
		{ "written" },
	};
	_cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));

	if (!table)
		return;
	for (size_t i = 0; i < session->jobs.count; i++)
		list_job(session->jobs.items[i], table);
	table_print(table, "jobs", page);
}

static int print_page(const struct what *what, FILE *out, struct error *err)
{
	_cleanup_(record_freep) struct record *sum = NULL;
	struct page page = page_for(out);
	int r;

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
	const struct what what = { session, is_session, output->rules };
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
