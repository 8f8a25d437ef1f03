/* SPDX-License-Identifier: MIT */
/* What is served on the Unix socket: each sees his own jobs, root and the admins all. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/ids.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "basic/timestamp.h"
#include "model/document.h"
#include "server/server_internal.h"
#include "service/permission.h"

#define LIMIT_STANDARD 1000
#define STATUS_BAD_REQUEST 400
#define STATUS_FORBIDDEN 403
#define STATUS_NOT_FOUND 404
#define STATUS_UNAVAILABLE 503

static struct store_who who_asks(struct server *s, const struct http_request *request)
{
	return (struct store_who){
		.sees_all = permission_sees_all(s->permission, &request->peer),
		.uid = request->peer.uid,
	};
}

static int fail_store(int code, const struct error *err, struct http_answer *ret)
{
	return http_fail(ret, code == -ENOENT ? STATUS_NOT_FOUND : STATUS_UNAVAILABLE, "%s",
			 err->text);
}

/* ---- what was asked ---- */

/* Each is strict: what is not understood is said, and never left out. */
static int take_time(const struct http_request *request, const char *key, uint64_t *ret,
		     struct error *err)
{
	const char *text = http_query(request, key);

	if (!text || timestamp_parse(text, ret) == 0)
		return 0;
	return error_set(err, -EINVAL, "%s: '%.64s' is no time such as 2026-02-03T04:05:06Z", key,
			 text);
}

static int take_number(const struct http_request *request, const char *key, uint64_t max,
		       uint64_t *ret, struct error *err)
{
	const char *text = http_query(request, key);
	uint64_t number;

	if (!text)
		return 0;
	if (parse_u64(text, &number) < 0 || number > max)
		return error_set(err, -EINVAL, "%s: '%.64s' is no number from 0 to %llu", key, text,
				 (unsigned long long)max);
	*ret = number;
	return 0;
}

/* An empty text is none. */
static const char *text_of(const struct http_request *request, const char *key)
{
	const char *text = http_query(request, key);

	return text && *text ? text : NULL;
}

static int take_filter(const struct http_request *request, struct store_filter *ret,
		       struct error *err)
{
	uint64_t limit = LIMIT_STANDARD, offset = 0;
	int r = take_time(request, "since", &ret->since_ns, err);

	if (r == 0)
		r = take_time(request, "until", &ret->until_ns, err);
	if (r == 0)
		r = take_number(request, "limit", STORE_LIMIT_MAX, &limit, err);
	if (r == 0)
		r = take_number(request, "offset", INT32_MAX, &offset, err);
	ret->user = text_of(request, "user");
	ret->account = text_of(request, "account");
	ret->partition = text_of(request, "partition");
	ret->manager = text_of(request, "manager");
	ret->cluster = text_of(request, "cluster");
	ret->state = text_of(request, "state");
	ret->name = text_of(request, "name");
	ret->id = text_of(request, "id");
	ret->text = text_of(request, "text");
	ret->limit = (unsigned int)limit;
	ret->offset = (unsigned int)offset;
	return r;
}

/* ---- jobs ---- */

static int put_job(void *context, const struct store_job *job)
{
	store_job_format(job, context);
	return 0;
}

static int list_jobs(struct server *s, const struct store_filter *filter,
		     const struct store_who *who, FILE *out, struct error *err)
{
	_cleanup_(document_freep) struct document *d = document_new_json(out, DOCUMENT_ONE_LINE);
	bool has_more = false;
	int r;

	if (!d)
		return error_set_errno(err, ENOMEM, "cannot list the jobs");
	document_begin_map(d);
	document_begin_list_of(d, "jobs");
	r = store_list_jobs(s->store, filter, who, put_job, d, &has_more, err);
	if (r < 0)
		return r;
	document_end_list(d);
	document_put_boolean(d, "more", has_more);
	document_end_map(d);
	return document_finish(d);
}

static int get_jobs(void *context, const struct http_request *request, struct http_answer *ret)
{
	struct server *s = context;
	struct store_who who = who_asks(s, request);
	struct store_filter filter = {};
	struct error err = {};
	FILE *out;
	int r = take_filter(request, &filter, &err);

	if (r < 0)
		return http_fail(ret, STATUS_BAD_REQUEST, "%s", err.text);
	out = open_memstream(&ret->text, &ret->length);
	if (!out)
		return -ENOMEM;
	r = list_jobs(s, &filter, &who, out, &err);
	fclose(out);
	return r < 0 ? fail_store(r, &err, ret) : 0;
}

/* ---- records, one after the other ---- */

