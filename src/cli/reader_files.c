/* SPDX-License-Identifier: MIT */
/* The reader of record files: what a database does in SQL, of the few records that files hold. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/text.h"
#include "cli/reader.h"
#include "codec/records.h"
#include "model/job_name.h"
#include "model/job_row.h"

#define APART_NS_MAX UINT64_C(60000000000) /* between the parts of one job on several nodes */

struct files {
	const struct rules *rules;
	struct records records; /* in the order of compare_records() */
};

/* ---- which records are one job ---- */

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_jobs(const struct record *a, const struct record *b)
{
	int r = compare_texts(a->cluster, b->cluster);

	if (!r)
		r = compare_texts(a->job.manager, b->job.manager);
	return r ? r : compare_texts(a->job.id, b->job.id);
}

/* The same job on the same node: versions of one record. */
static int compare_keys(const struct record *a, const struct record *b)
{
	int r = compare_jobs(a, b);

	if (!r)
		r = compare_numbers(a->time.start_ns, b->time.start_ns);
	if (!r)
		r = compare_texts(a->node, b->node);
	return r ? r : compare_texts(a->boot_id, b->boot_id);
}

static int compare_records(const void *first, const void *second)
{
	const struct record *a = *(const struct record *const *)first,
			    *b = *(const struct record *const *)second;
	int r = compare_keys(a, b);

	if (!r) /* the best version comes last */
		r = compare_numbers(a->is_final, b->is_final);
	return r ? r : compare_numbers(a->sequence, b->sequence);
}

/* Of the versions of a record the last one stays. */
static void drop_versions(struct records *records)
{
	size_t kept = 0;

	for (size_t i = 0; i < records->count; i++) {
		struct record *record = records->items[i];

		if (kept && record->sequence && compare_keys(records->items[kept - 1], record) == 0)
			record_free(records->items[--kept]);
		records->items[kept++] = record;
	}
	records->count = kept;
}

/* Whose ids are the same on all nodes of a cluster. */
static bool spans_nodes(const struct record *record)
{
	static const char *const managers[] = { "slurm", "pbs", "lsf", "flux" };

	for (size_t i = 0; i < ARRAY_SIZE(managers); i++) {
		if (text_is_equal(record->job.manager, managers[i]))
			return true;
	}
	return false;
}

static uint64_t end_of(const struct record *record)
{
	return record->time.end_ns ? record->time.end_ns
				   : record->time.start_ns + record->time.elapsed_ns;
}

/* How many of the records from @begin on are one job. */
static size_t job_length(const struct records *records, size_t begin)
{
	const struct record *first = records->items[begin];
	uint64_t end_ns = end_of(first);
	size_t i = begin + 1;

	for (; i < records->count && spans_nodes(first); i++) {
		const struct record *next = records->items[i];

		if (compare_jobs(first, next) != 0 || next->job.uid != first->job.uid ||
		    next->time.start_ns > end_ns + APART_NS_MAX)
			break;
		end_ns = MAX(end_ns, end_of(next));
	}
	return i - begin;
}

static int merge_job(const struct files *files, size_t begin, size_t count, struct record **ret)
{
	if (count > 1)
		return record_merge((const struct record *const *)files->records.items + begin,
				    count, ret);
	*ret = record_share(files->records.items[begin]);
	return 0;
}

/* ---- questions ---- */

/* What stands out most, else what kind of job it was. */
static int find_reason(const struct files *files, const struct record *record, char **ret)
{
	_cleanup_(analysis_clear) struct analysis analysis = {};
	const char *reason = NULL;
	int r = files->rules ? analysis_make(files->rules, record, &analysis) : -ENODATA;

	if (r < 0)
		return r == -ENODATA ? 0 : r;
	if (analysis.insights.count)
		reason = analysis.insights.items[0].rule->id;
	else if (analysis.classes.count)
		reason = analysis.classes.items[0].rule->id;
	*ret = reason ? strdup(reason) : NULL;
	return reason && !*ret ? -ENOMEM : 0;
}

static int add_job(const struct files *files, const struct job_filter *filter, size_t begin,
		   size_t count, struct job_rows *rows)
{
	_cleanup_(record_freep) struct record *record = NULL;
	_cleanup_(job_row_clear) struct job_row row = JOB_ROW_EMPTY;
	int r = merge_job(files, begin, count, &record);

	if (r == 0)
		r = job_row_of_record(record, &row);
	if (r == 0)
		r = find_reason(files, record, &row.reason);
	if (r == 0 && job_filter_matches(filter, &row))
		r = job_rows_add(rows, &row);
	return r;
}

