/* SPDX-License-Identifier: MIT */
/* What is served on TCP: records come in; nothing of a job goes out. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "server/server_internal.h"
#include "service/log.h"

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
	unsigned int status = code == -EFBIG ? 413 : code == -EPROTO ? 400 : 503;
	int r = http_fail(ret, status, "%s", err->text);

	if (status == 503) {
		tell_state(s, err);
		ret->retry_after_s = RETRY_AFTER_S;
	}
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
		return http_fail(ret, 415, "this takes application/x-ndjson");
	r = ingest_take(s->store, &ingest, &s->counts, &ret->text, &ret->length, &err);
	if (r < 0)
		return fail_push(s, r, &err, ret);
	tell_state(s, NULL);
	ret->type = "application/x-ndjson";
	return 0;
}

/* ---- metrics ---- */

/* clang-format off */
static void put_metrics(const struct server *s, const struct store_facts *facts, FILE *out)
{
	const struct ingest_counts *c = &s->counts;
	const struct family {
		const char *name; /* behind jobmeter_server_ */
		const char *type, *help; /* help: "" where another row of the family stands before */
		uint64_t number;
	} families[] = {
		{ "info{version=\"" JOBMETER_VERSION "\"}", "gauge", "The server's version.", 1 },
		{ "records_total{answer=\"taken\"}", "counter", "Records that came since the start, by what was answered.",
		  c->answers[STORE_TAKEN] },
		{ "records_total{answer=\"known\"}", "counter", "", c->answers[STORE_KNOWN] },
		{ "records_total{answer=\"refused\"}", "counter", "", c->answers[STORE_REFUSED] },
		{ "batches_total", "counter", "Requests that brought records.", c->batches },
		{ "failed_batches_total", "counter", "Requests of which nothing was stored: too large, no gzip, or the database failed.",
		  c->failed_batches },
		{ "ingested_bytes_total", "counter", "Bytes of records that came, unpacked.", c->bytes },
		{ "lag_seconds", "gauge", "Time between the making and the arrival of the record that was taken last.",
		  c->lag_ns / 1000000000 },
		{ "database_bytes", "gauge", "Size of the database's file and of its log.", facts->bytes },
		{ "closed_records_total", "counter", "Records of jobs that were closed as incomplete.", facts->closed },
		{ "deleted_timelines_total", "counter", "Timelines that were deleted since they were too old.", facts->deleted_timelines },
		{ "deleted_records_total", "counter", "Records that were deleted since they were too old.", facts->deleted_records },
		{ "failed_upkeep_total", "counter", "Times that closing and deleting failed; the log says why.", s->failed_works },
	};

	for (const struct family *f = families; f < families + ARRAY_SIZE(families); f++) {
		int length = (int)strcspn(f->name, "{");

		if (*f->help)
			fprintf(out, "# HELP jobmeter_server_%.*s %s\n# TYPE jobmeter_server_%.*s %s\n", length, f->name, f->help,
				length, f->name, f->type);
		fprintf(out, "jobmeter_server_%s %" PRIu64 "\n", f->name, f->number);
	}
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
	(void)store_read_facts(s->store, false, &facts, NULL);
	put_metrics(s, &facts, out);
	ret->type = "text/plain; version=0.0.4; charset=utf-8";
	return fclose(out) == 0 ? 0 : -ENOMEM;
}

const struct http_route server_tcp_routes[] = {
	{ "POST", "/api/v1/records", answer_push, .body_max = INGEST_BODY_MAX },
	{ "GET", "/metrics", answer_metrics, .is_open = true, .gives_text = true },
	{ "GET", "/health", server_answer_health, .is_open = true, .gives_text = true },
	{},
};
