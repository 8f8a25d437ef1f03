/* SPDX-License-Identifier: MIT */
#include "report_files.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "humanize.h"
#include "record.h"
#include "sentence.h"
#include "table.h"

#define MOUNTS_SHOWN 8
#define META_SHOWN 6
#define FAILURES_SHOWN 4
#define TIMES_SHOWN 3
#define TIME_SHARE_MIN 100 /* one part in so many of the elapsed time is worth a word */

const char *report_bound(const struct record *r)
{
	for (size_t i = 0; i < r->coverage.notes.count; i++) {
		if (strncmp(r->coverage.notes.items[i], "lower bound", strlen("lower bound")) == 0)
			return "≥";
	}
	return "";
}

/* Rows in the order in which they are told: mounts, then what is none, each by @compare. */
struct rows {
	const struct mount_row **items;
	size_t count;
};

static void rows_clear(struct rows *rows)
{
	free(rows->items);
}

static bool has_data(const struct mount_row *row)
{
	for (size_t op = 0; op < OP_DATA_COUNT; op++) {
		if (row->ops[op].bytes > 0 || row->ops[op].errors > 0)
			return true;
	}
	return false;
}

static bool has_meta(const struct mount_row *row)
{
	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++) {
		if (row->ops[op].calls > 0)
			return true;
	}
	return false;
}

/* Calls of metadata operations and their time, all together. */
static struct op_counts sum_meta(const struct mount_row *row)
{
	struct op_counts sum = {};

	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++) {
		sum.calls += row->ops[op].calls;
		sum.errors += row->ops[op].errors;
		sum.ns += row->ops[op].ns;
	}
	return sum;
}

static uint64_t sum_bytes(const struct mount_row *row)
{
	return row->ops[OP_READ].bytes + row->ops[OP_WRITE].bytes;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a == b ? 0 : a > b ? -1 : 1;
}

static int compare_kinds(const struct mount_row *a, const struct mount_row *b)
{
	return (a->kind != ROW_MOUNT) - (b->kind != ROW_MOUNT);
}

static int compare_by_bytes(const void *a, const void *b)
{
	const struct mount_row *x = *(const struct mount_row *const *)a;
	const struct mount_row *y = *(const struct mount_row *const *)b;
	int r = compare_kinds(x, y);

	r = r ? r : compare_numbers(sum_bytes(x), sum_bytes(y));
	return r ? r : strcmp(x->mount, y->mount);
}

static int compare_by_meta(const void *a, const void *b)
{
	const struct mount_row *x = *(const struct mount_row *const *)a;
	const struct mount_row *y = *(const struct mount_row *const *)b;
	int r = compare_kinds(x, y);

	r = r ? r : compare_numbers(sum_meta(x).calls, sum_meta(y).calls);
	return r ? r : strcmp(x->mount, y->mount);
}

static struct rows select_rows(const struct record *r, bool (*is_wanted)(const struct mount_row *),
			       int (*compare)(const void *, const void *))
{
	struct rows rows = { .items = calloc(MAX(r->reading.mount_count, (size_t)1),
					     sizeof(*rows.items)) };

	for (size_t i = 0; rows.items && i < r->reading.mount_count; i++) {
		if (is_wanted(&r->reading.mounts[i]))
			rows.items[rows.count++] = &r->reading.mounts[i];
	}
	if (rows.count > 1)
		qsort(rows.items, rows.count, sizeof(*rows.items), compare);
	return rows;
}

/* The mounts beyond the first @shown are left out; what is no mount is always told. */
static bool is_left_out(const struct rows *rows, size_t i, size_t shown)
{
	return i >= shown && rows->items[i]->kind == ROW_MOUNT;
}

/* A zero is a zero: its bound says no more than the note. */
static void cell_bytes(struct table *table, const char *bound, uint64_t bytes)
{
	if (bytes == 0)
		table_cell(table, "0");
	else
		table_cell(table, "%s%s", bound, humanize_bytes(bytes).text);
}

static void cell_count(struct table *table, const char *bound, uint64_t count)
{
	table_cell(table, "%s%s", count ? bound : "", humanize_count(count).text);
}

