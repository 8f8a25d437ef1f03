/* SPDX-License-Identifier: MIT */
#include "report/reports.h"

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "report/mount_rows.h"
#include "report/page.h"
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
	rows_text(rows, page->is_full ? ROWS_TEXT : ROWS_SCREEN, page);
}

void markdown_report(const struct record *r, const struct analysis *analysis, FILE *out)
{
	_cleanup_(rows_freep) struct rows *rows = record_rows(r, NULL, analysis);

	rows_markdown(rows, out);
}

/* ---- many records ---- */

#define LISTED_MAX 16

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

/* What of a record is compared over ranks, in the order of the columns. */
struct rank {
	struct amount numbers[4]; /* elapsed, cores, bytes read, written */
};

static struct amount total_of(const struct record *r, enum metric_id id)
{
	uint64_t total = 0;

	return record_total(r, id, &total) ? amount_of((double)total) : (struct amount){};
}

static struct rank rank_of(const struct record *r)
{
	uint64_t cores = 0;
	bool has_cores = record_cores_busy(r, &cores);

	return (struct rank){ {
		amount_of((double)r->time.elapsed_ns / 1e9),
		{ (double)cores / 1000, has_cores },
		total_of(r, METRIC_READ_BYTES),
		total_of(r, METRIC_WRITE_BYTES),
	} };
}

/* The least, the mean and the most over all records; of what one does not know, none. */
static void add_spread(const struct records *records, struct rows_table *table)
{
	static const struct dimension dimensions[] = { DIMENSION_SECONDS, DIMENSION_NUMBER,
						       DIMENSION_BYTES, DIMENSION_BYTES };
	static const char *const names[] = { "min", "mean", "max" };
	struct rank spread[ARRAY_SIZE(names)] = {};

	for (size_t i = 0; i < records->count; i++) {
		struct rank rank = rank_of(records->items[i]);

		for (size_t k = 0; k < ARRAY_SIZE(rank.numbers); k++) {
			struct amount a = rank.numbers[k], *sum = &spread[1].numbers[k];

			if (i == 0 || a.number < spread[0].numbers[k].number)
				spread[0].numbers[k] = a;
			if (i == 0 || a.number > spread[2].numbers[k].number)
				spread[2].numbers[k] = a;
			*sum = i == 0 ? a : amount_add(*sum, a);
		}
	}
	for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
		rows_row(table, ROWS_ALL);
		rows_cell(table, cell_words(names[n]));
		rows_cell(table, cell_words(""));
		for (size_t k = 0; k < ARRAY_SIZE(dimensions); k++) {
			struct amount a = spread[n].numbers[k];

			a.is_known = spread[1].numbers[k].is_known; /* of all */
			a.number /= n == 1 ? (double)records->count : 1;
			rows_cell(table, cell_words(amount_format(a, dimensions[k]).text));
		}
	}
}

void report_list(const struct records *records, struct page *page)
{
	static const struct rows_column columns[] = {
		{ "rank" },    { "node", .is_left = true },
		{ "elapsed" }, { "cores used" },
		{ "read" },    { "written" },
	};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_table *table;

	rows_gap(rows);
	table = rows_table(rows, ROWS_ALL, "records", columns, ARRAY_SIZE(columns));

	for (size_t i = 0; records->count <= LISTED_MAX && i < records->count; i++)
		add_record(records->items[i], table);
	add_spread(records, table);
	rows_text(rows, ROWS_TEXT, page);
}
