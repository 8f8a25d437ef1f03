/* SPDX-License-Identifier: MIT */
#include "basic/cleanup.h"

#include <stdlib.h>
#include "basic/humanize.h"
#include "report/mount_rows.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "report/rows_items.h"
#include "report/sentence.h"

#define MOUNTS_SHOWN 8 /* in short */
#define ROWS_SHOWN 12 /* mounts, and what is none */
#define MOUNTS_LISTED 32 /* on a page */
#define ROWS_LISTED 48
#define HISTOGRAMS_SHOWN 6
#define INTERFACE_MOUNTS_SHOWN 3
#define MAPPED_SHOWN 4

/* ---- mounts ---- */

static uint64_t work_of(const struct mount_row *row, const void *what)
{
	(void)what;
	return row->ops[OP_READ].bytes + row->ops[OP_WRITE].bytes + row->ops[OP_READ].calls +
	       row->ops[OP_WRITE].calls + mount_row_number(row, METRIC_META_CALLS);
}

static struct rows_cell cell_p99(const struct mount_row *row, enum file_op op)
{
	double ns = 0;
	bool is_known = row->has_histograms && row->has_seconds &&
			histogram_quantile(HISTOGRAM_LATENCY, &row->latencies[op], 0.99, &ns) == 0;

	return cell_if(is_known, cell_number(ROWS_TIME, (uint64_t)ns));
}

static void add_op_cells(const struct record *r, const struct mount_row *row, enum file_op op,
			 struct rows_table *table)
{
	const struct op_counts *counts = &row->ops[op];

	rows_cell(table, cell_least(ROWS_BYTES, counts->bytes));
	rows_cell(table, cell_least(ROWS_COUNT, counts->calls));
	rows_cell(table, cell_mean(counts));
	rows_cell(table, cell_time(r, row->has_seconds, counts->calls, counts->ns));
	rows_cell(table, cell_p99(row, op));
	rows_cell(table, cell_number(ROWS_COUNT, counts->errors));
}

/* clang-format off */
static const struct rows_column mount_columns[] = {
	{ "mount" },
	{ "read", .group = "read", .under = "bytes" },
	{ "calls", .group = "read" },
	{ "mean", .group = "read", .rank = 1 },
	{ "time", .group = "read", .forms = ROWS_HTML },
	{ "p99", .group = "read", .forms = ROWS_HTML },
	{ "failed", .group = "read", .forms = ROWS_HTML },
	{ "write", .group = "written", .under = "bytes" },
	{ "calls", .group = "written" },
	{ "mean", .group = "written", .forms = ROWS_LONG },
	{ "time", .group = "written", .forms = ROWS_HTML },
	{ "p99", .group = "written", .forms = ROWS_HTML },
	{ "failed", .group = "written", .forms = ROWS_HTML },
	{ "p99 read", .forms = ROWS_TEXT, .rank = 2 },
	{ "metadata", .group = "metadata", .under = "calls" },
	{ "failed", .group = "metadata", .forms = ROWS_HTML },
	{ "time", .group = "metadata", .forms = ROWS_LONG },
};
/* clang-format on */

/* One form of the table. */
struct shown {
	unsigned int form;
	size_t mounts, rows; /* bounds: mounts, and rows of all kinds */
	size_t count, left_out;
	uint64_t left_out_read, left_out_written;
};

/* The form, if it has the @i-th row; else 0. */
static unsigned int take(struct shown *shown, const struct mount_rows *mounts, size_t i)
{
	if (!mount_rows_leave_out(mounts, i, shown->mounts) && shown->count < shown->rows) {
		shown->count++;
		return shown->form;
	}
	shown->left_out++;
	shown->left_out_read += mounts->items[i]->ops[OP_READ].bytes;
	shown->left_out_written += mounts->items[i]->ops[OP_WRITE].bytes;
	return 0;
}