static void cell_mean(struct table *table, const struct op_counts *op)
{
	uint64_t good = op->calls - MIN(op->errors, op->calls);

	if (good == 0)
		table_cell(table, "-");
	else
		table_cell(table, "%s", humanize_bytes(op->bytes / good).text);
}

static void cell_p99(struct table *table, const struct mount_row *row, enum file_op op)
{
	double ns;

	if (!row->has_histograms || !row->has_seconds ||
	    histogram_quantile(HISTOGRAM_LATENCY, &row->latencies[op], 0.99, &ns) < 0)
		table_cell(table, "-");
	else
		table_cell(table, "%s", humanize_duration((uint64_t)ns).text);
}

static void add_data_row(struct table *table, const char *bound, const struct mount_row *row)
{
	table_cell(table, "%s", row->mount);
	cell_bytes(table, bound, row->ops[OP_READ].bytes);
	cell_count(table, bound, row->ops[OP_READ].calls);
	cell_mean(table, &row->ops[OP_READ]);
	cell_bytes(table, bound, row->ops[OP_WRITE].bytes);
	cell_count(table, bound, row->ops[OP_WRITE].calls);
	cell_p99(table, row, OP_READ);
}

static void tell_left_out(const struct rows *rows, size_t shown, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence s = {};
	uint64_t read = 0, written = 0;
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++) {
		if (!is_left_out(rows, i, shown))
			continue;
		count++;
		read += rows->items[i]->ops[OP_READ].bytes;
		written += rows->items[i]->ops[OP_WRITE].bytes;
	}
	if (count == 0)
		return;
	sentence_add(&s, "", "and %zu more mount%s (%s read, %s written)", count,
		     count == 1 ? "" : "s", humanize_bytes(read).text,
		     humanize_bytes(written).text);
	page_paragraph(page, NULL, s.text ? s.text : "");
}

static void tell_data(const struct record *r, struct page *page)
{
	static const struct table_column columns[] = {
		{ "mount" },
		{ "read" },
		{ "calls" },
		{ "mean", .rank = 1 },
		{ "write" },
		{ "calls" },
		{ "p99 read", .rank = 2 },
	};
	_cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	_cleanup_(rows_clear) struct rows rows = select_rows(r, has_data, compare_by_bytes);

	if (rows.count == 0) {
		page_paragraph(page, "files", "nothing was read or written");
		return;
	}
	for (size_t i = 0; table && i < rows.count; i++) {
		if (!is_left_out(&rows, i, MOUNTS_SHOWN))
			add_data_row(table, report_bound(r), rows.items[i]);
	}
	if (table)
		table_print(table, "files", page);
	tell_left_out(&rows, MOUNTS_SHOWN, page);
}

static void add_meta_row(struct table *table, const char *bound, const struct mount_row *row)
{
	struct op_counts sum = sum_meta(row);

	table_cell(table, "%s", row->mount);
	cell_count(table, bound, row->ops[OP_OPEN].calls);
	cell_count(table, bound, row->ops[OP_CREATE].calls);
	cell_count(table, bound, row->ops[OP_CLOSE].calls);
	cell_count(table, bound, row->ops[OP_FSYNC].calls + row->ops[OP_FDATASYNC].calls);
	cell_count(table, bound, sum.errors);
	table_cell(table, "%s", row->has_seconds ? humanize_duration(sum.ns).text : "-");
}

static void tell_meta(const struct record *r, struct page *page)
{
	static const struct table_column columns[] = {
		{ "mount" },
		{ "open" },
		{ "create" },
		{ "close" },
		{ "fsync" },
		{ "failed" },
		{ "time in all", .rank = 1 },
	};
	_cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	_cleanup_(rows_clear) struct rows rows = select_rows(r, has_meta, compare_by_meta);
	size_t left_out = 0;

	for (size_t i = 0; table && i < rows.count; i++) {
		if (is_left_out(&rows, i, META_SHOWN))
			left_out++;
		else
			add_meta_row(table, report_bound(r), rows.items[i]);
	}
	if (table)
		table_print(table, "open/close", page);
	if (left_out == 0)
		return;
	page_label(page, NULL);
	page_put(page, PAGE_PLAIN, "and %zu more mount%s", left_out, left_out == 1 ? "" : "s");
	page_end_line(page);
}

