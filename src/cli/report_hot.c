/* SPDX-License-Identifier: MIT */
#include "report_hot.h"

#include "cleanup.h"
#include "hot_files.h"
#include "humanize.h"
#include "record.h"
#include "report_rows.h"
#include "sentence.h"
#include "table.h"
#include "utf8.h"

#define FILES_SHOWN 8
#define FOLDERS_SHOWN 4
#define SMALL_FILES_MIN 100 /* so many small files are worth a word */

/* Which entries of a list are shown: the rankings take turns.  The list's own order stays. */
struct shown {
	bool is_shown[3 * HOT_SHOWN];
	size_t count;
};

static const struct hot_file *find_next(const struct hot_list *list, const struct shown *shown,
					enum hot_rank rank)
{
	const struct hot_file *best = NULL;

	for (size_t i = 0; i < MIN(list->count, ARRAY_SIZE(shown->is_shown)); i++) {
		const struct hot_file *file = &list->items[i];

		if (!shown->is_shown[i] && hot_file_rank(file, rank) > (best ? hot_file_rank(best, rank) : 0))
			best = file;
	}
	return best;
}

static struct shown choose(const struct hot_list *list, size_t wanted)
{
	struct shown shown = {};
	size_t idle = 0;

	for (size_t turn = 0; shown.count < wanted && idle < HOT_RANK_COUNT; turn++) {
		const struct hot_file *file =
			find_next(list, &shown, (enum hot_rank)(turn % HOT_RANK_COUNT));

		idle = file ? 0 : idle + 1;
		if (!file)
			continue;
		shown.is_shown[file - list->items] = true;
		shown.count++;
	}
	return shown;
}

static void cell_time(struct table *table, const struct hot_files *files, const struct hot_file *file)
{
	table_cell(table, "%s",
		   files->has_seconds ? humanize_duration(hot_file_rank(file, HOT_BY_TIME)).text : "-");
}

/* The share of all bytes that came in order; false: it is of none, or not known. */
static bool share_in_order(const struct hot_file *file, double *ret)
{
	double in_order = (double)hot_file_get(file, METRIC_FILE_READ_SEQUENTIAL) +
			  (double)hot_file_get(file, METRIC_FILE_WRITE_SEQUENTIAL);
	double placed = in_order + (double)hot_file_get(file, METRIC_FILE_READ_RANDOM) +
			(double)hot_file_get(file, METRIC_FILE_WRITE_RANDOM);

	if (file->lacks_order || placed <= 0)
		return false;
	*ret = in_order / placed;
	return true;
}

/* The end of a path tells more than its beginning: "...cks/train/part-0017", of @columns at most. */
static char *shorten_path(const char *path, size_t columns)
{
	const char *p = path;
	char *text;

	while (utf8_columns(p) > columns - 1 && *p)
		utf8_next(&p);
	if (utf8_columns(path) <= columns)
		p = path;
	return asprintf(&text, "%s%s", p == path ? "" : "\u2026", p) < 0 ? NULL : text;
}

static void add_file(struct table *table, const struct record *r, const struct hot_file *file, size_t columns)
{
	_cleanup_free_ char *path = columns ? shorten_path(file->path, columns) : NULL;
	const char *bound = rows_bound(r);
	double share;

	table_cell(table, "%s", path ? path : "");
	cell_bytes(table, bound, hot_file_get(file, METRIC_FILE_READ_BYTES));
	cell_bytes(table, bound, hot_file_get(file, METRIC_FILE_WRITE_BYTES));
	cell_count(table, bound, hot_file_rank(file, HOT_BY_CALLS));
	table_cell(table, "%s", share_in_order(file, &share) ? humanize_percent(share).text : "-");
	cell_time(table, &r->files, file);
}

static void add_folder(struct table *table, const struct record *r, const struct hot_file *folder,
		       size_t columns)
{
	_cleanup_free_ char *path = columns ? shorten_path(folder->path, columns) : NULL;
	const char *bound = rows_bound(r);

	table_cell(table, "%s", path ? path : "");
	cell_count(table, bound, folder->files);
	cell_bytes(table, bound, hot_file_get(folder, METRIC_FILE_READ_BYTES));
	cell_bytes(table, bound, hot_file_get(folder, METRIC_FILE_WRITE_BYTES));
	cell_count(table, bound, hot_file_rank(folder, HOT_BY_CALLS));
	cell_time(table, &r->files, folder);
}

/* One of the two tables. */
struct listing {
	const char *label;
	const struct table_column *columns;
	size_t column_count, rows;
	void (*add)(struct table *table, const struct record *r, const struct hot_file *file, size_t columns);
};

static struct table *make_table(const struct listing *listing, const struct record *r,
				const struct hot_list *list, size_t path_columns)
{
	struct table *table = table_new(listing->columns, listing->column_count);
	struct shown shown = choose(list, listing->rows);

	for (size_t i = 0; table && i < MIN(list->count, ARRAY_SIZE(shown.is_shown)); i++) {
		if (shown.is_shown[i])
			listing->add(table, r, &list->items[i], path_columns);
	}
	return table;
}

/* Made once without paths, to see how much room they have. */
static void tell_list(const struct listing *listing, const struct record *r, const struct hot_list *list,
		      struct page *page)
{
	_cleanup_(table_freep) struct table *bare = make_table(listing, r, list, 0), *table = NULL;
	size_t others = bare ? table_width(bare, 0) : 0, width = page->width - PAGE_INDENT;

	table = make_table(listing, r, list, width > others + TABLE_FIRST_MIN ? width - others : TABLE_FIRST_MIN);
	if (table)
		table_print(table, listing->label, page);
}