static void add_work(const struct record *r, const struct mount_rows *mounts, struct rows *rows)
{
	struct rows_table *table = rows_table(rows, ROWS_ALL, "files", mount_columns,
					      ARRAY_SIZE(mount_columns));
	struct shown forms[] = {
		{ .form = ROWS_SHORT, .mounts = MOUNTS_SHOWN, .rows = ROWS_SHOWN },
		{ .form = ROWS_HTML, .mounts = MOUNTS_LISTED, .rows = ROWS_LISTED },
	};

	if (!mounts->count)
		rows_line(rows, ROWS_FULL, "files", "nothing was done with files");
	for (size_t i = 0; i < mounts->count; i++) {
		unsigned int taken = take(&forms[0], mounts, i) | take(&forms[1], mounts, i);

		if (taken) {
			const struct mount_row *row = mounts->items[i];
			struct rows_cell name = cell_words(row->mount);
			const uint64_t calls = mount_row_number(row, METRIC_META_CALLS);

			name.aside[0] = row->fstype;
			if (row->aliases[0])
				name.aside[1] = rows_format(table ? table->rows : NULL, "also %s",
							    row->aliases[0]);
			rows_row(table, taken);
			rows_cell(table, name);
			add_op_cells(r, row, OP_READ, table);
			add_op_cells(r, row, OP_WRITE, table);
			rows_cell(table, cell_p99(row, OP_READ));
			rows_cell(table, cell_least(ROWS_COUNT, calls));
			rows_cell(table, cell_failed(r, row));
			rows_cell(table, cell_time(r, row->has_seconds, calls,
						   mount_row_number(row, METRIC_META_SECONDS)));
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const struct shown *shown = &forms[i];

		if (shown->left_out)
			rows_remark(table, shown->form,
				    "and %zu more mount%s (%s read, %s written)", shown->left_out,
				    shown->left_out == 1 ? "" : "s",
				    humanize_bytes(shown->left_out_read).text,
				    humanize_bytes(shown->left_out_written).text);
	}
}

/* Of a row under its name.  False: nothing is known of it. */
static bool add_histograms(const struct mount_row *row, struct rows *rows)
{
	const struct {
		const char *title;
		enum histogram_kind kind;
		const struct histogram *histogram;
		const struct shade *shade;
	} shown[] = {
		{ "Size of reads", HISTOGRAM_SIZE, &row->sizes[OP_READ], &shade_read },
		{ "Time of a read", HISTOGRAM_LATENCY, &row->latencies[OP_READ], &shade_read },
		{ "Size of writes", HISTOGRAM_SIZE, &row->sizes[OP_WRITE], &shade_write },
		{ "Time of a write", HISTOGRAM_LATENCY, &row->latencies[OP_WRITE], &shade_write },
	};
	const char *heading = row->mount;

	for (size_t i = 0; row->has_histograms && i < ARRAY_SIZE(shown); i++) {
		if (histogram_rows(heading, shown[i].title, shown[i].kind, shown[i].histogram,
				   shown[i].shade, rows))
			heading = NULL;
	}
	return !heading;
}

/* ---- the most common sizes ---- */

#define COMMON_SHARE_MIN 0.25 /* of the calls: then it is worth a word */

/* The bucket with the most calls of those that have fewer than @below; of equals the first behind
 * @after.  HISTOGRAM_BUCKETS: none is left. */
static size_t next_common(const struct histogram *sizes, uint64_t below, size_t after)
{
	size_t found = HISTOGRAM_BUCKETS;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		const uint64_t count = sizes->counts[i];

		if (count > below || (count == below && i <= after))
			continue;
		if (found == HISTOGRAM_BUCKETS || count > sizes->counts[found])
			found = i;
	}
	return found;
}

/* "98 % of the reads on /scratch have 4 KiB to 8 KiB", and what else a quarter of them has. */
static void say_common(const struct mount_row *row, enum file_op op, const char *what,
		       struct rows *rows)
{
	const struct histogram *sizes = &row->sizes[op];
	const double total = (double)histogram_total(sizes);
	size_t bucket = next_common(sizes, UINT64_MAX, 0), said = 0;

	while (row->ops[op].bytes && bucket < HISTOGRAM_BUCKETS && sizes->counts[bucket] &&
	       (double)sizes->counts[bucket] >= COMMON_SHARE_MIN * total) {
		const char *share = rows_format(
			rows, "%s", humanize_percent((double)sizes->counts[bucket] / total).text);

		if (said++)
			rows_say(rows, ", ", "%s ", share);
		else
			rows_say(rows, "; ", "%s of the %s on %s have ", share, what, row->mount);
		rows_say(rows, "", "%s",
			 humanize_bytes(histogram_lower_bound(HISTOGRAM_SIZE, bucket)).text);
		if (bucket > 1 && bucket + 1 < HISTOGRAM_BUCKETS)
			rows_say(rows, " ", "to %s",
				 humanize_bytes(histogram_lower_bound(HISTOGRAM_SIZE, bucket + 1))
					 .text);
		bucket = next_common(sizes, sizes->counts[bucket], bucket);
	}
}

