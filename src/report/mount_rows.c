/* SPDX-License-Identifier: MIT */
#include "report/mount_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/formula.h"
#include "basic/macro.h"

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

struct mount_rows mount_rows_select(const struct record *r, mount_number *number, const void *what)
{
	size_t room = MAX(r->reading.mount_count, (size_t)1);
	struct mount_rows rows = { .items = calloc(room, sizeof(*rows.items)) };
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

void mount_rows_clear(struct mount_rows *rows)
{
	free(rows->items);
	*rows = (struct mount_rows){};
}

#define UNTIMED_MAX 0.01
#define NS_LONG (UINT64_MAX / MOUNT_ROWS_MAX)

bool mount_row_is_timed(const struct mount_row *row, enum file_op op)
{
	uint64_t untimed = 0;

	for (size_t i = INTERFACE_CALL + 1; i < INTERFACE_MAPPING; i++) {
		if (!file_interface_has_time((enum file_interface)i))
			untimed += row->interfaces[i][op].calls;
	}
	return (double)untimed <= UNTIMED_MAX * (double)row->ops[op].calls;
}

/* A reader of a pipe waits for who writes: that is no time of files. */
static uint64_t time_of(const struct mount_row *row, enum file_op op)
{
	if (!row_is_of_files(row))
		return 0;
	return mount_row_is_timed(row, op) ? row->ops[op].ns : NS_LONG;
}

struct file_times file_times_of(const struct record *r)
{
	struct file_times times = {};

	for (size_t i = 0; i < r->reading.mount_count; i++) {
		const struct mount_row *row = &r->reading.mounts[i];

		if (!row_is_own(row))
			continue;
		times.read_ns += time_of(row, OP_READ);
		times.write_ns += time_of(row, OP_WRITE);
		for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++)
			times.other_ns += row->ops[op].ns;
	}
	return times;
}

bool mount_rows_leave_out(const struct mount_rows *rows, size_t i, size_t shown)
{
	return i >= shown && rows->items[i]->kind == ROW_MOUNT;
}

const char *record_note(const struct record *r, const char *beginning)
{
	for (size_t i = 0; i < r->coverage.notes.count; i++) {
		if (strncmp(r->coverage.notes.items[i], beginning, strlen(beginning)) == 0)
			return r->coverage.notes.items[i] + strlen(beginning);
	}
	return NULL;
}

struct rows_cell cell_failed(const struct record *r, const struct mount_row *row)
{
	uint64_t failed = mount_row_number(row, METRIC_META_ERRORS);
	bool is_known = reading_failures_are_known(&r->reading, row);

	return cell_if(failed || is_known, cell_bound(!is_known || record_is_bound(r),
						      cell_number(ROWS_COUNT, failed)));
}

/* A clock that runs takes some time for any call. */
struct rows_cell cell_time(const struct record *r, bool is_known, uint64_t calls, uint64_t ns)
{
	return cell_if(is_known && (ns || !calls),
		       cell_bound(record_is_bound(r) || record_note(r, RECORD_NOTE_TIMES),
				  cell_number(ROWS_TIME, ns)));
}

struct rows_cell cell_total(const struct record *r, enum metric_id id)
{
	uint64_t total = 0;
	bool is_known = record_total(r, id, &total);

	return cell_if(is_known, cell_number(ROWS_SIZE, total));
}

struct rows_cell cell_mean(const struct op_counts *counts)
{
	uint64_t good = counts->calls - MIN(counts->errors, counts->calls);

	return cell_if(good, cell_number(ROWS_SIZE, good ? counts->bytes / good : 0));
}

bool record_is_bound(const struct record *r)
{
	return record_note(r, "lower bound");
}
