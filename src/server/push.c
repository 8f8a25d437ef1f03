/* SPDX-License-Identifier: MIT */
/* What is served on TCP: records come in; nothing of a job goes out. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "server/server_internal.h"
#include "service/log.h"

#define STATUS_BAD_REQUEST 400
#define STATUS_TOO_LARGE 413
#define STATUS_UNSUPPORTED 415
#define STATUS_UNAVAILABLE 503
#define RETRY_AFTER_S 30

/* Said when it begins and when it ends, not at each request. */
static void tell_state(struct server *s, const struct error *failure)
{
	if (failure && !s->has_failed)
		log_say(CONFIG_LOG_ERROR, "records are not taken: %s", failure->text);
	if (!failure && s->has_failed)
		log_say(CONFIG_LOG_INFO, "records are taken again");
	s->has_failed = failure;
}

static int fail_push(struct server *s, int code, const struct error *err, struct http_answer *ret)
{
	int r;

	if (code == -EFBIG)
		return http_fail(ret, STATUS_TOO_LARGE, "%s", err->text);
	if (code == -EPROTO)
		return http_fail(ret, STATUS_BAD_REQUEST, "%s", err->text);
	tell_state(s, err);
	r = http_fail(ret, STATUS_UNAVAILABLE, "%s", err->text);
	ret->retry_after_s = RETRY_AFTER_S;
	return r;
}

static int answer_push(void *context, const struct http_request *request, struct http_answer *ret)
{
	struct server *s = context;
	const struct ingest_request ingest = {
		.body = request->body,
		.length = request->body_length,
		.encoding = http_header(request, "Content-Encoding"),
		.now_ns = clock_now_ns(CLOCK_REALTIME),
	};
	const char *type = http_header(request, "Content-Type");
	struct error err = {};
	int r;

	if (type && strncmp(type, "application/x-ndjson", strlen("application/x-ndjson")) != 0)
		return http_fail(ret, STATUS_UNSUPPORTED, "this takes application/x-ndjson");
	r = ingest_take(s->store, &ingest, &s->counts, &ret->text, &ret->length, &err);
	if (r < 0)
		return fail_push(s, r, &err, ret);
	tell_state(s, NULL);
	ret->type = "application/x-ndjson";
	return 0;
}

static int answer_health(void *context UNUSED, const struct http_request *request UNUSED,
			 struct http_answer *ret)
{
	ret->text = strdup("ok\n");
	ret->length = strlen("ok\n");
	return ret->text ? 0 : -ENOMEM;
}

/* ---- metrics ---- */

struct family {
	const char *name, *type, *help;
	const char *label; /* a fixed one; rows of a family stand together */
	uint64_t number;
};

static void put_family(const struct family *family, const struct family *before, FILE *out)
{
	if (!before || strcmp(before->name, family->name) != 0)
		fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help,
			family->name, family->type);
	if (family->label)
		fprintf(out, "%s{%s} %" PRIu64 "\n", family->name, family->label, family->number);
	else
		fprintf(out, "%s %" PRIu64 "\n", family->name, family->number);
}

/* clang-format off */
static void put_metrics(const struct server *s, const struct store_facts *facts, FILE *out)
{
	const struct ingest_counts *c = &s->counts;
	const struct family families[] = {
		{ "jobmeter_server_info", "gauge", "The server's version.", "version=\"" JOBMETER_VERSION "\"", 1 },
		{ "jobmeter_server_records_total", "counter", "Records that came since the start, by what was answered.",
		  "answer=\"taken\"", c->taken },
		{ "jobmeter_server_records_total", "counter", "", "answer=\"known\"", c->known },
		{ "jobmeter_server_records_total", "counter", "", "answer=\"refused\"", c->refused },
		{ "jobmeter_server_batches_total", "counter", "Requests that brought records.", NULL, c->batches },
		{ "jobmeter_server_failed_batches_total", "counter", "Requests of which nothing was stored: too large, no gzip, or the database failed.",
		  NULL, c->failed_batches },
		{ "jobmeter_server_ingested_bytes_total", "counter", "Bytes of records that came, unpacked.", NULL, c->bytes },
		{ "jobmeter_server_lag_seconds", "gauge", "Time between the making and the arrival of the record that was taken last.",
		  NULL, c->lag_ns / 1000000000 },
		{ "jobmeter_server_database_bytes", "gauge", "Size of the database's file and of its log.", NULL, facts->bytes },
		{ "jobmeter_server_closed_records_total", "counter", "Records of jobs that were closed as incomplete.", NULL, facts->closed },
		{ "jobmeter_server_deleted_timelines_total", "counter", "Timelines that were deleted since they were too old.",
		  NULL, facts->deleted_timelines },
		{ "jobmeter_server_deleted_records_total", "counter", "Records that were deleted since they were too old.",
		  NULL, facts->deleted_records },
		{ "jobmeter_server_failed_upkeep_total", "counter", "Times that closing and deleting failed; the log says why.",
		  NULL, s->failed_works },
	};

	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		put_family(&families[i], i ? &families[i - 1] : NULL, out);
}
/* clang-format on */

static int answer_metrics(void *context, const struct http_request *request UNUSED,
			  struct http_answer *ret)
{
	struct server *s = context;
	struct store_facts facts = {};
	FILE *out = open_memstream(&ret->text, &ret->length);

	if (!out)
		return -ENOMEM;
	store_read_size(s->store, &facts);
	put_metrics(s, &facts, out);
	ret->type = "text/plain; version=0.0.4; charset=utf-8";
	return fclose(out) == 0 ? 0 : -ENOMEM;
}

const struct http_route server_tcp_routes[] = {
	{ "POST", "/api/v1/records", answer_push, .body_max = INGEST_BODY_MAX },
	{ "GET", "/metrics", answer_metrics, .is_open = true, .gives_text = true },
	{ "GET", "/health", answer_health, .is_open = true, .gives_text = true },
	{},
};
