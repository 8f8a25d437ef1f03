/* SPDX-License-Identifier: MIT */
/* What is served: on TCP records come in, and nothing of a job goes out; on the Unix socket each
 * sees his own jobs, root and the admins all. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/ids.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "basic/timestamp.h"
#include "model/node_values.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "server/api/api.h"
#include "server/api/caller.h"
#include "server/emitted.h"
#include "server/page/sign_in.h"
#include "server/page/site.h"
#include "server/server.h"
#include "server/server_config.h"
#include "server/sync/sync.h"
#include "server/workers.h"
#include "service/credential.h"
#include "service/log.h"
#include "service/permission.h"

#define RETRY_AFTER_S 30
#define HEALTH_NS UINT64_C(1000000000)
#define NS INT64_C(1000000000)
#define SOON_BYTES (1u << 20) /* are here within a second */

/* ---- on TCP: records ---- */

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

/* By how much the node's clock is ahead for sure, as "Date" says it to the second: half a second in
 * the midst.  A large body may have been long on its way, which looks like a clock that is behind;
 * how long the request waited for this thread does not count.  False: nothing is said. */
static bool read_clock(const struct http_request *request, int64_t *ret_offset_ns)
{
	const char *text = http_header(request, "Date"), *end;
	struct tm date = {};
	int64_t ahead_ns;

	end = text ? strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &date) : NULL;
	if (!end || *end || date.tm_year < 70 || date.tm_year > 300) /* 64 bits of ns hold it */
		return false;
	ahead_ns = (int64_t)(timegm(&date) * NS - (int64_t)request->begun_ns);
	if (ahead_ns > NS || (ahead_ns < -2 * NS && request->body_length < SOON_BYTES))
		*ret_offset_ns = ahead_ns + NS / 2;
	return true;
}

static int answer_push(void *context, const struct http_request *request, struct http_answer *ret)
{
	struct server *s = context;
	uint64_t now_ns = clock_now_ns(CLOCK_REALTIME);
	struct ingest_request ingest = {
		.body = request->body,
		.length = request->body_length,
		.encoding = http_header(request, "Content-Encoding"),
		.now_ns = now_ns,
		.sender = request->caller,
		.node = http_header(request, NODE_HEADER),
	};
	const char *type = http_header(request, "Content-Type");
	struct error err = {};
	int r;

	ingest.is_clock_told = read_clock(request, &ingest.clock_offset_ns);
	if (type && strncmp(type, "application/x-ndjson", strlen("application/x-ndjson")) != 0)
		return http_fail(ret, 415, "this takes application/x-ndjson");
	if (ingest.sender &&
	    !credential_is_of_body(ingest.sender, request->body, request->body_length))
		return http_fail(ret, 401, "the munge credential is of another body");
	r = ingest_take(s->store, &ingest, &s->figures.counts, &ret->text, &ret->length, &err);
	if (r < 0)
		return fail_push(s, r, &err, ret);
	tell_state(s, NULL);
	ret->type = "application/x-ndjson";
	return 0;
}

/* clang-format off */
static void put_metrics(const struct server_figures *figures, uint64_t database_bytes, FILE *out)
{
	const struct ingest_counts *c = &figures->counts;
	const struct store_facts *facts = &figures->facts;
	const struct sync_facts *sync = &figures->sync;
	const struct family {
		const char *name; /* behind jobmeter_server_ */
		const char *type, *help; /* help: "" after the first row of a family */
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
		{ "database_bytes", "gauge", "Size of the database's file, without its log.", database_bytes },
		{ "closed_records_total", "counter", "Records of jobs that were closed as incomplete.", facts->closed },
		{ "failed_jobs_total", "counter", "Jobs whose row could not be made of their records; the log says why.", facts->failed_jobs },
		{ "deleted_timelines_total", "counter", "Timelines that were deleted since they were too old.", facts->deleted_timelines },
		{ "deleted_records_total", "counter", "Records that were deleted since they were too old.", facts->deleted_records },
		{ "deleted_ledger_lines_total", "counter", "Lines of the ledger that were deleted since they were too old.",
		  facts->deleted_ledger },
		{ "sync_questions_total", "counter", "Questions to the resource manager.", sync->questions },
		{ "sync_failures_total", "counter", "Those that were not answered whole; the log says why.", sync->failures },
		{ "sync_runs_total", "counter", "Runs of jobs in its answers, most of them again and again.", sync->runs },
		{ "sync_news_total", "counter", "Those of which it said something new.", sync->news },
		{ "sync_refused_total", "counter", "Rows of its answers that made no sense.", sync->refused },
		{ "sync_timestamp_seconds", "gauge", "Up to when the manager has said what became of its jobs.",
		  sync->known_until_ns / 1000000000 },
		{ "sync_jobs{measured=\"yes\"}", "gauge", "Jobs of the last day that the manager knows, by whether a node measured them.",
		  sync->jobs - sync->unmeasured },
		{ "sync_jobs{measured=\"no\"}", "gauge", "", sync->unmeasured },
		{ "failed_upkeep_total", "counter", "Times that closing and deleting failed; the log says why.", figures->failed_works },
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
	struct server_figures figures;
	struct store_facts facts = {};
	FILE *out = open_memstream(&ret->text, &ret->length);

	if (!out)
		return -ENOMEM;
	(void)store_read_facts(s->store, false, &facts, NULL);
	workers_read_figures(s->workers, &figures);
	put_metrics(&figures, facts.bytes, out);
	emitted_put_metrics(s, out);
	ret->type = "text/plain; version=0.0.4; charset=utf-8";
	return fclose(out) == 0 ? 0 : -ENOMEM;
}

static int say_ok(struct http_answer *ret)
{
	ret->text = strdup("ok\n");
	ret->length = strlen("ok\n");
	return ret->text ? 0 : -ENOMEM;
}

int server_check(struct server *s, struct error *err)
{
	uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);

	if (now_ns >= s->health.until_ns) {
		s->health.r = store_check(s->store, &s->health.err);
		s->health.until_ns = now_ns + HEALTH_NS;
	}
	return s->health.r < 0 ? error_set(err, s->health.r, "%s", s->health.err.text) : 0;
}

