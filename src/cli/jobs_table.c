/* SPDX-License-Identifier: MIT */
#include "cli/jobs_table.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "cli/jobs_ask.h"
#include "cli/output.h"
#include "model/document.h"
#include "model/rows.h"
#include "report/page.h"
#include "report/rows_text.h"

#define TEXT_MOST 40 /* columns: what others named may be as long as they like */

static void write_text(const struct jobs_table *t, FILE *out)
{
	const struct jobs_columns *columns = &t->columns;
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_column heads[ROWS_COLUMNS_MAX] = {};
	struct page page = page_for(out);
	struct rows_table *table;

	for (size_t i = 0; i < columns->count; i++) {
		const struct jobs_column *column = &columns->items[i];

		heads[i].head = t->has_no_legend ? "" : column->head;
		heads[i].is_left = column->kind <= JOBS_MOMENT;
		heads[i].most = TEXT_MOST;
		heads[i].least = column->least;
		heads[i].rank = column->rank;
	}
	table = rows_table(rows, ROWS_TEXT, NULL, heads, columns->count);
	for (size_t row = 0; row < json_array_size(t->rows); row++) {
		rows_row(table, ROWS_TEXT);
		for (size_t i = 0; i < columns->count; i++) {
			struct human human;

			rows_cell(table,
				  cell_words(jobs_cell_text(&columns->items[i],
							    json_array_get(t->rows, row), &human)));
		}
	}
	page.is_flush = true;
	if (!t->has_standard_columns || !isatty(fileno(out)))
		page.width = UINT16_MAX;
	rows_text(rows, ROWS_TEXT, &page);
}

static void write_csv(const struct jobs_table *t, FILE *out)
{
	const struct jobs_columns *columns = &t->columns;

	for (size_t i = 0; !t->has_no_legend && i < columns->count; i++)
		fprintf(out, "%s%s", columns->items[i].name, i + 1 < columns->count ? "," : "\n");
	for (size_t row = 0; row < json_array_size(t->rows); row++) {
		for (size_t i = 0; i < columns->count; i++) {
			jobs_cell_csv(&columns->items[i], json_array_get(t->rows, row), out);
			fputc(i + 1 < columns->count ? ',' : '\n', out);
		}
	}
}

/* A document of all, or of each. */
static int write_documents(const struct output *output, const struct jobs_table *t, FILE *out)
{
	bool is_of_each = output->format == OUTPUT_NDJSON;
	size_t count = json_array_size(t->rows);
	int r = 0;

	for (size_t i = 0; r == 0 && i < (is_of_each ? count : 1); i++) {
		_cleanup_(document_freep) struct document *d = output_new_document(output, out);

		if (!d)
			return -ENOMEM;
		if (!is_of_each) {
			document_begin_map(d);
			document_put_string(d, "schema", t->schema);
			if (t->by)
				document_put_string(d, "by", t->by);
			document_begin_list_of(d, t->list);
		}
		for (size_t j = i; j < (is_of_each ? i + 1 : count); j++)
			jobs_row_format(json_array_get(t->rows, j), d);
		if (!is_of_each) {
			document_end_list(d);
			document_end_map(d);
		}
		r = document_finish(d);
	}
	return r;
}

int jobs_table_write(const struct output *output, const void *what, FILE *out, struct error *err)
{
	int r = 0;

	if (output->format == OUTPUT_TEXT)
		write_text(what, out);
	else if (output->format == OUTPUT_CSV)
		write_csv(what, out);
	else
		r = write_documents(output, what, out);
	return output_end(out, r, "jobs", err);
}
