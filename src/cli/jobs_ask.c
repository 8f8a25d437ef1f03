/* SPDX-License-Identifier: MIT */
#include "cli/jobs_ask.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/decimal.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "cli/jobs_columns.h"
#include "cli/reader.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "model/json_place.h"
#include "report/sentence.h"
#include "model/metric.h"
#include "server/store/store.h"

/* ---- what jobs did together: rows by their text, "" where they have none ---- */

/* A whole number as long as it is one, and fits. */
static json_t *add_numbers(const json_t *a, const json_t *b)
{
	json_int_t sum;

	if (json_is_integer(a) && json_is_integer(b) &&
	    !__builtin_add_overflow(json_integer_value(a), json_integer_value(b), &sum))
		return json_integer(sum);
	return json_real(json_number_value(a) + json_number_value(b));
}

/* What is not known adds nothing. */
static int add_number(json_t *row, const char *key, const json_t *more)
{
	json_t *sum = json_object_get(row, key);

	if (!json_is_number(more))
		return 0;
	return json_object_set_new(row, key, sum ? add_numbers(sum, more) : json_deep_copy(more));
}

/* A rate has jobs alone of which both are known. */
static int add_job(json_t *row, const json_t *job)
{
	const json_t *core_s = json_object_get(job, "core_seconds"),
		     *joules = json_object_get(job, "energy.joules");
	_cleanup_(json_freep) json_t *one = json_integer(1);
	int r = add_number(row, "jobs", one);

	r |= add_number(row, "elapsed_seconds", json_object_get(job, "elapsed_seconds"));
	r |= add_number(row, "core_seconds", core_s);
	for (size_t i = 0; i < store_value_count(); i++) {
		const char *name = store_value_name(i);

		if (store_value_metric(i)->kind == KIND_COUNTER)
			r |= add_number(row, name, json_object_get(job, name));
	}
	if (json_is_number(core_s) && json_is_number(joules)) {
		r |= add_number(row, JOBS_RATED_CORE_SECONDS, core_s);
		r |= add_number(row, JOBS_RATED_JOULES, joules);
	}
	return r ? -ENOMEM : 0;
}

static json_t *find_row(json_t *sums, const char *by, const char *text)
{
	json_t *row = json_object_get(sums, text ? text : "");

	if (row)
		return row;
	row = json_object();
	if (json_object_set_new(row, by, text ? json_string(text) : json_null()) < 0 ||
	    json_object_set(sums, text ? text : "", row) < 0)
		return json_decref(row), NULL;
	json_decref(row);
	return row;
}

/* Add jobs, which jobs_complete() has seen; those without a text in the column are one row.
 * -ENOMEM. */
static int add_jobs(json_t *sums, const char *by, const json_t *jobs)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(jobs); i++) {
		const json_t *job = json_array_get(jobs, i);
		json_t *row = find_row(sums, by, json_string_value(json_object_get(job, by)));

		r = row ? add_job(row, job) : -ENOMEM;
	}
	return r;
}

/* ---- all ---- */

static int compare_rows(const void *a, const void *b)
{
	const json_t *left = *(json_t *const *)a, *right = *(json_t *const *)b;
	double left_s = json_number_value(json_object_get(left, "core_seconds")),
	       right_s = json_number_value(json_object_get(right, "core_seconds"));

	return (left_s < right_s) - (left_s > right_s);
}

/* The same order of rows that another has added up, which it completes. */
static json_t *sort_sums(json_t *rows)
{
	const size_t count = json_array_size(rows);
	_cleanup_free_ json_t **order = calloc(count + 1, sizeof(json_t *));
	json_t *sorted = json_array();
	int r = order && sorted ? 0 : -1;

	for (size_t i = 0; r == 0 && i < count; i++)
		order[i] = json_array_get(rows, i);
	if (order)
		qsort(order, count, sizeof(json_t *), compare_rows);
	for (size_t i = 0; r == 0 && i < count; i++) {
		jobs_complete_energy(order[i]);
		r = json_array_append(sorted, order[i]);
	}
	if (r == 0)
		return sorted;
	json_decref(sorted);
	return NULL;
}

/* The rows, the one with the most core time first.  NULL: no memory.  The caller unrefs. */
static json_t *rows_of(json_t *sums)
{
	_cleanup_(json_freep) json_t *rows = json_array();
	json_t *row;
	const char *text;
	int r = rows ? 0 : -1;

	json_object_foreach(sums, text, row)
	{
		r = r == 0 ? json_array_append(rows, row) : r;
	}
	return r == 0 ? sort_sums(rows) : NULL;
}

#define PLACES 9 /* of the finest numbers: ns */

void jobs_complete_all(json_t *jobs)
{
	for (size_t i = 0; i < json_array_size(jobs); i++)
		jobs_complete(json_array_get(jobs, i));
}

/* By the database, where it can, within its time. */
static int ask_sums(struct reader *reader, const char *by, const struct job_filter *filter,
		    json_t **ret, struct error *err)
{
	_cleanup_(json_freep) json_t *rows = NULL;
	int r = filter->limit ? -ENOTSUP : reader_sum_jobs(reader, by, filter, &rows, err);

	if (r < 0)
		return r;
	*ret = sort_sums(rows);
	return *ret ? 0 : error_set_errno(err, ENOMEM, "cannot add up the jobs");
}

