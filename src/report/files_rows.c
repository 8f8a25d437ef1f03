/* SPDX-License-Identifier: MIT */
#include "basic/cleanup.h"
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
#define FAILURES_SHOWN 4
#define TIMES_SHOWN 3
#define TIME_SHARE_MIN 100 /* one part in so many of the elapsed time is worth a word */

/* ---- mounts ---- */

static uint64_t data_of(const struct mount_row *row, const void *what)
{
	uint64_t bytes = row->ops[OP_READ].bytes + row->ops[OP_WRITE].bytes;

	(void)what;
	/* what only failed stands last */
	return bytes ? bytes : row->ops[OP_READ].errors || row->ops[OP_WRITE].errors;
}

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

static void add_mount(const struct record *r, const struct mount_row *row, unsigned int forms,
		      struct rows_table *table)
{
	struct rows_cell name = cell_words(row->mount);
	const uint64_t calls = mount_row_number(row, METRIC_META_CALLS);

	name.aside[0] = row->fstype;
	if (row->aliases[0])
		name.aside[1] = rows_format(table ? table->rows : NULL, "also %s", row->aliases[0]);
	rows_row(table, forms);
	rows_cell(table, name);
	add_op_cells(r, row, OP_READ, table);
	add_op_cells(r, row, OP_WRITE, table);
	rows_cell(table, cell_p99(row, OP_READ));
	rows_cell(table, cell_least(ROWS_COUNT, calls));
	rows_cell(table, cell_failed(r, row));
	rows_cell(table, cell_time(r, row->has_seconds, calls,
				   mount_row_number(row, METRIC_META_SECONDS)));
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
	{ "metadata", .group = "metadata", .under = "calls", .forms = ROWS_LONG },
	{ "failed", .group = "metadata", .forms = ROWS_HTML },
	{ "time", .group = "metadata", .forms = ROWS_LONG },
};
/* clang-format on */

