/* SPDX-License-Identifier: MIT */
#include "report/reports.h"

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "report/mount_rows.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "codec/records.h"
#include "model/rows.h"
#include "report/rows_markdown.h"
#include "report/rows_text.h"

void report_text(const struct record *now, const struct record *last, const struct rules *rules,
		 struct page *page)
{
	_cleanup_(analysis_clear) struct analysis analysis = {};
	_cleanup_(rows_freep) struct rows *rows = NULL;

	(void)analysis_make(rules, now, &analysis); /* without memory for that, the record stands
						       alone */
	rows = record_rows(now, last, &analysis);
	rows_text(rows, page);
}

void markdown_report(const struct record *r, const struct analysis *analysis, FILE *out)
{
	_cleanup_(rows_freep) struct rows *rows = record_rows(r, NULL, analysis);

	rows_markdown(rows, out);
}

/* ---- many records ---- */

static void add_record(const struct record *r, struct rows_table *table)
{
	uint64_t cores = 0;
	bool has_cores = record_cores_busy(r, &cores);

	rows_row(table, ROWS_ALL);
	if (r->job.rank >= 0)
		rows_words(table, "%d", r->job.rank);
	else
		rows_cell(table, cell_words(NULL));
	rows_cell(table, cell_words(r->node));
	rows_cell(table, cell_number(ROWS_TIME, r->time.elapsed_ns));
	rows_cell(table, cell_words(has_cores ? humanize_cores(cores).text : NULL));
	rows_cell(table, cell_total(r, METRIC_READ_BYTES));
	rows_cell(table, cell_total(r, METRIC_WRITE_BYTES));
}

void report_list(const struct records *records, struct page *page)
{
	static const struct rows_column columns[] = {
		{ "rank" },    { "node", .is_left = true },
		{ "elapsed" }, { "cores used" },
		{ "read" },    { "written" },
	};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_table *table = rows_table(rows, ROWS_ALL, "records", columns,
					      ARRAY_SIZE(columns));

	for (size_t i = 0; i < records->count; i++)
		add_record(records->items[i], table);
	rows_text(rows, page);
}
