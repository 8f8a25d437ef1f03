/* SPDX-License-Identifier: MIT */
#include "client/server_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "client/endpoint.h"
#include "client/server_json.h"
#include "codec/records.h"
#include "model/job_filter.h"
#include "model/job_name.h"
#include "model/job_row.h"

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
	r = endpoint_init("server", socket_path, SERVER_ANSWER_MAX, &c->server, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

const char *server_client_path(const struct server_client *c)
{
	return c->server.path;
}

/* ---- what is asked ---- */

struct target { /* "/v1/jobs?user=alice&limit=7", as it grows */
	FILE *stream;
	char *text;
	size_t length;
	bool has_query;
};

static void target_clear(struct target *t)
{
	if (t->stream)
		fclose(t->stream);
	free(t->text);
}

static int target_open(const char *path, struct target *ret)
{
	ret->stream = open_memstream(&ret->text, &ret->length);
	if (!ret->stream)
		return -ENOMEM;
	fputs(path, ret->stream);
	return 0;
}

static int target_add(struct target *t, const char *key, const char *text)
{
	_cleanup_free_ char *encoded = text ? percent_encode(text) : NULL;

	if (!text)
		return 0;
	if (!encoded)
		return -ENOMEM;
	fprintf(t->stream, "%c%s=%s", t->has_query ? '&' : '?', key, encoded);
	t->has_query = true;
	return 0;
}

static int target_add_time(struct target *t, const char *key, uint64_t ns)
{
	char text[TIMESTAMP_SIZE];

	return ns ? target_add(t, key, timestamp_format(text, ns)) : 0;
}

static int target_add_count(struct target *t, const char *key, size_t count)
{
	char text[24];

	snprintf(text, sizeof(text), "%zu", count);
	return target_add(t, key, text);
}

static int ask(const struct server_client *c, struct target *t, int timeout_ms, struct reply *ret,
	       struct error *err)
{
	int r = fclose(TAKE_PTR(t->stream));

	if (r != 0)
		return error_set_errno(err, ENOMEM, "cannot ask the server");
	r = endpoint_ask(&c->server, t->text, NULL, timeout_ms, ret, err);
	return !ret->status && (r == -ENOENT || r == -ECONNREFUSED) ? -ENOTCONN : r;
}

int server_client_greet(struct server_client *c, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	_cleanup_(target_clear) struct target target = {};
	int r = target_open("/v1/server", &target);

	return r < 0 ? error_set_errno(err, r, "cannot ask the server")
		     : ask(c, &target, SERVER_HELLO_MS, &answer, err);
}

/* ---- jobs ---- */

static int target_add_filter(struct target *t, const struct job_filter *filter)
{
	int r = target_add_time(t, "since", filter->since_ns);

	if (r == 0)
		r = target_add_time(t, "until", filter->until_ns);
	for (size_t i = 0; r == 0 && job_filter_key(i); i++)
		r = target_add(t, job_filter_key(i), job_filter_text(filter, i));
	return r;
}

static int get_page(struct server_client *c, const struct job_filter *filter, size_t limit,
		    size_t offset, struct job_rows *rows, bool *ret_more, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	_cleanup_(target_clear) struct target target = {};
	int r = target_open("/v1/jobs", &target);

	if (r == 0)
		r = target_add_filter(&target, filter);
	if (r == 0)
		r = target_add_count(&target, "limit", limit);
	if (r == 0 && offset)
		r = target_add_count(&target, "offset", offset);
	if (r < 0)
		return error_set_errno(err, r, "cannot ask the server");
	r = ask(c, &target, SERVER_ANSWER_MS, &answer, err);
	return r < 0 ? r : server_parse_jobs(answer.text, answer.length, rows, ret_more, err);
}

int server_client_list_jobs(struct server_client *c, const struct job_filter *filter,
			    struct job_rows *rows, struct error *err)
{
	size_t begin = rows->count;
	bool has_more = true;

	while (has_more && (!filter->limit || rows->count - begin < filter->limit)) {
		size_t had = rows->count - begin,
		       wanted = filter->limit ? MIN(filter->limit - had, (size_t)SERVER_PAGE)
					      : SERVER_PAGE;
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
	_cleanup_(target_clear) struct target target = {};
	int r = target_open("/v1/records", &target);

	if (r == 0)
		r = target_add(&target, "id", name->id);
	if (r == 0)
		r = target_add(&target, "node", name->node);
	if (r == 0)
		r = target_add(&target, "manager", name->manager);
	if (r < 0)
		return error_set_errno(err, r, "cannot ask the server");
	r = ask(c, &target, SERVER_ANSWER_MS, &answer, err);
	if (r < 0)
		return r;
	r = records_parse(answer.text ? answer.text : "", answer.length, c->server.path, records,
			  err);
	return r < 0 ? error_prefix(err, r == -ENOMEM ? r : -EPROTO, "the server's answer") : 0;
}
