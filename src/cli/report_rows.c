/* SPDX-License-Identifier: MIT */
#include "report_rows.h"

#include <stdlib.h>
#include <string.h>

#include "humanize.h"
#include "table.h"

bool row_is_own(const struct mount_row *row)
{
	return row->kind != ROW_KERNEL;
}

struct ranked { /* what qsort() compares */
	const struct mount_row *row;
	uint64_t number;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int r = (x->row->kind != ROW_MOUNT) - (y->row->kind != ROW_MOUNT);

	if (r == 0 && x->number != y->number)
		return x->number > y->number ? -1 : 1;
	return r ? r : strcmp(x->row->mount, y->row->mount);
}

struct rows rows_select(const struct record *r, row_number *number, const void *what)
{
	size_t room = MAX(r->reading.mount_count, (size_t)1);
	struct rows rows = { .items = calloc(room, sizeof(*rows.items)) };
	struct ranked *ranked = calloc(room, sizeof(*ranked));

	for (size_t i = 0; rows.items && ranked && i < r->reading.mount_count; i++) {
		const struct mount_row *row = &r->reading.mounts[i];
		uint64_t here = row_is_own(row) ? number(row, what) : 0;

		if (here > 0)
			ranked[rows.count++] = (struct ranked){ row, here };
	}
	if (rows.count > 1)
		qsort(ranked, rows.count, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < rows.count; i++)
		rows.items[i] = ranked[i].row;
	free(ranked);
	return rows;
}

void rows_clear(struct rows *rows)
{
	free(rows->items);
	*rows = (struct rows){};
}

bool rows_leave_out(const struct rows *rows, size_t i, size_t shown)
{
	return i >= shown && rows->items[i]->kind == ROW_MOUNT;
}

const char *report_bound(const struct record *r)
{
	for (size_t i = 0; i < r->coverage.notes.count; i++) {
		if (strncmp(r->coverage.notes.items[i], "lower bound", strlen("lower bound")) == 0)
			return "≥";
	}
	return "";
}

void cell_bytes(struct table *table, const char *bound, uint64_t bytes)
{
	if (bytes == 0)
		table_cell(table, "0");
	else
		table_cell(table, "%s%s", bound, humanize_bytes(bytes).text);
}

void cell_count(struct table *table, const char *bound, uint64_t count)
{
	table_cell(table, "%s%s", count ? bound : "", humanize_count(count).text);
}
