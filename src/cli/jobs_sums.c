/* SPDX-License-Identifier: MIT */
#include "cli/jobs_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "cli/jobs_columns.h"
#include "model/metric.h"
#include "model/json_place.h"
#include "server/store/store.h"

struct jobs_sums {
	const struct jobs_column *by;
	json_t *rows; /* by their text; "": they have none */
};

struct jobs_sums *jobs_sums_new(const struct jobs_column *by)
{
	struct jobs_sums *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->by = by;
	s->rows = json_object();
	if (s->rows)
		return s;
	free(s);
	return NULL;
}

void jobs_sums_free(struct jobs_sums *s)
{
	if (!s)
		return;
	json_decref(s->rows);
	free(s);
}

/* ---- one job ---- */

/* A whole number as long as it is one, and fits. */
static json_t *add(const json_t *a, const json_t *b)
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
	return json_object_set_new(row, key, sum ? add(sum, more) : json_deep_copy(more));
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

static json_t *find_row(struct jobs_sums *s, const char *text)
{
	json_t *row = json_object_get(s->rows, text ? text : "");

	if (row)
		return row;
	row = json_object();
	if (json_object_set_new(row, s->by->key, text ? json_string(text) : json_null()) < 0 ||
	    json_object_set(s->rows, text ? text : "", row) < 0)
		return json_decref(row), NULL;
	json_decref(row);
	return row;
}

int jobs_sums_add(struct jobs_sums *s, const json_t *jobs)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(jobs); i++) {
		const json_t *job = json_array_get(jobs, i);
		json_t *row = find_row(s, json_string_value(json_object_get(job, s->by->key)));

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

json_t *jobs_sums_sort(json_t *rows)
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

json_t *jobs_sums_rows(struct jobs_sums *s)
{
	_cleanup_(json_freep) json_t *rows = json_array();
	json_t *row;
	const char *text;
	int r = rows ? 0 : -1;

	json_object_foreach(s->rows, text, row)
	{
		r = r == 0 ? json_array_append(rows, row) : r;
	}
	return r == 0 ? jobs_sums_sort(rows) : NULL;
}
