/* SPDX-License-Identifier: MIT */
#include "model/sections/hot_files.h"
#include "basic/humanize.h"
#include "report/mount_rows.h"
#include "model/record.h"
#include "report/record_rows.h"

#define FILES_SHOWN 8 /* in short */
#define DIRS_SHOWN 4
#define LISTED_MAX 20 /* on a page */
#define LITTLE 10 /* this many times less than the first */
#define CALLS_MIN 1000 /* fewer of a file are no reason to name it before others */
#define SMALL_FILES_MIN 100 /* fewer are not mentioned */

/* Which entries of a list are shown: the rankings take turns, first with what is not little beside
 * their first.  The list's own order stays. */
struct shown {
	bool is_shown[3 * HOT_SHOWN];
	size_t count;
};

static const struct hot_file *find_next(const struct hot_list *list, const struct shown *shown,
					enum hot_rank rank, bool is_any)
{
	const struct hot_file *best = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < MIN(list->count, ARRAY_SIZE(shown->is_shown)); i++) {
		const struct hot_file *file = &list->items[i];

		most = MAX(most, hot_file_rank(file, rank));
		if (!shown->is_shown[i] &&
		    hot_file_rank(file, rank) > (best ? hot_file_rank(best, rank) : 0))
			best = file;
	}
	if (rank == HOT_BY_CALLS && most < CALLS_MIN && !is_any)
		return NULL;
	return best && (is_any || hot_file_rank(best, rank) >= most / LITTLE) ? best : NULL;
}

static struct shown choose(const struct hot_list *list, size_t wanted)
{
	struct shown shown = {};
	size_t idle = 0;

