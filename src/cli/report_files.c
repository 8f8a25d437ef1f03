/* SPDX-License-Identifier: MIT */
#include "report_files.h"

#include "cleanup.h"
#include "humanize.h"
#include "record.h"
#include "report_meta.h"
#include "report_rows.h"
#include "sentence.h"
#include "table.h"

#define MOUNTS_SHOWN 8
#define WAY_MOUNTS_SHOWN 3
#define MAPPED_SHOWN 4
#define FAILURES_SHOWN 4
#define TIMES_SHOWN 3
#define TIME_SHARE_MIN 100 /* one part in so many of the elapsed time is worth a word */

static uint64_t data_of(const struct mount_row *row, const void *what)
{
	uint64_t bytes = row->ops[OP_READ].bytes + row->ops[OP_WRITE].bytes;

	(void)what;
	/* what only failed stands last */
	return bytes ? bytes : row->ops[OP_READ].errors || row->ops[OP_WRITE].errors;
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
		if (!rows_leave_out(rows, i, shown))
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
	_cleanup_(rows_clear) struct rows rows = rows_select(r, data_of, NULL);

	if (rows.count == 0) {
		page_paragraph(page, "files", "nothing was read or written");
		return;
	}
	for (size_t i = 0; table && i < rows.count; i++) {
		if (!rows_leave_out(&rows, i, MOUNTS_SHOWN))
			add_data_row(table, rows_bound(r), rows.items[i]);
	}
	if (table)
		table_print(table, "files", page);
	tell_left_out(&rows, MOUNTS_SHOWN, page);
}

/* A way, and whether its reads or its writes. */
struct way_op {
	enum file_way way;
	enum file_op op;
};

static uint64_t way_bytes_of(const struct mount_row *row, const void *what)
{
	const struct way_op *wanted = what;

	return row->ways[wanted->way][wanted->op].bytes;
}

/* "1.2 GiB read from /scratch", for the mounts with the most bytes. */
static void add_way(const struct record *r, const struct way_op *what, struct sentence *s)
{
	static const char *const verbs[OP_DATA_COUNT] = { "read from", "written to" };
	_cleanup_(rows_clear) struct rows rows = rows_select(r, way_bytes_of, what);

	for (size_t i = 0; i < MIN(rows.count, (size_t)WAY_MOUNTS_SHOWN); i++) {
		const struct mount_row *row = rows.items[i];

		if (!s->text)
			sentence_add(s, "", "%s ", file_way_name(what->way));
		else
			sentence_add(s, "", ", ");
		sentence_add(s, "", "%s%s %s %s", rows_bound(r),
			     humanize_bytes(way_bytes_of(row, what)).text, verbs[what->op],
			     row->mount);
	}
	if (rows.count > WAY_MOUNTS_SHOWN)
		sentence_add(s, " ", "and %zu more", rows.count - WAY_MOUNTS_SHOWN);
}

/* What of the data came and went by other ways than plain calls: a line a way. */
static void tell_ways(const struct record *r, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence untimed = {}, told = {};
	bool is_first = true;

	for (size_t way = WAY_CALL + 1; way < WAY_MAPPING; way++) {
		_cleanup_(sentence_freep) struct sentence s = {};

		for (size_t op = 0; op < OP_DATA_COUNT; op++)
			add_way(r, &(struct way_op){ (enum file_way)way, (enum file_op)op }, &s);
		if (!s.text)
			continue;
		page_paragraph(page, is_first ? "of it by" : NULL, s.text);
		is_first = false;
		if (!file_way_has_time((enum file_way)way))
			sentence_add(&untimed, " and ", "%s", file_way_name((enum file_way)way));
	}
	if (!untimed.text)
		return;
	sentence_add(&told, "", "times are without those of %s, which are not known", untimed.text);
	page_paragraph(page, NULL, told.text ? told.text : "");
}

static void add_bytes(struct sentence *s, const char *between, const char *bound, uint64_t bytes,
		      const char *verb)
{
	if (bytes > 0)
		sentence_add(s, between, "%s%s %s", bound, humanize_bytes(bytes).text, verb);
}