/* Whether it takes and shows records now, for who distributes requests. */
static int answer_health(void *context, const struct http_request *request UNUSED,
			 struct http_answer *ret)
{
	struct server *s = context;
	struct error err = {};

	if (server_check(s, &err) < 0)
		return http_fail(ret, 503, "it lives, and is not ready: %s", err.text);
	return say_ok(ret);
}

/* Whether it runs, for who would start it again. */
static int answer_live(void *context UNUSED, const struct http_request *request UNUSED,
		       struct http_answer *ret)
{
	return say_ok(ret);
}

/* clang-format off */
/* Whoever distributes requests hears the truth, however many strangers ask. */
#define HEALTH_ROUTES \
	{ "GET", "/health", answer_health, .is_open = true, .gives_text = true, .is_free = true, .thread = WORKER_WATCH }, \
	{ "GET", "/health/live", answer_live, .is_open = true, .gives_text = true, .is_free = true },

#define ASK(method, path, kind) \
	{ method, path, server_api_answer, .identify = caller_identify, .thread = (kind) },

/* Without the API's path, as an older project had them. */
#define PREDICT_ROUTES                                             \
	ASK("POST", API_PATH "/predict", WORKER_READER)            \
	ASK("POST", API_PATH "/recommend/schedule", WORKER_READER) \
	ASK("POST", API_PATH "/schedule/recommend", WORKER_READER) \
	ASK("POST", API_PATH "/predictions", WORKER_WRITER)        \
	ASK("POST", "/predict", WORKER_READER)                     \
	ASK("POST", "/recommend/schedule", WORKER_READER)          \
	ASK("POST", "/schedule/recommend", WORKER_READER)          \
	ASK("GET", "/model/info", WORKER_READER)

#define PAGE(path) { "GET", path, site_answer, .identify = caller_identify_visitor, .thread = WORKER_READER },

const struct http_route server_tcp_routes[] = {
	{ "POST", "/api/v1/records", answer_push, .body_max = INGEST_BODY_MAX, .thread = WORKER_WRITER },
	ASK("GET", "/api/v1/", WORKER_READER)
	PREDICT_ROUTES
	{ "GET", "/metrics", answer_metrics, .is_open = true, .gives_text = true, .thread = WORKER_WATCH },
	HEALTH_ROUTES
	PAGE("/")
	PAGE("/jobs")
	PAGE("/jobs/")
	PAGE("/usage")
	PAGE("/files")
	PAGE("/spread")
	PAGE("/nodes")
	PAGE("/login")
	{ "GET", "/assets/", site_answer_asset, .is_open = true },
	{ "POST", "/login", sign_in_take_token, .is_open = true, .thread = WORKER_READER },
	{ "GET", "/login/", sign_in_use_link, .is_open = true, .thread = WORKER_WRITER },
	{ "POST", "/logout", sign_in_end, .is_open = true },
	{},
};
/* clang-format on */

/* ---- on the Unix socket ---- */

static struct store_who who_asks(struct server *s, const struct http_request *request)
{
	struct caller caller = {};

	caller_of_peer(s, &request->peer, &caller);
	if (caller.sees_all)
		caller_audit(s, &caller, request, "seen as operator");
	return caller_who(&caller);
}

