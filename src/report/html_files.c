/* SPDX-License-Identifier: MIT */
#include "html_histogram.h"
#include "html_parts.h"
#include "html_table.h"
#include "humanize.h"
#include "rows.h"

#define MOUNTS_SHOWN 32
#define ROWS_MAX 48 /* mounts, and what is none */
#define HISTOGRAMS_SHOWN 6
#define FILES_SHOWN 20

static uint64_t work_of(const struct mount_row *row, const void *what)
{
	(void)what;
	return row->ops[OP_READ].bytes + row->ops[OP_WRITE].bytes + row->ops[OP_READ].calls +
	       row->ops[OP_WRITE].calls + mount_row_number(row, METRIC_META_CALLS);
}

/* ---- cells ---- */

static void cell_bytes(struct html *h, const char *bound, uint64_t bytes)
{
	html_table_cell(h, "%s%s", bytes ? bound : "", bytes ? humanize_bytes(bytes).text : "0");
}

static void cell_count(struct html *h, const char *bound, uint64_t count)
{
	html_table_cell(h, "%s%s", count ? bound : "", humanize_count(count).text);
}

static void cell_time(struct html *h, bool is_known, uint64_t ns)
{
	html_table_cell(h, "%s", is_known ? humanize_duration(ns).text : "-");
}

static void cell_quantile(struct html *h, const struct mount_row *row, enum file_op op)
{
	double ns = 0;
	bool is_known = row->has_histograms && row->has_seconds &&
			histogram_quantile(HISTOGRAM_LATENCY, &row->latencies[op], 0.99, &ns) == 0;

	cell_time(h, is_known, (uint64_t)ns);
}

static void put_data_cells(struct html *h, const struct record *r, const struct mount_row *row, enum file_op op)
{
	const char *bound = rows_bound(r);
	const struct op_counts *counts = &row->ops[op];
	uint64_t good = counts->calls - MIN(counts->errors, counts->calls);

	cell_bytes(h, bound, counts->bytes);
	cell_count(h, bound, counts->calls);
	html_table_cell(h, "%s", good ? humanize_bytes(counts->bytes / good).text : "-");
	html_table_cell(h, "%s", rows_time(r, row->has_seconds, counts->calls, counts->ns).text);
	cell_quantile(h, row, op);
	cell_count(h, "", counts->errors);
}

/* ---- mounts ---- */

static void put_row(struct html *h, const struct record *r, const struct mount_row *row)
{
	const char *bound = rows_bound(r);

	html_table_begin_row(h, "%s", row->mount);
	if (row->fstype)
		html_element(h, "span", "type", " %s", row->fstype);
	if (row->aliases[0])
		html_element(h, "span", "type", " also %s", row->aliases[0]);
	html_table_end_name(h);
	put_data_cells(h, r, row, OP_READ);
	put_data_cells(h, r, row, OP_WRITE);
	cell_count(h, bound, mount_row_number(row, METRIC_META_CALLS));
	html_table_cell(h, "%s", rows_failed(r, row).text);
	html_table_cell(h, "%s", rows_time(r, row->has_seconds, mount_row_number(row, METRIC_META_CALLS),
					   mount_row_number(row, METRIC_META_SECONDS)).text);
	html_table_end_row(h);
}

static void put_left_out(struct html *h, size_t count, uint64_t read, uint64_t written)
{
	if (count)
		html_element(h, "p", "note", "And %zu more (%s read, %s written), which did less.",
			     count, humanize_bytes(read).text, humanize_bytes(written).text);
}

static void put_rows(struct html *h, const struct record *r, const struct rows *rows)
{
	/* clang-format off */
	static const struct html_column columns[] = {
		{ "mount", NULL, true },
		{ "bytes", "read" }, { "calls", "read" }, { "mean", "read" },
		{ "time", "read" }, { "p99", "read" }, { "failed", "read" },
		{ "bytes", "written" }, { "calls", "written" }, { "mean", "written" },
		{ "time", "written" }, { "p99", "written" }, { "failed", "written" },
		{ "calls", "metadata" }, { "failed", "metadata" }, { "time", "metadata" },
	};
	/* clang-format on */
	uint64_t read = 0, written = 0;
	size_t shown = 0;

	html_table_begin(h, "Files, by mount", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < rows->count; i++) {
		if (!rows_leave_out(rows, i, MOUNTS_SHOWN) && shown < ROWS_MAX) {
			put_row(h, r, rows->items[i]);
			shown++;
			continue;
		}
		read += rows->items[i]->ops[OP_READ].bytes;
		written += rows->items[i]->ops[OP_WRITE].bytes;
	}
	html_table_end(h);
	put_left_out(h, rows->count - shown, read, written);
}

/* What is no part of all the above. */
static void put_kernel(struct html *h, const struct record *r)
{
	const struct mount_row *row =
		reading_find_mount(&r->reading, ROW_KERNEL, row_kind_name(ROW_KERNEL), NULL);

	if (row)
		html_element(h, "p", "note",
			     "Kernel threads of the node read %s and wrote %s meanwhile, for "
			     "anybody: that is not "
			     "the job's, and in no figure here.",
			     humanize_bytes(row->ops[OP_READ].bytes).text,
			     humanize_bytes(row->ops[OP_WRITE].bytes).text);
}

