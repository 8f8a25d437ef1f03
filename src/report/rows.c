/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"

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

static bool has_note(const struct record *r, const char *beginning)
{
	for (size_t i = 0; i < r->coverage.notes.count; i++) {
		if (strncmp(r->coverage.notes.items[i], beginning, strlen(beginning)) == 0)
			return true;
	}
	return false;
}

struct rows_count rows_failed(const struct record *r, const struct mount_row *row)
{
	uint64_t failed = mount_row_number(row, METRIC_META_ERRORS);
	bool is_known = reading_failures_are_known(&r->reading, row);
	struct rows_count h;

	if (!failed && !is_known)
		snprintf(h.text, sizeof(h.text), "-");
	else
		snprintf(h.text, sizeof(h.text), "%s%s", !failed ? "" : is_known ? rows_bound(r) : "≥",
			 humanize_count(failed).text);
	return h;
}

/* A clock that runs takes some time for any call. */
struct rows_count rows_time(const struct record *r, bool is_known, uint64_t calls, uint64_t ns)
{
	struct rows_count h = { "-" };

	if (is_known && (ns || !calls))
		snprintf(h.text, sizeof(h.text), "%s%s",
			 ns && (*rows_bound(r) || has_note(r, RECORD_NOTE_TIMES)) ? "≥" : "", humanize_duration(ns).text);
	return h;
}

const char *rows_bound(const struct record *r)
{
	return has_note(r, "lower bound") ? "≥" : "";
}
