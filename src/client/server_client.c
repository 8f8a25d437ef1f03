/* SPDX-License-Identifier: MIT */
#include "client/server_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "client/endpoint.h"
#include "client/web.h"
#include "codec/records.h"
#include "model/job_filter.h"
#include "model/job_name.h"
#include "model/json_place.h"

#define JOBS_MAX 65536 /* of one answer */
#define KEYS_MAX 16 /* of one question */

struct server_client {
	struct endpoint server; /* or: */
	struct web *web; /* NULL: it is not asked by HTTP */
	char *after; /* of the list that was asked for last: where its next page begins */
};

struct server_client *server_client_close(struct server_client *c)
{
	if (c) {
		endpoint_clear(&c->server);
		web_close(c->web);
		free(c->after);
	}
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
	r = endpoint_init("server", socket_path, SERVER_ANSWER_MAX, &c->server, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

int server_client_open_url(const char *url, struct server_client **ret, struct error *err)
{
	_cleanup_(server_client_closep) struct server_client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return error_set_errno(err, ENOMEM, "cannot ask the server");
	r = web_open(url, SERVER_ANSWER_MAX, &c->web, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

/* ---- what is asked ---- */

struct query { /* behind the '?'; a key without a text is left out */
	size_t count;
	const char *keys[KEYS_MAX], *texts[KEYS_MAX];
};

static void query_add(struct query *q, const char *key, const char *text)
{
	q->keys[q->count] = key;
	q->texts[q->count] = text;
	q->count += text != NULL;
}

/* @body NULL: it is a GET. */
static int ask_with(struct server_client *c, const char *path, const struct query *q,
		    const char *body, int timeout_ms, struct reply *ret, struct error *err)
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
	if (c->web) {
		ret->max = SERVER_ANSWER_MAX;
		return web_ask(c->web, target, body, timeout_ms, ret, err);
	}
	r = endpoint_ask(&c->server, target, body, timeout_ms, ret, err);
	return !ret->status && r == -ENOENT ? -ENOTCONN : r;
}

static int ask(struct server_client *c, const char *path, const struct query *q, int timeout_ms,
	       struct reply *ret, struct error *err)
{
	return ask_with(c, path, q, NULL, timeout_ms, ret, err);
}

int server_client_greet(struct server_client *c, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};

	return ask(c, "/v1/server", &(struct query){}, SERVER_HELLO_MS, &answer, err);
}

int server_client_make_link(struct server_client *c, char **ret, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	int r = endpoint_ask(&c->server, "/v1/link", "", SERVER_HELLO_MS, &answer, err);

	if (r < 0)
		return r;
	*ret = answer.text ? strndup(answer.text, strcspn(answer.text, "\n")) : NULL;
	return *ret ? 0 : -ENOMEM;
}

/* ---- jobs ---- */

static int check_job(const struct place *place, const json_t *map, void *context UNUSED)
{
	const json_t *text = NULL;
	int r = place_get(place, map, "manager", JSON_STRING, &text);

	if (r == 0 && text)
		r = place_get(place, map, "id", JSON_STRING, &text);
	return r == 0 && !text ? place_refuse(place, "", "lacks manager or id") : r;
}

/* *ret_next: where the next page begins, which the caller frees; NULL: it does not say. */
static int parse_page(const char *text, size_t length, json_t *ret, bool *ret_more, char **ret_next,
		      struct error *err)
{
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
		r = place_take_boolean(&place, root, "more", &has_more);
	if (r == 0)
		r = place_each(&jobs, list, JOBS_MAX, check_job, NULL);
	if (r < 0)
		return error_prefix(err, -EPROTO, "the server's answer");
	if (json_array_extend(ret, json_object_get(root, "jobs")) < 0)
		return error_set_errno(err, ENOMEM, "cannot read the server's answer");
	*ret_more = has_more;
	if (ret_next) {
		const char *next = json_string_value(json_object_get(root, "next"));

		*ret_next = next ? strdup(next) : NULL;
	}
	return 0;
}

int server_parse_jobs(const char *text, size_t length, json_t *ret, bool *ret_more,
		      struct error *err)
{
	return parse_page(text, length, ret, ret_more, NULL, err);
}

/* By HTTP pages follow each other by where the one before ended. */
static int add_page(struct server_client *c, const struct job_filter *filter, const char *offset,
		    struct query *query, struct error *err)
{
	if (!c->web) {
		query_add(query, "offset", filter->offset ? offset : NULL);
		return 0;
	}
	if (filter->offset && !c->after)
		return error_set(err, -EPROTO, "the server does not say where its page ended");
	query_add(query, "fields", "all");
	query_add(query, "after", filter->offset ? c->after : NULL);
	return 0;
}

struct filter_texts {
	char since[TIMESTAMP_SIZE], until[TIMESTAMP_SIZE];
};

static void query_add_filter(struct query *query, const struct job_filter *filter,
			     struct filter_texts *texts)
{
	if (filter->since_ns)
		query_add(query, "since", timestamp_format(texts->since, filter->since_ns));
	if (filter->until_ns)
		query_add(query, "until", timestamp_format(texts->until, filter->until_ns));
	query_add(query, "user", filter->user);
	query_add(query, "cluster", filter->cluster);
	query_add(query, "account", filter->account);
	query_add(query, "partition", filter->partition);
	query_add(query, "manager", filter->manager);
	query_add(query, "name", filter->name);
	query_add(query, "id", filter->id);
	query_add(query, "state", filter->state);
	query_add(query, "text", filter->text);
}

int server_client_list_jobs(struct server_client *c, const struct job_filter *filter, json_t *jobs,
			    bool *ret_more, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	char limit[24], offset[24];
	struct filter_texts texts;
	struct query query = {};
	int r;

	snprintf(limit, sizeof(limit), "%zu", filter->limit);
	snprintf(offset, sizeof(offset), "%zu", filter->offset);
	query_add_filter(&query, filter, &texts);
	query_add(&query, "limit", filter->limit ? limit : NULL);
	r = add_page(c, filter, offset, &query, err);
	if (r == 0)
		r = ask(c, c->web ? "/api/v1/jobs" : "/v1/jobs", &query, SERVER_ANSWER_MS, &answer,
			err);
	if (r < 0)
		return r;
	free(c->after);
	c->after = NULL;
	return parse_page(answer.text, answer.length, jobs, ret_more, &c->after, err);
}

/* An answer with a list of maps by @name. */
static int parse_maps(const char *text, size_t length, const char *name, json_t **ret,
		      struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	struct place place = { .err = err };
	const json_t *list = NULL;
	int r = place_parse_map(text ? text : "", length, &root, err);

	if (r == 0)
		r = place_get(&place, root, name, JSON_ARRAY, &list);
	if (r == 0 && !list)
		r = error_set(err, -EPROTO, "it has no %s", name);
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		if (!json_is_object(json_array_get(list, i)))
			r = error_set(err, -EPROTO, "one of its %s is no map", name);
	}
	if (r < 0)
		return error_prefix(err, -EPROTO, "the server's answer");
	*ret = TAKE_PTR(root);
	return 0;
}

int server_parse_sums(const char *text, size_t length, json_t **ret, struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	int r = parse_maps(text, length, "sums", &root, err);

	if (r == 0)
		*ret = json_incref(json_object_get(root, "sums"));
	return r;
}

/* An older server has no such path, others lack that column, or it takes too long. */
static int settle_sums(const struct reply *answer, int r)
{
	return answer->status == 404 || answer->status == 400 || answer->status == 503 ? -ENOTSUP
										       : r;
}

int server_client_get_emissions(struct server_client *c, const char *by,
				const struct job_filter *filter, json_t **ret, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	struct filter_texts texts;
	struct query query = {};
	char limit[24];
	int r;

	snprintf(limit, sizeof(limit), "%zu", filter->limit);
	query_add(&query, "by", by);
	query_add_filter(&query, filter, &texts);
	query_add(&query, "limit", !by && filter->limit ? limit : NULL);
	r = ask(c, c->web ? "/api/v1/emissions" : "/v1/emissions", &query, SERVER_ANSWER_MS,
		&answer, err);
	r = answer.status == 503 ? -ETIME : settle_sums(&answer, r);
	return r < 0 ? r : parse_maps(answer.text, answer.length, "emissions", ret, err);
}

int server_client_get_usage(struct server_client *c, const char *by, const char *period,
			    const struct job_filter *filter, json_t **ret, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	struct filter_texts texts;
	struct query query = {};
	char limit[24];
	int r;

	snprintf(limit, sizeof(limit), "%zu", filter->limit);
	query_add(&query, "by", by);
	query_add(&query, "period", period);
	query_add_filter(&query, filter, &texts);
	query_add(&query, "limit", limit);
	r = ask(c, "/api/v1/usage", &query, SERVER_ANSWER_MS, &answer, err);
	return r < 0 ? r : parse_maps(answer.text, answer.length, "usage", ret, err);
}

int server_client_sum_jobs(struct server_client *c, const char *by, const struct job_filter *filter,
			   json_t **ret, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	struct filter_texts texts;
	struct query query = {};
	int r = c->web ? -ENOTSUP : 0;

	query_add(&query, "by", by);
	query_add_filter(&query, filter, &texts);
	if (r == 0)
		r = ask(c, "/v1/sums", &query, SERVER_ANSWER_MS, &answer, err);
	r = settle_sums(&answer, r);
	return r < 0 ? r : server_parse_sums(answer.text, answer.length, ret, err);
}

/* ---- records ---- */

int server_client_get_records(struct server_client *c, const struct job_name *name,
			      struct records *records, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	_cleanup_free_ char *id = percent_encode(name->id), *path = NULL;
	struct query query = {};
	int r;

	if (!id || asprintf(&path, "/api/v1/jobs/%s/records", id) < 0) {
		path = NULL;
		return error_set_errno(err, ENOMEM, "cannot ask the server");
	}
	query_add(&query, "id", c->web ? NULL : name->id);
	query_add(&query, "node", name->node);
	query_add(&query, "manager", name->manager);
	query_add(&query, "cluster", name->cluster);
	/* so that nodes are merged on one axis of time */
	query_add(&query, "clock", c->web ? NULL : "1");
	r = ask(c, c->web ? path : "/v1/records", &query, SERVER_ANSWER_MS, &answer, err);
	if (r < 0)
		return r;
	r = records_parse(answer.text ? answer.text : "", answer.length, "its records", records,
			  err);
	return r < 0 ? error_prefix(err, r == -ENOMEM ? r : -EPROTO, "the server's answer") : 0;
}

/* ---- predictions ---- */

int server_client_post(struct server_client *c, const char *path, const json_t *body, json_t **ret,
		       struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	_cleanup_free_ char *text = json_dumps(body, JSON_COMPACT);
	int r = text ? ask_with(c, path, &(struct query){}, text, SERVER_ANSWER_MS, &answer, err)
		     : error_set_errno(err, ENOMEM, "cannot ask the server");

	if (r < 0)
		return r;
	r = place_parse_map(answer.text ? answer.text : "", answer.length, ret, err);
	return r < 0 ? error_prefix(err, -EPROTO, "the server's answer") : 0;
}