static void tell_failures(const struct record *r, struct page *page)
{
	static const char *const verbs[OP_DATA_COUNT] = { "read", "write" };
	_cleanup_(sentence_freep) struct sentence s = {};
	size_t failures = 0;

	for (size_t i = 0; i < r->reading.mount_count * OP_DATA_COUNT; i++) {
		const struct mount_row *row = &r->reading.mounts[i / OP_DATA_COUNT];
		uint64_t errors = row->ops[i % OP_DATA_COUNT].errors;

		if (errors == 0 || ++failures > FAILURES_SHOWN)
			continue;
		sentence_add(&s, ", ", "%s %s%s on %s", humanize_count(errors).text,
			     verbs[i % OP_DATA_COUNT], errors == 1 ? "" : "s", row->mount);
	}
	if (failures > FAILURES_SHOWN)
		sentence_add(&s, " ", "and more");
	if (s.text)
		page_paragraph(page, "failed", s.text);
}

/* Which row and operation took the most time below @below_ns; NULL: none took @least_ns. */
static const struct mount_row *find_longest(const struct record *r, uint64_t below_ns,
					    uint64_t least_ns, enum file_op *ret_op)
{
	const struct mount_row *longest = NULL;
	uint64_t longest_ns = least_ns;

	for (size_t i = 0; i < r->reading.mount_count * OP_DATA_COUNT; i++) {
		const struct mount_row *row = &r->reading.mounts[i / OP_DATA_COUNT];
		enum file_op op = (enum file_op)(i % OP_DATA_COUNT);

		if (!row->has_seconds || row->ops[op].ns >= below_ns || row->ops[op].ns < longest_ns)
			continue;
		longest = row;
		longest_ns = row->ops[op].ns;
		*ret_op = op;
	}
	return longest;
}

/* Where threads spent their time inside reads and writes: at most a few places. */
static void tell_times(const struct record *r, struct page *page)
{
	static const char *const words[OP_DATA_COUNT] = { "reads from", "writes to" };
	_cleanup_(sentence_freep) struct sentence s = {};
	uint64_t below_ns = UINT64_MAX, least_ns = MAX(r->time.elapsed_ns / TIME_SHARE_MIN, UINT64_C(1));

	for (size_t shown = 0; shown < TIMES_SHOWN; shown++) {
		enum file_op op = OP_READ;
		const struct mount_row *row = find_longest(r, below_ns, least_ns, &op);
		double p99;

		if (!row)
			break;
		below_ns = row->ops[op].ns;
		sentence_add(&s, "; ", "%s inside %s %s", humanize_duration(below_ns).text, words[op],
			     row->mount);
		if (row->has_histograms &&
		    histogram_quantile(HISTOGRAM_LATENCY, &row->latencies[op], 0.99, &p99) == 0)
			sentence_add(&s, " ", "(p99 %s)", humanize_duration((uint64_t)p99).text);
	}
	if (s.text)
		page_paragraph(page, "time", s.text);
}

static void tell_book(const struct books *books, const char *verb, struct sentence *s)
{
	if (books->tasks_bytes > books->rows_bytes)
		sentence_add(s, "; ", "%s of the %s %s are in no row",
			     humanize_bytes(books->tasks_bytes - books->rows_bytes).text,
			     humanize_bytes(books->tasks_bytes).text, verb);
	else if (books->tasks_bytes < books->rows_bytes)
		sentence_add(s, "; ", "the rows hold %s more %s than the tasks' own counters",
			     humanize_bytes(books->rows_bytes - books->tasks_bytes).text, verb);
}

static void tell_books(const struct record *r, struct page *page)
{
	const struct books *read = &r->coverage.read_books, *write = &r->coverage.write_books;
	_cleanup_(sentence_freep) struct sentence s = {};

	if (!read->is_known || !write->is_known)
		return;
	tell_book(read, "read", &s);
	tell_book(write, "written", &s);
	if (!s.text)
		sentence_add(&s, "", "every byte of the tasks' own counters is in a row above");
	page_paragraph(page, "books", s.text ? s.text : "");
}

void report_files(const struct record *r, struct page *page)
{
	if (!r->reading.has_mounts) {
		page_paragraph(page, "files", "-");
		return;
	}
	tell_data(r, page);
	tell_times(r, page);
	tell_meta(r, page);
	tell_failures(r, page);
	tell_books(r, page);
}
