/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "model/rows.h"
#include "model/sections/trace.h"
#include "report/record_rows.h"

#define FUNCTIONS_SHOWN 12

static int compare_functions(const void *a, const void *b)
{
	static const enum metric_id order[] = { METRIC_TRACE_SECONDS, METRIC_TRACE_CALLS };
	const struct traced_function *x = *(const struct traced_function *const *)a,
				     *y = *(const struct traced_function *const *)b;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		uint64_t of_x = traced_number(x, order[i]), of_y = traced_number(y, order[i]);

		if (of_x != of_y)
			return of_x > of_y ? -1 : 1;
	}
	return strcmp(x->set, y->set) ? strcmp(x->set, y->set) : strcmp(x->function, y->function);
}

/* What is in no number of the table. */
static void add_losses(const struct traced_calls *c, struct rows_table *table)
{
	const uint64_t lost = traced_total(c, METRIC_TRACE_LOST),
		       dropped = traced_total(c, METRIC_TRACE_DROPPED);

	if (lost)
		rows_remark(
			table, ROWS_ALL,
			"%s traced calls are in no number: there was no room, or they never returned",
			humanize_count(lost).text);
	if (dropped)
		rows_remark(table, ROWS_ALL,
			    "%s probe%s cost too much and did not stay until the end",
			    humanize_count(dropped).text, dropped == 1 ? "" : "s");
}

void trace_rows(const struct traced_calls *c, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "traced function", .least = 24 },
		{ "calls" },
		{ "failed", .rank = 1 },
		{ "time" },
		{ "of wall", .rank = 3 },
		{ "bytes" },
		{ "rate", .rank = 2 },
	};
	_cleanup_free_ const struct traced_function **sorted = calloc(c->count + 1,
								      sizeof(*sorted));
	const size_t shown = MIN(c->count, (size_t)FUNCTIONS_SHOWN);
	struct rows_table *table;

	if (!sorted || !c->is_known)
		return;
	for (size_t i = 0; i < c->count; i++)
		sorted[i] = &c->items[i];
	qsort(sorted, c->count, sizeof(*sorted), compare_functions);
	rows_part(rows, "Traced functions");
	if (!c->count)
		rows_line(rows, ROWS_ALL, "traced", "no call of a traced function");
	table = rows_table(rows, ROWS_FIRST, "functions", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < shown; i++) {
		const struct traced_function *f = sorted[i];
		const uint64_t calls = traced_number(f, METRIC_TRACE_CALLS),
			       failed = traced_number(f, METRIC_TRACE_FAILED),
			       bytes = traced_number(f, METRIC_TRACE_BYTES),
			       unsized = traced_number(f, METRIC_TRACE_UNSIZED),
			       ns = traced_number(f, METRIC_TRACE_SECONDS);

		rows_row(table, ROWS_ALL);
		rows_cell(table, cell_words(f->function));
		rows_cell(table, cell_number(ROWS_COUNT, calls));
		rows_cell(table, cell_if(failed, cell_number(ROWS_COUNT, failed)));
		rows_cell(table, cell_if(ns, cell_number(ROWS_TIME, ns)));
		rows_cell(table, cell_if(ns && c->process_ns,
					 cell_share((double)ns / (double)c->process_ns)));
		rows_cell(table,
			  cell_bound(unsized, cell_if(bytes, cell_number(ROWS_BYTES, bytes))));
		if (bytes && ns)
			rows_words(
				table, "%s/s",
				humanize_bytes((uint64_t)((double)bytes / ((double)ns / 1e9))).text);
		else
			rows_words(table, "-");
	}
	if (c->count > shown)
		rows_remark(table, ROWS_ALL, "and %zu more", c->count - shown);
	if (c->count)
		rows_remark(table, ROWS_ALL,
			    "times are of threads on the host; wall is %s of traced processes",
			    humanize_duration(c->process_ns).text);
	add_losses(c, table);
}