static void tell_files(const struct record *r, struct page *page)
{
	static const struct table_column columns[] = {
		{ "path" }, { "read" }, { "written" }, { "calls" }, { "in order", .rank = 1 }, { "time", .rank = 2 },
	};
	static const struct listing listing = { "hot files", columns, ARRAY_SIZE(columns), FILES_SHOWN, add_file };

	tell_list(&listing, r, &r->files.hot, page);
}

static void tell_folders(const struct record *r, struct page *page)
{
	static const struct table_column columns[] = {
		{ "path" }, { "files" }, { "read" }, { "written" }, { "calls" }, { "time", .rank = 1 },
	};
	static const struct listing listing = { "folders", columns, ARRAY_SIZE(columns), FOLDERS_SHOWN,
						add_folder };

	tell_list(&listing, r, &r->files.folders, page);
}

/* The listed file with the most of a number. */
static const struct hot_file *find_most(const struct hot_list *list, enum metric_id id)
{
	const struct hot_file *most = NULL;

	for (size_t i = 0; i < list->count; i++) {
		if (hot_file_get(&list->items[i], id) > (most ? hot_file_get(most, id) : 0))
			most = &list->items[i];
	}
	return most;
}

/* A part of the bytes read, in words, and the file with the most of it. */
static void tell_part(const struct record *r, enum metric_id id, const char *label, const char *bound,
		      const char *words, struct page *page)
{
	const struct hot_files *files = &r->files;
	const struct hot_file *most = find_most(&files->hot, id);
	_cleanup_free_ char *path = most ? shorten_path(most->path, page->width - PAGE_INDENT) : NULL;
	uint64_t bytes = hot_file_get(&files->total, id);
	_cleanup_(sentence_freep) struct sentence s = {};

	if (files->total.lacks_order || bytes == 0)
		return;
	sentence_add(&s, "", "%s%s of the %s read %s", bound, humanize_bytes(bytes).text,
		     humanize_bytes(hot_file_get(&files->total, METRIC_FILE_READ_BYTES)).text, words);
	if (path)
		sentence_add(&s, "; ", "most: %s of %s from %s", humanize_bytes(hot_file_get(most, id)).text,
			     humanize_bytes(hot_file_get(most, METRIC_FILE_READ_BYTES)).text, path);
	if (s.text)
		page_paragraph(page, label, s.text);
}

static void tell_small(const struct hot_files *files, struct page *page)
{
	uint64_t opens = hot_file_get(&files->total, METRIC_FILE_OPENS) +
			 hot_file_get(&files->total, METRIC_FILE_CREATES);
	_cleanup_(sentence_freep) struct sentence s = {};

	if (files->small.files < SMALL_FILES_MIN)
		return;
	sentence_add(&s, "", "%s files below %s, of which %s on the mean were read or written",
		     humanize_count(files->small.files).text, humanize_bytes(SMALL_FILE_BYTES).text,
		     humanize_bytes(files->small.bytes / files->small.files).text);
	if (opens)
		sentence_add(&s, ", ", "took %s of all opens",
			     humanize_percent((double)files->small.opens / (double)opens).text);
	if (s.text)
		page_paragraph(page, "small files", s.text);
}

/* What the rows of mounts hold, and no file does. */
static uint64_t bytes_of_no_file(const struct record *r, enum file_op op, enum metric_id id)
{
	uint64_t in_files = hot_file_get(&r->files.total, id) + hot_file_get(&r->files.dropped, id);
	uint64_t bytes = 0;

	for (size_t i = 0; i < r->reading.mount_count; i++) {
		if (r->reading.mounts[i].kind == ROW_MOUNT)
			bytes += r->reading.mounts[i].ops[op].bytes;
	}
	return bytes > in_files ? bytes - in_files : 0;
}

static void tell_dropped(const struct hot_files *files, struct sentence *s)
{
	const struct hot_file *dropped = &files->dropped;

	if (hot_file_rank(dropped, HOT_BY_CALLS) == 0)
		return;
	sentence_add(s, "; ", "for %s more there was no room (--files-max): %s read, %s written, %s calls",
		     files->knows_dropped ? humanize_count(dropped->files).text : "many",
		     humanize_bytes(hot_file_get(dropped, METRIC_FILE_READ_BYTES)).text,
		     humanize_bytes(hot_file_get(dropped, METRIC_FILE_WRITE_BYTES)).text,
		     humanize_count(hot_file_rank(dropped, HOT_BY_CALLS)).text);
}

static void tell_sums(const struct record *r, struct page *page)
{
	const struct hot_files *files = &r->files;
	uint64_t read = bytes_of_no_file(r, OP_READ, METRIC_FILE_READ_BYTES);
	uint64_t written = bytes_of_no_file(r, OP_WRITE, METRIC_FILE_WRITE_BYTES);
	_cleanup_(sentence_freep) struct sentence s = {};
	double share;

	sentence_add(&s, "", "%s file%s followed", humanize_count(files->total.files).text,
		     files->total.files == 1 ? "" : "s");
	if (share_in_order(&files->total, &share))
		sentence_add(&s, ", ", "%s of the bytes in order", humanize_percent(share).text);
	tell_dropped(files, &s);
	if (read || written)
		sentence_add(&s, "; ", "%s read and %s written on mounts are of no file (devices, libaio)",
			     humanize_bytes(read).text, humanize_bytes(written).text);
	page_paragraph(page, "all files", s.text ? s.text : "");
}

void report_hot(const struct record *r, struct page *page)
{
	if (!r->files.is_known)
		return;
	tell_files(r, page);
	tell_folders(r, page);
	tell_sums(r, page);
	tell_small(&r->files, page);
	tell_part(r, METRIC_FILE_REREAD, "read again", "at least ", "had been read before", page);
	tell_part(r, METRIC_FILE_READ_AFTER_WRITE, "read back", "", "had been written by the job itself", page);
}