static uint64_t mapped_of(const struct mount_row *row, const void *what)
{
	(void)what;
	return mount_row_number(row, METRIC_MAPPED_READ_BYTES) +
	       mount_row_number(row, METRIC_MAPPED_WRITE_BYTES);
}

/* "/data 2.1 GiB paged in, 16 MiB dirtied" */
static void tell_mapped(const struct record *r, struct page *page)
{
	_cleanup_(rows_clear) struct rows rows = rows_select(r, mapped_of, NULL);
	_cleanup_(sentence_freep) struct sentence s = {};

	for (size_t i = 0; i < MIN(rows.count, (size_t)MAPPED_SHOWN); i++) {
		const struct mount_row *row = rows.items[i];
		_cleanup_(sentence_freep) struct sentence here = {};

		add_bytes(&here, "", rows_bound(r),
			  mount_row_number(row, METRIC_MAPPED_READ_BYTES), "paged in");
		add_bytes(&here, ", ", rows_bound(r),
			  mount_row_number(row, METRIC_MAPPED_WRITE_BYTES), "dirtied");
		sentence_add(&s, "; ", "%s %s", row->mount, here.text ? here.text : "-");
	}
	if (rows.count > MAPPED_SHOWN)
		sentence_add(&s, "; ", "and %zu more", rows.count - MAPPED_SHOWN);
	if (s.text)
		page_paragraph(page, "mapped", s.text);
}

static void tell_failures(const struct record *r, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence s = {};
	size_t told = report_meta_failures(r, "failed", page), failures = 0;

	for (size_t i = 0; i < r->reading.mount_count * OP_DATA_COUNT; i++) {
		const struct mount_row *row = &r->reading.mounts[i / OP_DATA_COUNT];
		enum file_op op = (enum file_op)(i % OP_DATA_COUNT);
		uint64_t errors = row->ops[op].errors;

		if (!row_is_own(row) || errors == 0 || ++failures > FAILURES_SHOWN)
			continue;
		sentence_add(&s, ", ", "%s %s%s on %s", humanize_count(errors).text,
			     file_op_name(op), errors == 1 ? "" : "s", row->mount);
	}
	if (failures > FAILURES_SHOWN)
		sentence_add(&s, " ", "and more");
	if (s.text)
		page_paragraph(page, told ? NULL : "failed", s.text);
}

/* Which of the job's own rows and operation took the most time below @below_ns; NULL: none took
 * @least_ns. */
static const struct mount_row *find_longest(const struct record *r, uint64_t below_ns,
					    uint64_t least_ns, enum file_op *ret_op)
{
	const struct mount_row *longest = NULL;
	uint64_t longest_ns = least_ns;

	for (size_t i = 0; i < r->reading.mount_count * OP_COUNT; i++) {
		const struct mount_row *row = &r->reading.mounts[i / OP_COUNT];
		enum file_op op = (enum file_op)(i % OP_COUNT);

		if (!row_is_own(row) || !row->has_seconds || row->ops[op].ns >= below_ns ||
		    row->ops[op].ns < longest_ns)
			continue;
		longest = row;
		longest_ns = row->ops[op].ns;
		*ret_op = op;
	}
	return longest;
}

/* "9.5 s inside open on /scratch (231 µs each)" */
static void add_time(const struct record *r, const struct mount_row *row, enum file_op op, struct sentence *s)
{
	static const char *const words[OP_DATA_COUNT] = { "reads from", "writes to" };
	const struct op_counts *counts = &row->ops[op];
	bool is_data = op < OP_DATA_COUNT;
	double p99;

	sentence_add(s, "; ", "%s inside %s%s %s", rows_time(r, true, counts->calls, counts->ns).text,
		     is_data ? words[op] : file_op_name(op), is_data ? "" : " on", row->mount);
	if (!is_data && counts->calls > 0)
		sentence_add(s, " ", "(%s each)",
			     humanize_duration(counts->ns / counts->calls).text);
	else if (is_data && row->has_histograms &&
		 histogram_quantile(HISTOGRAM_LATENCY, &row->latencies[op], 0.99, &p99) == 0)
		sentence_add(s, " ", "(p99 %s)", humanize_duration((uint64_t)p99).text);
}