struct record_stream {
	struct store *store;
	struct id_list ids;
	size_t next; /* of them */
	char *line; /* that is being given, with its newline */
	size_t length, given;
};

static int next_line(struct record_stream *rs)
{
	free(rs->line);
	rs->line = NULL;
	rs->length = rs->given = 0;
	while (rs->next < rs->ids.count) {
		int r = store_read_line(rs->store, rs->ids.items[rs->next++], &rs->line,
					&rs->length, NULL);

		if (r == -ENOENT) /* deleted meanwhile */
			continue;
		if (r == 0)
			rs->line[rs->length++] = '\n'; /* in the place of the NUL */
		return r;
	}
	return 0;
}

static ssize_t give_lines(void *context, char *buffer, size_t size)
{
	struct record_stream *rs = context;
	size_t length;

	if (rs->given == rs->length) {
		int r = next_line(rs);

		if (r < 0)
			return r;
	}
	length = MIN(size, rs->length - rs->given);
	if (length)
		memcpy(buffer, rs->line + rs->given, length);
	rs->given += length;
	return (ssize_t)length;
}

static void free_stream(void *context)
{
	struct record_stream *rs = context;

	id_list_clear(&rs->ids);
	free(rs->line);
	free(rs);
}

static int answer_records(struct server *s, const struct store_question *question,
			  const struct store_who *who, struct http_answer *ret)
{
	struct record_stream *rs = calloc(1, sizeof(*rs));
	struct error err = {};
	int r;

	if (!rs)
		return -ENOMEM;
	rs->store = s->store;
	r = store_find_records(s->store, question, who, &rs->ids, &err);
	if (r < 0) {
		free_stream(rs);
		return fail_store(r, &err, ret);
	}
	ret->type = "application/x-ndjson";
	ret->next = give_lines;
	ret->done = free_stream;
	ret->context = rs;
	return 0;
}

static int get_records(void *context, const struct http_request *request, struct http_answer *ret)
{
	struct server *s = context;
	struct store_who who = who_asks(s, request);
	struct store_question question = {
		.id = text_of(request, "id"),
		.node = text_of(request, "node"),
		.manager = text_of(request, "manager"),
		.cluster = text_of(request, "cluster"),
	};
	struct error err = {};

	if (!question.id)
		return http_fail(ret, STATUS_BAD_REQUEST, "id: the job's id is missing");
	if (take_number(request, "start", INT64_MAX, &question.start_ns, &err) < 0)
		return http_fail(ret, STATUS_BAD_REQUEST, "%s", err.text);
	return answer_records(s, &question, &who, ret);
}

/* ---- the server itself ---- */

static int get_health(void *context UNUSED, const struct http_request *request UNUSED,
		      struct http_answer *ret)
{
	ret->text = strdup("ok\n");
	ret->length = strlen("ok\n");
	return ret->text ? 0 : -ENOMEM;
}

static void put_server(const struct server *s, const struct store_facts *facts, struct document *d)
{
	const struct {
		const char *key;
		uint64_t number;
	} rows[] = {
		{ "taken_records", s->counts.taken },
		{ "known_records", s->counts.known },
		{ "refused_records", s->counts.refused },
		{ "records", facts->records },
		{ "jobs", facts->jobs },
		{ "events", facts->events },
		{ "database_bytes", facts->bytes },
	};

	document_begin_map(d);
	document_put_string(d, "version", JOBMETER_VERSION);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		document_put_unsigned(d, rows[i].key, rows[i].number);
	document_end_map(d);
}

/* How much others do is not everybody's. */
static int get_server(void *context, const struct http_request *request, struct http_answer *ret)
{
	_cleanup_(document_freep) struct document *d = NULL;
	struct server *s = context;
	struct store_facts facts = {};
	struct error err = {};
	FILE *out;
	int r;

	if (!permission_sees_all(s->permission, &request->peer))
		return http_fail(ret, STATUS_FORBIDDEN, "this is for root and for admin_groups");
	r = store_read_facts(s->store, &facts, &err);
	if (r < 0)
		return fail_store(r, &err, ret);
	out = open_memstream(&ret->text, &ret->length);
	if (!out)
		return -ENOMEM;
	d = document_new_json(out, DOCUMENT_ONE_LINE);
	if (d)
		put_server(s, &facts, d);
	r = d ? document_finish(d) : -ENOMEM;
	fclose(out);
	return r;
}

const struct http_route server_socket_routes[] = {
	{ "GET", "/health", get_health, .gives_text = true },
	{ "GET", "/v1/jobs", get_jobs },
	{ "GET", "/v1/records", get_records },
	{ "GET", "/v1/server", get_server },
	{},
};
