/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "basic/cleanup.h"
#include "report/mount_rows.h"
#include "report/record_rows.h"

#define OPERATIONS_TEXT 12
#define OPERATIONS_SHORT 8 /* in Markdown */
#define OPERATIONS_LISTED 40 /* on a page */

struct operation {
	const struct mount_row *row;
	enum file_op op;
};

static int compare_operations(const void *a, const void *b)
{
	const struct operation *x = a, *y = b;
	const struct op_counts *p = &x->row->ops[x->op], *q = &y->row->ops[y->op];

	if (p->ns != q->ns)
		return p->ns > q->ns ? -1 : 1;
	if (p->calls != q->calls)
		return p->calls > q->calls ? -1 : 1;
	return (int)x->op - (int)y->op;
}

/* Those that took most time first. */
void operations_rows(const struct record *r, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "mount" }, /* the first column, which is shortened and never left out */
		{ "operation", .is_left = true },
		{ "calls" },
		{ "failed", .rank = 3 },
		{ "no file", .rank = 2 },
		{ "time", .rank = 4 },
		{ "each", .rank = 1 },
	};
	const size_t room = MAX(r->reading.mount_count, (size_t)1) * OP_COUNT;
	_cleanup_free_ struct operation *list = calloc(room, sizeof(*list));
	struct rows_table *table = rows_table(rows, ROWS_ALL, "operations", columns,
					      ARRAY_SIZE(columns));
	size_t count = 0;

	for (size_t i = 0; list && i < r->reading.mount_count * OP_COUNT; i++) {
		const struct mount_row *row = &r->reading.mounts[i / OP_COUNT];

		if (row_is_own(row) && row->ops[i % OP_COUNT].calls)
			list[count++] = (struct operation){ row, (enum file_op)(i % OP_COUNT) };
	}
	if (count > 1)
		qsort(list, count, sizeof(*list), compare_operations);
	for (size_t i = 0; i < MIN(count, (size_t)OPERATIONS_LISTED); i++) {
		const struct operation *o = &list[i];
		const struct op_counts *counts = &o->row->ops[o->op];
		/* failures of operations by path may stand in a row of their own */
		const bool is_known = o->op < OP_DATA_COUNT ||
				      reading_failures_are_known(&r->reading, o->row);

		rows_row(table, (i < OPERATIONS_TEXT ? ROWS_TEXT : 0) |
					(i < OPERATIONS_SHORT ? ROWS_MARKDOWN : 0) |
					(i < OPERATIONS_LISTED ? ROWS_HTML : 0));
		rows_cell(table, cell_words(o->row->mount));
		rows_cell(table, cell_words(file_op_name(o->op)));
		rows_cell(table, cell_least(ROWS_COUNT, counts->calls));
		rows_cell(table, cell_if(counts->errors || is_known,
					 cell_bound(!is_known || record_is_bound(r),
						    cell_number(ROWS_COUNT, counts->errors))));
		rows_cell(table, cell_if(o->op >= OP_DATA_COUNT && !o->row->lacks_not_found,
					 cell_number(ROWS_COUNT, counts->not_found)));
		rows_cell(table, cell_time(r, o->row->has_seconds, counts->calls, counts->ns));
		rows_cell(table, cell_time(r, o->row->has_seconds, counts->calls,
					   counts->ns / counts->calls));
	}
}
