/* SPDX-License-Identifier: MIT */
#include "cli/jobs_sums.h"

#include <stdlib.h>
#include <string.h>

#include "cli/jobs_columns.h"
#include "model/metric.h"
#include "server/store/store.h"

/* @from of a job to @key of the row; what is not known adds nothing. */
static void add_number(json_t *row, const char *key, const json_t *job, const char *from)
{
	const json_t *more = json_object_get(job, from), *sum = json_object_get(row, key);

	if (json_is_integer(more) && (!sum || json_is_integer(sum)))
		json_object_set_new(
			row, key, json_integer(json_integer_value(sum) + json_integer_value(more)));
	else if (json_is_number(more))
		json_object_set_new(row, key,
				    json_real(json_number_value(sum) + json_number_value(more)));
}

static void add_job(json_t *row, const json_t *job)
{
	json_object_set_new(row, "jobs",
			    json_integer(json_integer_value(json_object_get(row, "jobs")) + 1));
	add_number(row, "elapsed_seconds", job, "elapsed_seconds");
	add_number(row, "core_seconds", job, "core_seconds");
	for (size_t i = 0; i < store_value_count(); i++) {
		const char *name = store_value_name(i);

		if (store_value_metric(i)->kind == KIND_COUNTER)
			add_number(row, name, job, name);
	}
	if (json_is_number(json_object_get(job, "energy.joules")))
		add_number(row, JOBS_ENERGY_CORE_SECONDS, job, "core_seconds");
}

/* The one of that text, which may be NULL; made where there is none. */
static json_t *find_row(json_t *by_text, json_t *rows, const struct jobs_column *by,
			const char *text)
{
	json_t *row = json_object_get(by_text, text ? text : "");

	if (row)
		return row;
	row = json_object();
	json_object_set_new(row, by->key, text ? json_string(text) : json_null());
	json_object_set(by_text, text ? text : "", row);
	return json_array_append_new(rows, row) == 0 ? row : NULL;
}

static int compare_rows(const void *a, const void *b)
{
	const json_t *left = *(json_t *const *)a, *right = *(json_t *const *)b;
	double left_s = json_number_value(json_object_get(left, "core_seconds")),
	       right_s = json_number_value(json_object_get(right, "core_seconds"));

	return (left_s < right_s) - (left_s > right_s);
}

static json_t *sort(const json_t *rows)
{
	const size_t count = json_array_size(rows);
	json_t **order = calloc(count + 1, sizeof(json_t *)), *sorted = json_array();

	for (size_t i = 0; order && i < count; i++)
		order[i] = json_array_get(rows, i);
	if (order)
		qsort(order, count, sizeof(json_t *), compare_rows);
	for (size_t i = 0; order && i < count; i++)
		json_array_append(sorted, order[i]);
	free(order);
	return sorted;
}

json_t *jobs_sums(const json_t *jobs, const struct jobs_column *by)
{
	json_t *by_text = json_object(), *rows = json_array(), *sorted = NULL;
	bool is_well = by_text && rows;

	for (size_t i = 0; is_well && i < json_array_size(jobs); i++) {
		const json_t *job = json_array_get(jobs, i);
		json_t *row = find_row(by_text, rows, by,
				       json_string_value(json_object_get(job, by->key)));

		is_well = row;
		if (row)
			add_job(row, job);
	}
	for (size_t i = 0; is_well && i < json_array_size(rows); i++)
		jobs_complete_energy(json_array_get(rows, i));
	if (is_well)
		sorted = sort(rows);
	json_decref(by_text);
	json_decref(rows);
	return sorted;
}