/* ---- by which way ---- */

/* A way, and whether its reads or its writes. */
struct interface_op {
	enum file_interface interface;
	enum file_op op;
};

static uint64_t interface_bytes_of(const struct mount_row *row, const void *what)
{
	const struct interface_op *wanted = what;

	return row->interfaces[wanted->interface][wanted->op].bytes;
}

/* "sendfile 1.2 GiB read from /scratch", for the mounts with the most bytes. */
static void say_interface(const struct record *r, const struct interface_op *what,
			  struct rows *rows)
{
	static const char *const verbs[OP_DATA_COUNT] = { "read from", "written to" };
	_cleanup_(mount_rows_clear) struct mount_rows mounts =
		mount_rows_select(r, interface_bytes_of, what);

	for (size_t i = 0; i < MIN(mounts.count, (size_t)INTERFACE_MOUNTS_SHOWN); i++) {
		const struct mount_row *row = mounts.items[i];

		if (!rows_has_said(rows))
			rows_say(rows, "", "%s ", file_interface_name(what->interface));
		else
			rows_say(rows, "", ", ");
		rows_say(rows, "", "%s%s %s %s", rows_bound(rows),
			 humanize_bytes(interface_bytes_of(row, what)).text, verbs[what->op],
			 row->mount);
	}
	if (mounts.count > INTERFACE_MOUNTS_SHOWN)
		rows_say(rows, " ", "and %zu more", mounts.count - INTERFACE_MOUNTS_SHOWN);
}

/* What of the data came and went by other ways than plain calls: a line a way. */
static void add_interfaces(const struct record *r, struct rows *rows)
{
	_cleanup_(sentence_freep) struct sentence untimed = {};
	const char *label = "of it by";

	for (size_t interface = INTERFACE_CALL + 1; interface < INTERFACE_MAPPING; interface++) {
		rows_begin(rows, ROWS_TEXT, label);
		for (size_t op = 0; op < OP_DATA_COUNT; op++)
			say_interface(r,
				      &(struct interface_op){ (enum file_interface)interface,
							      (enum file_op)op },
				      rows);
		if (!rows_has_said(rows))
			continue;
		label = NULL;
		if (!file_interface_has_time((enum file_interface)interface))
			sentence_add(&untimed, " and ", "%s",
				     file_interface_name((enum file_interface)interface));
	}
	if (untimed.text)
		rows_line(rows, ROWS_TEXT, NULL, "times of %s are not known", untimed.text);
}

static void say_bytes(struct rows *rows, const char *between, const char *bound, uint64_t bytes,
		      const char *verb)
{
	if (bytes > 0)
		rows_say(rows, between, "%s%s %s", bound, humanize_bytes(bytes).text, verb);
}

static uint64_t mapped_of(const struct mount_row *row, const void *what)
{
	(void)what;
	return mount_row_number(row, METRIC_MAPPED_READ_BYTES) +
	       mount_row_number(row, METRIC_MAPPED_WRITE_BYTES);
}

/* "/data 2.1 GiB paged in, 16 MiB dirtied" */
void mapped_rows(const struct record *r, unsigned int forms, const char *label, struct rows *rows)
{
	_cleanup_(mount_rows_clear) struct mount_rows mounts = mount_rows_select(r, mapped_of,
										 NULL);

	rows_begin(rows, forms, label);
	for (size_t i = 0; i < MIN(mounts.count, (size_t)MAPPED_SHOWN); i++) {
		uint64_t read = mount_row_number(mounts.items[i], METRIC_MAPPED_READ_BYTES);

		rows_say(rows, "; ", "%s", mounts.items[i]->mount);
		say_bytes(rows, " ", rows_bound(rows), read, "paged in");
		say_bytes(rows, read ? ", " : " ", rows_bound(rows),
			  mount_row_number(mounts.items[i], METRIC_MAPPED_WRITE_BYTES), "dirtied");
	}
	if (mounts.count > MAPPED_SHOWN)
		rows_say(rows, "; ", "and %zu more", mounts.count - MAPPED_SHOWN);
}