static int list_of_files(void *state, const struct job_filter *filter, struct job_rows *rows,
			 struct error *err)
{
	const struct files *files = state;

	for (size_t i = 0, count; i < files->records.count; i += count) {
		int r;

		count = job_length(&files->records, i);
		r = add_job(files, filter, i, count, rows);
		if (r < 0)
			return error_set_errno(err, r, "cannot list the jobs");
	}
	job_rows_sort(rows);
	for (; filter->limit && rows->count > filter->limit; rows->count--)
		job_row_clear(&rows->items[rows->count - 1]);
	return 0;
}

static bool is_named(const struct record *record, const struct job_name *name)
{
	return text_is_equal(record->job.id, name->id) &&
	       (!name->manager || text_is_equal(record->job.manager, name->manager));
}

static bool is_on(const struct record *record, const char *node)
{
	return !node || text_is_equal(record->node, node);
}

/* Adds those of the job at @begin that are on the node. */
static int give_job(const struct files *files, size_t begin, size_t count, const char *node,
		    struct records *records)
{
	for (size_t i = begin; i < begin + count; i++) {
		struct record *record = files->records.items[i];

		if (!is_on(record, node))
			continue;
		if (records_add(records, record_share(record)) < 0) {
			record_free(record);
			return -ENOMEM;
		}
	}
	return 0;
}

static int get_of_files(void *state, const struct job_name *name, struct records *records,
			struct error *err)
{
	const struct files *files = state;
	const struct record *const *items = (const struct record *const *)files->records.items;
	size_t best = 0, best_count = 0;
	int r;

	for (size_t i = 0, count; i < files->records.count; i += count) {
		bool has_node = false;

		count = job_length(&files->records, i);
		for (size_t j = i; j < i + count; j++)
			has_node |= is_on(items[j], name->node);
		if (!is_named(items[i], name) || !has_node ||
		    (best_count && items[i]->time.start_ns < items[best]->time.start_ns))
			continue;
		best = i;
		best_count = count;
	}
	if (!best_count)
		return error_set(err, -ENOENT, "there is no job '%s' in these files", name->id);
	r = give_job(files, best, best_count, name->node, records);
	return r < 0 ? error_set_errno(err, r, "cannot read the job") : 0;
}

/* ---- the files ---- */

static int is_record_file(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && dot != entry->d_name &&
	       (strcmp(dot, ".json") == 0 || strcmp(dot, ".ndjson") == 0);
}

/* What is no record is left alone: a directory may hold other files. */
static int read_dir(const char *dir, struct records *records, struct error *err)
{
	struct dirent **entries;
	struct error first = {};
	int count = scandir(dir, &entries, is_record_file, alphasort);

	if (count < 0)
		return error_set_errno(err, errno, "cannot read the directory '%s'", dir);
	for (int i = 0; i < count; i++) {
		_cleanup_free_ char *path = NULL;

		if (asprintf(&path, "%s/%s", dir, entries[i]->d_name) < 0)
			path = NULL;
		else
			(void)records_read(path, records, *first.text ? NULL : &first);
		free(entries[i]);
	}
	free(entries);
	if (!records->count && *first.text)
		return error_set(err, -EINVAL, "%s", first.text);
	return records->count
		       ? 0
		       : error_set(err, -ENOENT, "there is no record in the directory '%s'", dir);
}

static void close_files(void *state)
{
	struct files *files = state;

	records_clear(&files->records);
	free(files);
}

int reader_open_files(const char *path, const struct rules *rules, void **ret_state,
		      struct error *err)
{
	struct files *files = calloc(1, sizeof(*files));
	struct stat st;
	int r;

	if (!files)
		return error_set_errno(err, ENOMEM, "cannot read '%s'", path);
	files->rules = rules;
	r = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? read_dir(path, &files->records, err)
							: records_read(path, &files->records, err);
	if (r < 0) {
		close_files(files);
		return r;
	}
	if (files->records.count)
		qsort(files->records.items, files->records.count, sizeof(*files->records.items),
		      compare_records);
	drop_versions(&files->records);
	*ret_state = files;
	return 0;
}

const struct reader_source reader_files = { list_of_files, get_of_files, close_files };