/* One form of the table. */
struct shown {
	unsigned int form;
	size_t mounts, rows; /* at most so many mounts, and so many of all */
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

static void remark_left_out(const struct shown *shown, struct rows_table *table)
{
	if (shown->left_out)
		rows_remark(table, shown->form, "and %zu more mount%s (%s read, %s written)",
			    shown->left_out, shown->left_out == 1 ? "" : "s",
			    humanize_bytes(shown->left_out_read).text,
			    humanize_bytes(shown->left_out_written).text);
}

/* On a terminal, where operations on metadata have a table of their own. */
static void add_data(const struct record *r, struct rows *rows)
{
	_cleanup_(mount_rows_clear) struct mount_rows mounts = mount_rows_select(r, data_of, NULL);
	struct shown shown = { .form = ROWS_TEXT, .mounts = MOUNTS_SHOWN, .rows = SIZE_MAX };
	struct rows_table *table;

	if (mounts.count == 0) {
		rows_line(rows, ROWS_TEXT, "files", "nothing was read or written");
		return;
	}
	table = rows_table(rows, ROWS_TEXT, "files", mount_columns, ARRAY_SIZE(mount_columns));
	for (size_t i = 0; i < mounts.count; i++) {
		if (take(&shown, &mounts, i))
			add_mount(r, mounts.items[i], ROWS_TEXT, table);
	}
	remark_left_out(&shown, table);
}

static void add_work(const struct record *r, const struct mount_rows *mounts, struct rows *rows)
{
	struct rows_table *table = rows_table(rows, ROWS_LONG, "files", mount_columns,
					      ARRAY_SIZE(mount_columns));
	struct shown brief = { .form = ROWS_MARKDOWN, .mounts = MOUNTS_SHOWN, .rows = ROWS_SHOWN };
	struct shown whole = { .form = ROWS_HTML, .mounts = MOUNTS_LISTED, .rows = ROWS_LISTED };

	if (!mounts->count)
		rows_line(rows, ROWS_HTML, NULL, "nothing was done with files");
	for (size_t i = 0; i < mounts->count; i++) {
		unsigned int forms = take(&brief, mounts, i) | take(&whole, mounts, i);

		if (forms)
			add_mount(r, mounts->items[i], forms, table);
	}
	remark_left_out(&brief, table);
	remark_left_out(&whole, table);
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

static void add_all_histograms(const struct mount_rows *mounts, struct rows *rows)
{
	size_t shown = 0;

	for (size_t i = 0; i < mounts->count && shown < HISTOGRAMS_SHOWN; i++)
		shown += add_histograms(mounts->items[i], rows);
}

/* ---- the most common sizes ---- */

#define COMMON_SHARE_MIN 0.5 /* of the calls: then it is worth a word */

/* "98 % of the reads on /scratch have 4 KiB to 8 KiB", where one power of two has most of them. */
static void say_common(const struct mount_row *row, enum file_op op, const char *what,
		       struct rows *rows)
{
	const struct histogram *sizes = &row->sizes[op];
	const uint64_t total = histogram_total(sizes);
	size_t most = 0;

	for (size_t i = 1; i < HISTOGRAM_BUCKETS; i++)
		most = sizes->counts[i] > sizes->counts[most] ? i : most;
	if (!row->ops[op].bytes || !total ||
	    (double)sizes->counts[most] < COMMON_SHARE_MIN * (double)total)
		return;
	rows_say(rows, "; ", "%s of the %s on %s have %s",
		 humanize_percent((double)sizes->counts[most] / (double)total).text, what,
		 row->mount, humanize_bytes(histogram_lower_bound(HISTOGRAM_SIZE, most)).text);
	if (most > 1 && most + 1 < HISTOGRAM_BUCKETS)
		rows_say(rows, " ", "to %s",
			 humanize_bytes(histogram_lower_bound(HISTOGRAM_SIZE, most + 1)).text);
}

static void add_common(const struct mount_rows *mounts, struct rows *rows)
{
	rows_begin(rows, ROWS_TEXT, "sizes");
	for (size_t i = 0; i < MIN(mounts->count, (size_t)INTERFACE_MOUNTS_SHOWN); i++) {
		if (!mounts->items[i]->has_histograms)
			continue;
		say_common(mounts->items[i], OP_READ, "reads", rows);
		say_common(mounts->items[i], OP_WRITE, "writes", rows);
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
static void add_mapped(const struct record *r, struct rows *rows)
{
	_cleanup_(mount_rows_clear) struct mount_rows mounts = mount_rows_select(r, mapped_of,
										 NULL);

	rows_begin(rows, ROWS_TEXT, "mapped");
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

/* ---- what failed, and what took time ---- */

static void add_failures(const struct record *r, struct rows *rows)
{
	size_t told = metadata_failure_rows(r, "failed", rows), failures = 0;

	rows_begin(rows, ROWS_TEXT, told ? NULL : "failed");
	for (size_t i = 0; i < r->reading.mount_count * OP_DATA_COUNT; i++) {
		const struct mount_row *row = &r->reading.mounts[i / OP_DATA_COUNT];
		enum file_op op = (enum file_op)(i % OP_DATA_COUNT);
		uint64_t errors = row->ops[op].errors;

		if (!row_is_own(row) || errors == 0 || ++failures > FAILURES_SHOWN)
			continue;
		rows_say(rows, ", ", "%s %s%s on %s", humanize_count(errors).text, file_op_name(op),
			 errors == 1 ? "" : "s", row->mount);
	}
	if (failures > FAILURES_SHOWN)
		rows_say(rows, " ", "and more");
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
static void say_time(const struct record *r, const struct mount_row *row, enum file_op op,
		     struct rows *rows)
{
	static const char *const words[OP_DATA_COUNT] = { "reads from", "writes to" };
	const struct op_counts *counts = &row->ops[op];
	struct rows_cell time = cell_time(r, true, counts->calls, counts->ns);
	bool is_data = op < OP_DATA_COUNT;
	struct human buffer;
	double p99;

	rows_say(rows, "; ", "%s inside %s%s %s", rows_cell_text(&time, &buffer),
		 is_data ? words[op] : file_op_name(op), is_data ? "" : " on", row->mount);
	if (!is_data && counts->calls > 0)
		rows_say(rows, " ", "(%s each)",
			 humanize_duration(counts->ns / counts->calls).text);
	else if (is_data && row->has_histograms &&
		 histogram_quantile(HISTOGRAM_LATENCY, &row->latencies[op], 0.99, &p99) == 0)
		rows_say(rows, " ", "(p99 %s)", humanize_duration((uint64_t)p99).text);
}

/* Where threads spent their time inside calls on files: at most a few places. */
static void add_times(const struct record *r, struct rows *rows)
{
	uint64_t below_ns = UINT64_MAX,
		 least_ns = MAX(r->time.elapsed_ns / TIME_SHARE_MIN, UINT64_C(1));
	const struct mount_row *row;
	enum file_op op = OP_READ;

	rows_begin(rows, ROWS_TEXT, "time");
	for (size_t i = 0;
	     i < TIMES_SHOWN && (row = find_longest(r, below_ns, least_ns, &op)) != NULL; i++) {
		below_ns = row->ops[op].ns;
		say_time(r, row, op, rows);
	}
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

	add_data(r, rows);
	add_work(r, &mounts, rows);
	add_common(&mounts, rows);
	add_interfaces(r, rows);
	add_mapped(r, rows);
	add_all_histograms(&mounts, rows);
	metadata_rows(r, rows);
	operations_rows(r, rows);
	add_times(r, rows);
	add_failures(r, rows);
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