/* Page by page: a year of a site has millions.  Those that begin meanwhile are left out, so that
 * none moves from one page to the next. */
static int sum_jobs(struct reader *reader, const char *by, const struct job_filter *wanted,
		    json_t **ret, struct error *err)
{
	_cleanup_(json_freep) json_t *sums = json_object();
	const size_t limit = wanted->limit ? wanted->limit : SIZE_MAX;
	struct job_filter filter = *wanted;
	bool has_more = true;
	int r = sums ? 0 : -ENOMEM;

	if (!filter.until_ns)
		filter.until_ns = clock_now_ns(CLOCK_REALTIME);
	while (r == 0 && has_more && filter.offset < limit) {
		_cleanup_(json_freep) json_t *page = json_array();

		filter.limit = MIN(limit - filter.offset, (size_t)JOB_LIMIT_DEFAULT);
		r = reader_list_jobs(reader, &filter, page, err);
		if (r < 0)
			return r;
		has_more = json_array_size(page) == filter.limit;
		filter.offset += json_array_size(page);
		jobs_complete_all(page);
		r = add_jobs(sums, by, page);
	}
	if (r == 0)
		*ret = rows_of(sums);
	return *ret ? 0 : error_set_errno(err, ENOMEM, "cannot add up the jobs");
}

int jobs_ask_sums(struct reader *reader, const struct jobs_column *by,
		  const struct job_filter *filter, json_t **ret, struct error *err)
{
	int r = ask_sums(reader, by->key, filter, ret, err);

	if (r != -ENOTSUP && r != -ETIME)
		return r;
	*err = (struct error){};
	return sum_jobs(reader, by->key, filter, ret, err);
}

/* ---- what they emitted and cost ---- */

/* What two rows of one job, or of one key, share. */
static char *row_key(const char *by, const json_t *row)
{
	static const char *const of_job[] = { "cluster", "manager", "id", "start" };
	const char *const *names = by ? &by : of_job;
	struct sentence s = {};

	for (size_t i = 0; i < (by ? 1 : ARRAY_SIZE(of_job)); i++) {
		const char *text = json_string_value(json_object_get(row, names[i]));

		sentence_add(&s, "\n", "%s", text ? text : "\t");
	}
	return s.text;
}

/* Of the jobs of an answer, by their keys.  *ret_next: NULL: there are no more. */
static int take_emissions(const char *by, const json_t *answer, json_t *by_key)
{
	const json_t *list = json_object_get(answer, "emissions");
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		json_t *row = json_array_get(list, i);
		_cleanup_free_ char *key = row_key(by, row);

		json_object_del(row, "text");
		r = key ? json_object_set(by_key, key, row) : -1;
	}
	return r;
}

static int ask_emissions(struct reader *reader, const char *by, const struct job_filter *wanted,
			 size_t count, json_t *by_key, struct error *err)
{
	struct job_filter filter = *wanted;
	bool has_more = true;

	filter.offset = 0;
	filter.limit = MIN(count + 1, (size_t)JOB_LIMIT_DEFAULT);
	while (has_more) {
		_cleanup_(json_freep) json_t *answer = NULL;
		int r = reader_get_emissions(reader, by, &filter, &answer, err);
		const char *next;
		uint64_t until_ns = 0;

		if (r < 0)
			return r;
		if (take_emissions(by, answer, by_key) < 0)
			return error_set_errno(err, ENOMEM, "cannot keep what jobs emitted");
		next = json_string_value(json_object_get(answer, "next"));
		has_more = next && timestamp_parse(next, &until_ns) == 0 && count > filter.limit &&
			   (!filter.until_ns || until_ns + 1 < filter.until_ns);
		filter.until_ns = until_ns + 1; /* jobs that start together are told again */
		count -= MIN(count, filter.limit - 1);
	}
	return 0;
}

int jobs_add_emissions(struct reader *reader, const char *by, const struct job_filter *filter,
		       json_t *jobs, struct error *err)
{
	_cleanup_(json_freep) json_t *by_key = json_object();
	int r = by_key ? ask_emissions(reader, by, filter, json_array_size(jobs), by_key, err)
		       : -ENOMEM;

	for (size_t i = 0; r == 0 && i < json_array_size(jobs); i++) {
		json_t *job = json_array_get(jobs, i);
		_cleanup_free_ char *key = row_key(by, job);
		json_t *row = key ? json_object_get(by_key, key) : NULL;

		if (row)
			json_object_update_missing(job, row);
	}
	return r;
}

/* ---- a row ---- */

/* To the finest places that there is room for: sums are large. */
static bool put_real(double real, struct document *d)
{
	uint64_t number;

	for (int digits = PLACES; digits >= 0; digits -= 3) {
		if (decimal_from_double(real, (unsigned int)digits, &number) < 0)
			continue;
		document_decimal(d, number, (unsigned int)digits);
		return true;
	}
	return false;
}

void jobs_row_format(json_t *job, struct document *d)
{
	const char *key;
	json_t *value;

	document_begin_map(d);
	json_object_foreach(job, key, value)
	{
		document_key(d, key);
		if (json_is_string(value))
			document_string(d, json_string_value(value));
		else if (json_is_boolean(value))
			document_boolean(d, json_is_true(value));
		else if (json_is_integer(value))
			document_signed(d, json_integer_value(value));
		else if (!json_is_real(value) || !put_real(json_real_value(value), d))
			document_null(d);
	}
	document_end_map(d);
}