	for (size_t turn = 0; shown.count < wanted && idle < 2 * HOT_RANK_COUNT; turn++) {
		const struct hot_file *file = find_next(list, &shown,
							(enum hot_rank)(turn % HOT_RANK_COUNT),
							idle >= HOT_RANK_COUNT);

		idle = file ? 0 : idle + 1;
		if (!file)
			continue;
		shown.is_shown[file - list->items] = true;
		shown.count++;
	}
	return shown;
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

/* Those that stand out by any ranking in short, the first of the list where there is room. */
static void add_list(const struct hot_files *files, const char *label, const struct hot_list *list,
		     size_t wanted, bool is_dirs, struct rows *rows)
{
	const struct rows_column columns[] = {
		{ is_dirs ? "directory" : "file", .is_path = true },
		{ "files", .forms = is_dirs ? ROWS_ALL : ROWS_NONE },
		{ "read" },
		{ "written" },
		{ "calls" },
		{ "opens", .forms = ROWS_HTML },
		{ "in order", .forms = is_dirs ? ROWS_NONE : ROWS_ALL, .rank = 1 },
		{ "time", .rank = is_dirs ? 1 : 2 },
	};
	struct rows_table *table = rows_table(rows, ROWS_FIRST, label, columns,
					      ARRAY_SIZE(columns));
	const struct shown shown = choose(list, wanted);
	const uint64_t all = is_dirs ? list->count
				     : MAX(files->total.files + files->dropped.files, list->count);

	for (size_t i = 0; i < list->count; i++) {
		bool is_shown = i < ARRAY_SIZE(shown.is_shown) && shown.is_shown[i];
		const struct hot_file *file;
		double share = 0;
		bool is_placed;

		if (!is_shown && i >= LISTED_MAX)
			continue;
		rows_row(table, (is_shown ? ROWS_TEXT : 0) | (i < LISTED_MAX ? ROWS_HTML : 0));
		file = &list->items[i];
		is_placed = share_in_order(file, &share);
		rows_cell(table, cell_words(file->path));
		rows_cell(table, cell_least(ROWS_COUNT, file->files));
		rows_cell(table,
			  cell_least(ROWS_BYTES, hot_file_get(file, METRIC_FILE_READ_BYTES)));
		rows_cell(table,
			  cell_least(ROWS_BYTES, hot_file_get(file, METRIC_FILE_WRITE_BYTES)));
		rows_cell(table, cell_least(ROWS_COUNT, hot_file_rank(file, HOT_BY_CALLS)));
		rows_cell(table, cell_least(ROWS_COUNT, hot_file_get(file, METRIC_FILE_OPENS)));
		rows_cell(table, cell_if(is_placed, cell_share(share)));
		rows_cell(table, cell_if(files->has_seconds,
					 cell_number(ROWS_TIME, hot_file_rank(file, HOT_BY_TIME))));
	}
	if (all > shown.count)
		rows_remark(table, ROWS_TEXT, "and %s more",
			    humanize_count(all - shown.count).text);
	if (list->count > LISTED_MAX)
		rows_remark(table, ROWS_HTML, "and %zu more in the record",
			    list->count - LISTED_MAX);
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
static void add_part(const struct hot_files *files, enum metric_id id, const char *label,
		     const char *bound, const char *words, struct rows *rows)
{
	const struct hot_file *most = find_most(&files->hot, id);
	uint64_t bytes = hot_file_get(&files->total, id);

	if (files->total.lacks_order || bytes == 0)
		return;
	rows_line(rows, ROWS_TEXT, label, "%s%s of the %s read %s", bound,
		  humanize_bytes(bytes).text,
		  humanize_bytes(hot_file_get(&files->total, METRIC_FILE_READ_BYTES)).text, words);
	if (!most)
		return;
	rows_say(rows, "; ", "most: %s of %s from", humanize_bytes(hot_file_get(most, id)).text,
		 humanize_bytes(hot_file_get(most, METRIC_FILE_READ_BYTES)).text);
	rows_path(rows, most->path);
}

static void add_small(const struct hot_files *files, struct rows *rows)
{
	uint64_t opens = hot_file_get(&files->total, METRIC_FILE_OPENS) +
			 hot_file_get(&files->total, METRIC_FILE_CREATES);

	if (files->small.files < SMALL_FILES_MIN)
		return;
	rows_line(rows, ROWS_TEXT, "small files",
		  "%s files below %s, %s of each read or written on average",
		  humanize_count(files->small.files).text, humanize_bytes(SMALL_FILE_BYTES).text,
		  humanize_bytes(files->small.bytes / files->small.files).text);
	if (opens)
		rows_say(rows, ", ", "took %s of all opens",
			 humanize_percent((double)files->small.opens / (double)opens).text);
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

static void say_dropped(const struct hot_files *files, struct rows *rows)
{
	const struct hot_file *dropped = &files->dropped;

	if (hot_file_rank(dropped, HOT_BY_CALLS) == 0)
		return;
	rows_say(rows, "; ", "%s more did not fit: %s read, %s written, %s calls",
		 files->knows_dropped ? humanize_count(dropped->files).text : "many",
		 humanize_bytes(hot_file_get(dropped, METRIC_FILE_READ_BYTES)).text,
		 humanize_bytes(hot_file_get(dropped, METRIC_FILE_WRITE_BYTES)).text,
		 humanize_count(hot_file_rank(dropped, HOT_BY_CALLS)).text);
}

static void add_sums(const struct record *r, struct rows *rows)
{
	const struct hot_files *files = &r->files;
	uint64_t read = bytes_of_no_file(r, OP_READ, METRIC_FILE_READ_BYTES);
	uint64_t written = bytes_of_no_file(r, OP_WRITE, METRIC_FILE_WRITE_BYTES);
	double share;

	rows_line(rows, ROWS_FULL, "all files", "%s file%s followed",
		  humanize_count(files->total.files).text, files->total.files == 1 ? "" : "s");
	if (share_in_order(&files->total, &share))
		rows_say(rows, ", ", "%s of the bytes in order", humanize_percent(share).text);
	say_dropped(files, rows);
	if (read || written)
		rows_say(rows, "; ",
			 "%s read and %s written on mounts belong to no file (devices, libaio)",
			 humanize_bytes(read).text, humanize_bytes(written).text);
}

void hot_files_rows(const struct record *r, struct rows *rows)
{
	const struct hot_files *files = &r->files;

	if (!files->is_known)
		return;
	add_list(files, "hot files", &files->hot, FILES_SHOWN, false, rows);
	rows_gap(rows);
	add_list(files, "directories", &files->dirs, DIRS_SHOWN, true, rows);
	rows_gap(rows);
	add_sums(r, rows);
	add_small(files, rows);
	add_part(files, METRIC_FILE_REREAD, "read again", "at least ", "had been read before",
		 rows);
	add_part(files, METRIC_FILE_READ_AFTER_WRITE, "read back", "",
		 "had been written by the job", rows);
}
