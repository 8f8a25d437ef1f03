/* SPDX-License-Identifier: MIT */
#include "client/server_json.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/job_row.h"
#include "model/json_place.h"

#define JOBS_MAX 65536 /* of one answer */

static int take_values(const struct place *place, const json_t *map, struct job_row *row)
{
	char key[JOB_ROW_KEY_SIZE];
	int r = 0;

	for (size_t i = 0; r == 0 && i < JOB_ROW_VALUES; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);
		uint64_t number = 0;
		bool is_known = false;

		if (!job_row_key((enum metric_id)i, key))
			continue;
		r = place_take_number(place, map, key, metric_unit_places(metric->unit), &number,
				      &is_known);
		if (r == 0 && number > VALUE_MAX)
			r = place_refuse(place, key, "is too great");
		row->values[i] = (struct value){ number, is_known };
	}
	return r;
}

static int take_row(const struct place *place, const json_t *map, struct job_row *row)
{
	int64_t nodes = 1;
	bool is_known;
	int r = 0;

	for (size_t i = 0; r == 0 && i < job_row_text_count; i++)
		r = place_take_string(place, map, job_row_texts[i].key,
				      job_row_text(&job_row_texts[i], row));
	if (r == 0)
		r = place_take_signed(place, map, "uid", 0, UINT32_MAX, &row->uid);
	if (r == 0)
		r = place_take_boolean(place, map, "final", &row->is_final);
	if (r == 0)
		r = place_take_time(place, map, "start", &row->start_ns);
	if (r == 0)
		r = place_take_time(place, map, "end", &row->end_ns);
	if (r == 0)
		r = place_take_number(place, map, "elapsed_seconds",
				      metric_unit_places(UNIT_SECONDS), &row->elapsed_ns,
				      &is_known);
	if (r == 0)
		r = place_take_signed(place, map, "nodes", 0, INT_MAX, &nodes);
	if (r == 0)
		r = take_values(place, map, row);
	if (r == 0 && (!row->manager || !row->id))
		r = place_refuse(place, "", "lacks manager or id");
	row->nodes = (unsigned int)nodes;
	return r;
}

static int add_row(const struct place *place, const json_t *map, void *context)
{
	struct job_rows *rows = context;
	struct job_row row = JOB_ROW_EMPTY;
	int r = take_row(place, map, &row);

	if (r == 0)
		r = job_rows_add(rows, &row);
	if (r < 0)
		job_row_clear(&row);
	return r;
}

static int move_rows(struct job_rows *from, struct job_rows *to)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->count; i++)
		r = job_rows_add(to, &from->items[i]);
	return r;
}

int server_parse_jobs(const char *text, size_t length, struct job_rows *rows, bool *ret_more,
		      struct error *err)
{
	_cleanup_(job_rows_clear) struct job_rows parsed = {};
	_cleanup_(json_freep) json_t *root = NULL;
	struct place place = { .err = err }, jobs = place_below(&place, "jobs");
	const json_t *list = NULL;
	bool has_more = false;
	int r = place_parse_map(text ? text : "", length, &root, err);

	if (r == 0)
		r = place_get(&place, root, "jobs", JSON_ARRAY, &list);
	if (r == 0 && !list)
		r = error_set(err, -EPROTO, "it is no list of jobs");
	if (r == 0)
		r = place_each(&jobs, list, JOBS_MAX, add_row, &parsed);
	if (r == 0)
		r = place_take_boolean(&place, root, "more", &has_more);
	if (r == 0)
		r = move_rows(&parsed, rows);
	if (r == -ENOMEM)
		return error_set_errno(err, ENOMEM, "cannot read the server's answer");
	if (r < 0)
		return error_prefix(err, -EPROTO, "the server's answer");
	*ret_more = has_more;
	return 0;
}