/* Where threads spent their time inside calls on files: at most a few places. */
static void tell_times(const struct record *r, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence s = {};
	uint64_t below_ns = UINT64_MAX, least_ns = MAX(r->time.elapsed_ns / TIME_SHARE_MIN, UINT64_C(1));

	for (size_t shown = 0; shown < TIMES_SHOWN; shown++) {
		enum file_op op = OP_READ;
		const struct mount_row *row = find_longest(r, below_ns, least_ns, &op);

		if (!row)
			break;
		below_ns = row->ops[op].ns;
		add_time(r, row, op, &s);
	}
	if (s.text)
		page_paragraph(page, "time", s.text);
}

/* What is no part of all the above. */
static void tell_kernel(const struct record *r, struct page *page)
{
	const struct mount_row *row =
		reading_find_mount(&r->reading, ROW_KERNEL, row_kind_name(ROW_KERNEL), NULL);
	_cleanup_(sentence_freep) struct sentence s = {};
	uint64_t calls;

	if (!row)
		return;
	calls = mount_row_number(row, METRIC_META_CALLS);
	add_bytes(&s, "", "", row->ops[OP_READ].bytes, "read");
	add_bytes(&s, ", ", "", row->ops[OP_WRITE].bytes, "written");
	add_bytes(&s, ", ", "", mount_row_number(row, METRIC_MAPPED_READ_BYTES), "paged in");
	add_bytes(&s, ", ", "", mount_row_number(row, METRIC_MAPPED_WRITE_BYTES), "dirtied");
	if (calls > 0)
		sentence_add(&s, ", ", "%s operation%s on metadata", humanize_count(calls).text,
			     calls == 1 ? "" : "s");
	if (!s.text)
		return;
	sentence_add(&s, " ",
		     "by kernel threads of the node%s meanwhile, for anybody: not the job's, "
		     "and in no figure above",
		     r->merged_nodes > 1 ? "s" : "");
	page_paragraph(page, row->mount, s.text);
}

static void tell_book(const struct books *books, const char *verb, struct sentence *s)
{
	int64_t difference = books_difference(books);

	if (difference > 0)
		sentence_add(s, "; ", "%s of the %s %s are in no row",
			     humanize_bytes((uint64_t)difference).text,
			     humanize_bytes(books->tasks_bytes).text, verb);
	else if (difference < 0)
		sentence_add(s, "; ", "the rows hold %s more %s than the tasks' own counters",
			     humanize_bytes(-(uint64_t)difference).text, verb);
}

/* The kernel's own counters hold the same bytes two times. */
static void tell_twice(const struct books *read, const struct books *write, struct sentence *s)
{
	_cleanup_(sentence_freep) struct sentence parts = {};

	add_bytes(&parts, "", "", read->twice_bytes, "read");
	add_bytes(&parts, " and ", "", write->twice_bytes, "written");
	if (parts.text)
		sentence_add(s, "; ",
			     "%s by copy_file_range on overlay stand in those counters twice, "
			     "which is taken off",
			     parts.text);
}

static void tell_books(const struct record *r, struct page *page)
{
	const struct books *read = &r->coverage.read_books, *write = &r->coverage.write_books;
	_cleanup_(sentence_freep) struct sentence s = {};

	if (!read->is_known || !write->is_known)
		return;
	tell_book(read, "read", &s);
	tell_book(write, "written", &s);
	if (s.text && r->coverage.unmeasured_ns)
		sentence_add(&s, " ", "(nobody measured for %s)", humanize_duration(r->coverage.unmeasured_ns).text);
	if (!s.text)
		sentence_add(&s, "", "every byte of the tasks' own counters is in a row above");
	tell_twice(read, write, &s);
	page_paragraph(page, "books", s.text ? s.text : "");
}

void report_files(const struct record *r, struct page *page)
{
	if (!r->reading.has_mounts) {
		page_paragraph(page, "files", "-");
		return;
	}
	tell_data(r, page);
	tell_ways(r, page);
	tell_mapped(r, page);
	report_meta(r, page);
	tell_times(r, page);
	tell_failures(r, page);
	tell_kernel(r, page);
	tell_books(r, page);
}