static void put_histograms(struct html *h, const struct rows *rows)
{
	size_t shown = 0;

	html_begin_class(h, "div", "histograms");
	for (size_t i = 0; i < rows->count && shown < HISTOGRAMS_SHOWN; i++)
		shown += html_put_histograms(rows->items[i], h);
	html_end(h);
}

/* ---- operations on metadata ---- */

static void sum_up(const struct rows *rows, enum file_op op, struct op_counts *ret,
		   bool *ret_has_seconds, bool *ret_has_not_found)
{
	*ret = (struct op_counts){};
	*ret_has_seconds = *ret_has_not_found = true;
	for (size_t i = 0; i < rows->count; i++) {
		const struct mount_row *row = rows->items[i];

		op_counts_add(ret, &row->ops[op]);
		*ret_has_seconds &= row->ops[op].calls == 0 || row->has_seconds;
		*ret_has_not_found &= row->ops[op].errors == 0 || !row->lacks_not_found;
	}
}

static void put_operation(struct html *h, const struct record *r, const struct rows *rows, enum file_op op)
{
	const char *bound = rows_bound(r);
	bool has_seconds, has_not_found;
	struct op_counts counts;

	sum_up(rows, op, &counts, &has_seconds, &has_not_found);
	if (!counts.calls)
		return;
	html_table_begin_row(h, "%s", file_op_name(op));
	html_table_end_name(h);
	cell_count(h, bound, counts.calls);
	cell_count(h, bound, counts.errors);
	html_table_cell(h, "%s", has_not_found ? humanize_count(counts.not_found).text : "-");
	html_table_cell(h, "%s", rows_time(r, has_seconds, counts.calls, counts.ns).text);
	html_table_cell(h, "%s", rows_time(r, has_seconds, counts.calls, counts.ns / counts.calls).text);
	html_table_end_row(h);
}

static void put_operations(struct html *h, const struct record *r, const struct rows *rows)
{
	static const struct html_column columns[] = {
		{ "operation" }, { "calls" }, { "failed" }, { "not there" }, { "time" }, { "each" },
	};
	uint64_t calls = 0;

	for (size_t i = 0; i < rows->count; i++)
		calls += mount_row_number(rows->items[i], METRIC_META_CALLS);
	if (!calls)
		return;
	html_element(h, "h3", NULL, "Operations on metadata, all mounts");
	html_table_begin(h, "Operations on metadata", columns, ARRAY_SIZE(columns));
	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++)
		put_operation(h, r, rows, (enum file_op)op);
	html_table_end(h);
}

/* ---- files one by one ---- */

static void put_file(struct html *h, const struct hot_files *files, const struct hot_file *file)
{
	html_table_begin_row(h, "%s", file->path ? file->path : "-");
	html_table_end_name(h);
	cell_bytes(h, "", hot_file_get(file, METRIC_FILE_READ_BYTES));
	cell_bytes(h, "", hot_file_get(file, METRIC_FILE_WRITE_BYTES));
	cell_count(h, "", hot_file_rank(file, HOT_BY_CALLS));
	cell_count(h, "", hot_file_get(file, METRIC_FILE_OPENS));
	cell_time(h, files->has_seconds, hot_file_rank(file, HOT_BY_TIME));
	html_table_end_row(h);
}

static void put_hot(struct html *h, const char *what, const struct hot_files *files,
		    const struct hot_list *list)
{
	const struct html_column columns[] = {
		{ what }, { "read" }, { "written" }, { "calls" }, { "opens" }, { "time" },
	};

	if (!list->count)
		return;
	html_table_begin(h, what, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < MIN(list->count, (size_t)FILES_SHOWN); i++)
		put_file(h, files, &list->items[i]);
	html_table_end(h);
	if (list->count > FILES_SHOWN)
		html_element(h, "p", "note", "And %zu more that the record names.",
			     list->count - FILES_SHOWN);
}

static void put_hot_files(struct html *h, const struct record *r)
{
	if (!r->files.is_known)
		return;
	html_element(h, "h3", NULL, "Files and folders used most");
	put_hot(h, "file", &r->files, &r->files.hot);
	put_hot(h, "folder", &r->files, &r->files.folders);
	if (r->files.dropped.files)
		html_element(h, "p", "note", "There was no room to follow %s files.",
			     humanize_count(r->files.dropped.files).text);
}

void html_put_files(const struct record *r, struct html *h)
{
	struct rows rows = rows_select(r, work_of, NULL);

	html_begin(h, "section");
	html_element(h, "h2", NULL, "Files");
	if (!r->reading.has_mounts)
		html_element(h, "p", NULL, "Not known: nobody looked at files.");
	else if (!rows.count)
		html_element(h, "p", NULL, "Nothing was done with files.");
	else {
		put_rows(h, r, &rows);
		put_histograms(h, &rows);
		put_operations(h, r, &rows);
	}
	put_kernel(h, r);
	put_hot_files(h, r);
	html_end(h);
	rows_clear(&rows);
}