/* What is no part of all the above. */
static void add_kernel(const struct record *r, struct rows *rows)
{
	const struct mount_row *row = reading_find_mount(&r->reading, ROW_KERNEL,
							 row_kind_name(ROW_KERNEL), NULL);
	uint64_t calls = row ? mount_row_number(row, METRIC_META_CALLS) : 0;

	if (!row)
		return;
	rows_begin(rows, ROWS_FULL, row->mount);
	say_bytes(rows, ", ", "", row->ops[OP_READ].bytes, "read");
	say_bytes(rows, ", ", "", row->ops[OP_WRITE].bytes, "written");
	say_bytes(rows, ", ", "", mount_row_number(row, METRIC_MAPPED_READ_BYTES), "paged in");
	say_bytes(rows, ", ", "", mount_row_number(row, METRIC_MAPPED_WRITE_BYTES), "dirtied");
	if (calls > 0)
		rows_say(rows, ", ", "%s operation%s on metadata", humanize_count(calls).text,
			 calls == 1 ? "" : "s");
	if (rows_has_said(rows))
		rows_say(
			rows, " ",
			"by kernel threads of the node%s in that time, for all jobs: in no number above",
			r->merged_nodes > 1 ? "s" : "");
}

/* ---- accounting ---- */

static void say_book(const struct accounting *accounting, const char *verb, struct rows *rows)
{
	int64_t difference = accounting_difference(accounting);

	if (difference > 0)
		rows_say(rows, "; ", "%s of the %s %s could not be placed",
			 humanize_bytes((uint64_t)difference).text,
			 humanize_bytes(accounting->tasks_bytes).text, verb);
	else if (difference < 0)
		rows_say(rows, "; ", "the rows have %s more %s than the counters of the tasks",
			 humanize_bytes(-(uint64_t)difference).text, verb);
}

/* How well the rows and the tasks' own counters agree. */
static void add_accounting(const struct record *r, struct rows *rows)
{
	const struct accounting *read = &r->coverage.read_accounting,
				*write = &r->coverage.write_accounting;

	if (!read->is_known || !write->is_known)
		return;
	rows_begin(rows, ROWS_FULL, "accounting");
	say_book(read, "read", rows);
	say_book(write, "written", rows);
	if (rows_has_said(rows) && r->coverage.unmeasured_ns)
		rows_say(rows, " ", "(not measured for %s)",
			 humanize_duration(r->coverage.unmeasured_ns).text);
	/* the kernel's own counters hold the same bytes two times */
	say_bytes(rows, "; ", "", read->twice_bytes, "read");
	say_bytes(rows, read->twice_bytes ? " and " : "; ", "", write->twice_bytes, "written");
	if (read->twice_bytes || write->twice_bytes)
		rows_say(
			rows, " ",
			"by copy_file_range on overlay are counted twice by the kernel, and once here");
}

static void add_files(const struct record *r, struct rows *rows)
{
	_cleanup_(mount_rows_clear) struct mount_rows mounts = mount_rows_select(r, work_of, NULL);
	size_t shown = 0;

	add_work(r, &mounts, rows);
	rows_begin(rows, ROWS_FULL, "sizes");
	for (size_t i = 0; i < MIN(mounts.count, (size_t)INTERFACE_MOUNTS_SHOWN); i++) {
		if (!mounts.items[i]->has_histograms)
			continue;
		say_common(mounts.items[i], OP_READ, "reads", rows);
		say_common(mounts.items[i], OP_WRITE, "writes", rows);
	}
	add_interfaces(r, rows);
	mapped_rows(r, ROWS_TEXT, "mapped", rows);
	for (size_t i = 0; i < mounts.count && shown < HISTOGRAMS_SHOWN; i++)
		shown += add_histograms(mounts.items[i], rows);
	operations_rows(r, rows);
	add_kernel(r, rows);
	add_accounting(r, rows);
}

void files_rows(const struct record *r, struct rows *rows)
{
	rows_part(rows, "Files");
	if (r->reading.has_mounts)
		return add_files(r, rows);
	rows_line(rows, ROWS_TEXT, "files", "-");
	rows_line(rows, ROWS_HTML, NULL, "not measured");
}

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