static int fail(int code, const struct error *err, struct http_answer *ret)
{
	return http_fail(ret, api_status(code), "%s", err->text);
}

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

static int take_filter(const struct http_request *request, struct job_filter *ret,
		       struct error *err)
{
	uint64_t limit = JOB_LIMIT_DEFAULT, offset = 0;
	int r = take_time(request, "since", &ret->since_ns, err);

	if (r == 0)
		r = take_time(request, "until", &ret->until_ns, err);
	if (r == 0)
		r = take_number(request, "limit", STORE_LIMIT_MAX, &limit, err);
	if (r == 0)
		r = take_number(request, "offset", INT32_MAX, &offset, err);
	ret->limit = limit;
	ret->offset = offset;
	ret->user = text_of(request, "user");
	ret->account = text_of(request, "account");
	ret->partition = text_of(request, "partition");
	ret->manager = text_of(request, "manager");
	ret->cluster = text_of(request, "cluster");
	ret->state = text_of(request, "state");
	ret->name = text_of(request, "name");
	ret->id = text_of(request, "id");
	ret->text = text_of(request, "text");
	return r;
}

struct socket_question { /* for a map of the jobs that match */
	struct server *server;
	const struct http_request *request;
	struct store_who who;
	struct job_filter filter;
};

static int put_jobs(const struct socket_question *q, struct document *d, struct error *err)
{
	return store_format_jobs(q->server->store, &q->filter, &q->who, d, err);
}

static int put_sums(const struct socket_question *q, struct document *d, struct error *err)
{
	const char *by = text_of(q->request, "by");

	if (!by)
		return error_set(err, -EINVAL, "by: what to add up by is missing");
	return store_format_counters(q->server->store, by, &q->filter, &q->who, d, err);
}

static int put_ledger(const struct socket_question *q, struct document *d, struct error *err)
{
	struct job_filter filter = q->filter;

	filter.node = text_of(q->request, "node");
	return emitted_put_ledger(q->server, &filter, &q->who, d, err);
}

static int put_emissions(const struct socket_question *q, struct document *d, struct error *err)
{
	return emitted_put(q->server, text_of(q->request, "by"), &q->filter, &q->who, d, err);
}

#define PIECE_BYTES 262144 /* of records, that are read at a time */

struct record_stream {
	struct server *server;
	struct work *work; /* reads the next piece; NULL: it is there */
	int fd; /* of that */
	struct id_list ids;
	bool tells_clock;
	size_t next; /* of them */
	char *text; /* the piece that is being given */
	size_t length, given;
	int code; /* of what failed; 0 */
	struct error err;
};

/* Lines until there are enough of them, in a reader's thread. */
static void read_piece(struct server *s, void *context)
{
	struct record_stream *rs = context;
	FILE *out = open_memstream(&rs->text, &rs->length);
	size_t written = 0;

	rs->code = out ? 0 : -ENOMEM;
	while (rs->code == 0 && rs->next < rs->ids.count && written < PIECE_BYTES) {
		_cleanup_free_ char *line = NULL;
		size_t length = 0;
		int r = store_read_line(s->store, rs->ids.items[rs->next++], rs->tells_clock, &line,
					&length, &rs->err);

		if (r == -ENOENT) /* deleted meanwhile */
			continue;
		rs->code = r;
		if (r == 0)
			written += fwrite(line, 1, length, out) + (fputc('\n', out) != EOF);
	}
	if (out && fclose(out) != 0)
		rs->code = -ENOMEM;
}

static ssize_t give_records(void *context, char *buffer, size_t size)
{
	struct record_stream *rs = context;
	size_t length;

	if (rs->work && !work_is_done(rs->work))
		return -EAGAIN;
	rs->work = work_end(rs->work);
	if (rs->code < 0) {
		log_say(CONFIG_LOG_ERROR, "an answer breaks off at record %zu of %zu: %s", rs->next,
			rs->ids.count, *rs->err.text ? rs->err.text : "no memory is left");
		return rs->code;
	}
	length = MIN(size, rs->length - rs->given);
	if (!length && rs->next < rs->ids.count) {
		free(rs->text);
		rs->text = NULL;
		rs->length = rs->given = 0;
		rs->work = work_begin(rs->server, read_piece, rs, rs->fd);
		return rs->work ? -EAGAIN : -ENOMEM;
	}
	if (length)
		memcpy(buffer, rs->text + rs->given, length);
	rs->given += length;
	return (ssize_t)length;
}

static void free_stream(void *context)
{
	struct record_stream *rs = context;

	rs->work = work_end(rs->work);
	closep(&rs->fd);
	id_list_clear(&rs->ids);
	free(rs->text);
	free(rs);
}

