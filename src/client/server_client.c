/* SPDX-License-Identifier: MIT */
#include "client/server_client.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "client/endpoint.h"
#include "codec/records.h"
#include "model/job_filter.h"
#include "model/job_name.h"
#include "model/job_row.h"
#include "model/json_place.h"

#define ANSWER_MAX (256u * 1024 * 1024) /* records of a job on many nodes */
#define HELLO_MS 2000
#define ANSWER_MS 30000 /* for everything else */
#define PAGE 1000 /* jobs that are asked for at once */
#define JOBS_MAX 65536 /* of one answer */
#define KEYS_MAX 16 /* of one question */

struct server_client {
	struct endpoint server;
};

struct server_client *server_client_close(struct server_client *c)
{
	if (c)
		endpoint_clear(&c->server);
	free(c);
	return NULL;
}

void server_client_closep(struct server_client **c)
{
	server_client_close(*c);
}

int server_client_open(const char *socket_path, struct server_client **ret, struct error *err)
{
	_cleanup_(server_client_closep) struct server_client *c = calloc(1, sizeof(*c));
	const char *named = getenv("JOBMETER_SERVER_SOCKET");
	int r;

	if (!socket_path)
		socket_path = named && *named ? named : SERVER_SOCKET;
	if (!c)
		return error_set_errno(err, ENOMEM, "cannot ask the server");
	r = endpoint_init("server", socket_path, ANSWER_MAX, &c->server, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

/* ---- what is asked ---- */

struct query { /* what stands behind the '?'; what has no text is left out */
	size_t count;
	const char *keys[KEYS_MAX], *texts[KEYS_MAX];
};

static void query_add(struct query *q, const char *key, const char *text)
{
	q->keys[q->count] = key;
	q->texts[q->count] = text;
	q->count += text != NULL;
}

static int ask(const struct server_client *c, const char *path, const struct query *q,
	       int timeout_ms, struct reply *ret, struct error *err)
{
	_cleanup_free_ char *target = NULL;
	size_t length;
	FILE *out = open_memstream(&target, &length);
	bool is_whole = out;
	int r;

	if (out)
		fputs(path, out);
	for (size_t i = 0; is_whole && i < q->count; i++) {
		_cleanup_free_ char *encoded = percent_encode(q->texts[i]);

		is_whole = encoded;
		fprintf(out, "%c%s=%s", i ? '&' : '?', q->keys[i], encoded ? encoded : "");
	}
	if (!out || fclose(out) != 0 || !is_whole)
		return error_set_errno(err, ENOMEM, "cannot ask the server");
	r = endpoint_ask(&c->server, target, NULL, timeout_ms, ret, err);
	return !ret->status && (r == -ENOENT || r == -ECONNREFUSED) ? -ENOTCONN : r;
}

int server_client_greet(struct server_client *c, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};

	return ask(c, "/v1/server", &(struct query){}, HELLO_MS, &answer, err);
}

/* ---- jobs ---- */

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

static int add_row(const struct place *place, const json_t *map, void *rows)
{
	struct job_row row = JOB_ROW_EMPTY;
	int r = take_row(place, map, &row);

	if (r == 0)
		r = job_rows_add(rows, &row);
	if (r < 0)
		job_row_clear(&row);
	return r;
}

int server_parse_jobs(const char *text, size_t length, struct job_rows *rows, bool *ret_more,
		      struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	struct place place = { .err = err }, jobs = place_below(&place, "jobs");
	const json_t *list = NULL;
	size_t begin = rows->count;
	bool has_more = false;
	int r = place_parse_map(text ? text : "", length, &root, err);

	if (r == 0)
		r = place_get(&place, root, "jobs", JSON_ARRAY, &list);
	if (r == 0 && !list)
		r = error_set(err, -EPROTO, "it is no list of jobs");
	if (r == 0)
		r = place_take_boolean(&place, root, "more", &has_more);
	if (r == 0)
		r = place_each(&jobs, list, JOBS_MAX, add_row, rows);
	if (r == 0) {
		*ret_more = has_more;
		return 0;
	}
	while (rows->count > begin)
		job_row_clear(&rows->items[--rows->count]);
	if (r == -ENOMEM)
		return error_set_errno(err, ENOMEM, "cannot read the server's answer");
	return error_prefix(err, -EPROTO, "the server's answer");
}

static int get_page(struct server_client *c, const struct job_filter *filter, size_t limit,
		    size_t offset, struct job_rows *rows, bool *ret_more, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	char since[TIMESTAMP_SIZE], until[TIMESTAMP_SIZE], limit_text[24], offset_text[24];
	struct query query = {};
	int r;

	snprintf(limit_text, sizeof(limit_text), "%zu", limit);
	snprintf(offset_text, sizeof(offset_text), "%zu", offset);
	if (filter->since_ns)
		query_add(&query, "since", timestamp_format(since, filter->since_ns));
	if (filter->until_ns)
		query_add(&query, "until", timestamp_format(until, filter->until_ns));
	for (size_t i = 0; job_filter_key(i); i++)
		query_add(&query, job_filter_key(i), job_filter_text(filter, i));
	query_add(&query, "limit", limit_text);
	query_add(&query, "offset", offset ? offset_text : NULL);
	r = ask(c, "/v1/jobs", &query, ANSWER_MS, &answer, err);
	return r < 0 ? r : server_parse_jobs(answer.text, answer.length, rows, ret_more, err);
}

int server_client_list_jobs(struct server_client *c, const struct job_filter *filter,
			    struct job_rows *rows, struct error *err)
{
	size_t begin = rows->count;
	bool has_more = true;

	while (has_more && (!filter->limit || rows->count - begin < filter->limit)) {
		size_t had = rows->count - begin,
		       wanted = filter->limit ? MIN(filter->limit - had, (size_t)PAGE) : PAGE;
		int r = get_page(c, filter, wanted, had, rows, &has_more, err);

		if (r < 0)
			return r;
		has_more &= rows->count - begin > had; /* else it would never end */
	}
	return 0;
}

/* ---- records ---- */

int server_client_get_records(struct server_client *c, const struct job_name *name,
			      struct records *records, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	struct query query = {};
	int r;

	query_add(&query, "id", name->id);
	query_add(&query, "node", name->node);
	query_add(&query, "manager", name->manager);
	r = ask(c, "/v1/records", &query, ANSWER_MS, &answer, err);
	if (r < 0)
		return r;
	r = records_parse(answer.text ? answer.text : "", answer.length, c->server.path, records,
			  err);
	return r < 0 ? error_prefix(err, r == -ENOMEM ? r : -EPROTO, "the server's answer") : 0;
}