int server_stream_records(struct server *s, const struct store_question *question,
			  const struct store_who *who, struct http_answer *ret, struct error *err)
{
	struct record_stream *rs = calloc(1, sizeof(*rs));
	int r;

	if (!rs)
		return error_set_errno(err, ENOMEM, "cannot answer");
	rs->server = s;
	rs->tells_clock = question->tells_clock;
	rs->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = rs->fd < 0 ? error_set_errno(err, errno, "cannot answer")
		       : store_find_records(s->store, question, who, &rs->ids, err);
	if (r < 0) {
		free_stream(rs);
		return r;
	}
	read_piece(s, rs);
	ret->type = "application/x-ndjson";
	ret->fd = rs->fd;
	ret->next = give_records;
	ret->done = free_stream;
	ret->context = rs;
	ret->is_of_thread = true;
	return 0;
}

static int get_records(void *context, const struct http_request *request, struct http_answer *ret)
{
	const struct store_who who = who_asks(context, request);
	struct store_question question = {
		.id = text_of(request, "id"),
		.node = text_of(request, "node"),
		.manager = text_of(request, "manager"),
		.cluster = text_of(request, "cluster"),
		.tells_clock = text_of(request, "clock"),
	};
	struct error err = {};
	int r = 0;

	if (!question.id)
		r = error_set(&err, -EINVAL, "id: the job's id is missing");
	if (r >= 0)
		r = take_number(request, "start", INT64_MAX, &question.start_ns, &err);
	if (r >= 0)
		r = server_stream_records(context, &question, &who, ret, &err);
	return r < 0 ? fail(r, &err, ret) : 0;
}

/* How much others do is not everybody's. */
static int put_server(const struct socket_question *q, struct document *d, struct error *err)
{
	struct server *s = q->server;
	struct store_facts facts = {};
	int r;

	if (!permission_sees_all(s->permission, &q->request->peer))
		return error_set(err, -EPERM, "this is for root and for admin_groups");
	r = store_read_facts(s->store, true, &facts, err);
	document_put_string(d, "version", JOBMETER_VERSION);
	document_put_unsigned(d, "records", facts.records);
	document_put_unsigned(d, "jobs", facts.jobs);
	document_put_unsigned(d, "database_bytes", facts.bytes);
	return r;
}

/* Answer with a JSON map; the path's function writes its members. */
static int get_map(void *context, const struct http_request *request, struct http_answer *ret)
{
	static const struct map {
		const char *path;
		bool is_of_jobs;
		int (*put)(const struct socket_question *q, struct document *d, struct error *err);
	} maps[] = { { "/v1/jobs", true, put_jobs },
		     { "/v1/sums", true, put_sums },
		     { "/v1/ledger", true, put_ledger },
		     { "/v1/emissions", true, put_emissions },
		     { "/v1/server", false, put_server } };
	FILE *out = open_memstream(&ret->text, &ret->length);
	struct document *d = out ? document_new_json(out, DOCUMENT_ONE_LINE) : NULL;
	const struct map *map = maps;
	struct socket_question q = { .server = context, .request = request };
	struct error err = {};
	int r = d ? 0 : error_set_errno(&err, ENOMEM, "cannot answer");

	while (strcmp(map->path, request->path) != 0) /* the routes have no others */
		map++;
	if (d && map->is_of_jobs) {
		q.who = who_asks(context, request);
		r = take_filter(request, &q.filter, &err);
	}
	if (d) {
		document_begin_map(d);
		r = r == 0 ? map->put(&q, d, &err) : r;
		document_end_map(d);
		(void)document_finish(d); /* it is in memory */
	}
	document_free(d);
	if (out && fclose(out) != 0 && r >= 0)
		r = error_set_errno(&err, ENOMEM, "cannot answer");
	return r < 0 ? fail(r, &err, ret) : 0;
}

/* clang-format off */
const struct http_route server_socket_routes[] = {
	HEALTH_ROUTES
	ASK("GET", "/api/v1/", WORKER_READER)
	PREDICT_ROUTES
	{ "GET", "/v1/jobs", get_map, .thread = WORKER_READER },
	{ "GET", "/v1/sums", get_map, .thread = WORKER_READER },
	{ "GET", "/v1/records", get_records, .thread = WORKER_READER },
	{ "GET", "/v1/ledger", get_map, .thread = WORKER_READER },
	{ "GET", "/v1/emissions", get_map, .thread = WORKER_READER },
	{ "GET", "/v1/server", get_map, .thread = WORKER_READER },
	{ "POST", "/v1/link", sign_in_make_link, .gives_text = true, .thread = WORKER_WRITER },
	{},
};
/* clang-format on */
