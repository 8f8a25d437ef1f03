/* SPDX-License-Identifier: MIT */
#include "server/store/pg.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "server/store/store_internal.h"

#define NS UINT64_C(1000000000)
#define ANSWER_NS (10 * NS)
#define TRANSACTION_NS (20 * NS)
#define ROLLBACK_NS (2 * NS)
#define SET_UP_NS (300 * NS) /* tables, or columns of large ones */
#define REST_NS (5 * NS) /* after a failure to connect */
#define UNREAD_MAX 256 /* answers that are not waited for */
#define MONTHS_NS (31 * 86400 * NS)
#define MONTHS_AHEAD 3
#define MONTHS_LOOK_NS (3600 * NS)

enum { OID_BYTES = 17, OID_NUMBER = 20, OID_SMALL_NUMBER = 23, OID_TEXT = 25 }; /* pg_type.dat */

/* Of the tables in this schema of this database: the holder writes, or does the upkeep. */
#define LOCK_TO_WRITE "1785684589, hashtext(current_schema())"
#define LOCK_TO_WORK "1785684590, hashtext(current_schema())"

#define SESSION                                                                       \
	"SET statement_timeout = '5s'; SET lock_timeout = '10s'; "                    \
	"SET idle_in_transaction_session_timeout = '30s'; SET bytea_output = 'hex'; " \
	"SELECT set_config('synchronous_commit', 'on', false) "                       \
	"WHERE current_setting('synchronous_commit') = 'off'"

#define MAKE_MONTHS "SELECT jobmeter_make_months(?1, ?2)"

static const char schema[] =
#include "server/store/schema_pg_sql.h"
	;

struct pg {
	PGconn *connection; /* NULL: there is none; always in pipeline mode */
	char *url;
	bool is_read_only;
	unsigned int number; /* of the connection: what was prepared on one before is gone */
	struct statement *asked; /* with unread rows */
	size_t unread; /* answers before those rows */
	bool is_writing; /* within a transaction */
	bool does_work; /* has LOCK_TO_WORK */
	uint64_t patience_ns; /* for one question; statement_timeout ends it sooner */
	uint64_t deadline_ns; /* of what is under way, by CLOCK_MONOTONIC */
	uint64_t rest_until_ns; /* until then nothing is tried, for the reason of before: */
	struct error reason;
	uint64_t months_ns; /* when months were looked at */
};

/* ---- failures ---- */

static const struct {
	char state[6]; /* or how it begins */
	int code;
} codes[] = {
	{ "53100", -ENOSPC }, { "53", -EBUSY },	  { "55P03", -EBUSY },	{ "40", -EBUSY },
	{ "57014", -ETIME },  { "22", -EINVAL },  { "42501", -EACCES }, { "25006", -EACCES },
	{ "28", -EACCES },    { "XX", -EBADMSG }, { "23", -EBADMSG },	{ "54", -EBADMSG },
};

/* The first line of what libpq says. */
static void pg_fail(struct store *s, int code, const char *message)
{
	char words[256];

	snprintf(words, sizeof(words), "%.*s", (int)strcspn(message, "\n"), message);
	store_fail(s, code, words);
}

static void pg_drop(struct pg *pg)
{
	PQfinish(pg->connection);
	pg->connection = NULL;
	pg->asked = NULL;
	pg->unread = 0;
	pg->does_work = false;
}

static void pg_lose(struct store *s, const char *words)
{
	struct pg *pg = s->handle;
	char message[256];

	if (!words) {
		snprintf(message, sizeof(message), "%s", PQerrorMessage(pg->connection));
		words = *message ? message : "the connection is lost";
	}
	pg_drop(pg);
	pg_fail(s, -EIO, words);
}

static void pg_check(struct store *s, const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE), *words;
	ExecStatusType status = PQresultStatus(result);
	int code = -EIO;

	if (status != PGRES_FATAL_ERROR && status != PGRES_BAD_RESPONSE &&
	    status != PGRES_PIPELINE_ABORTED)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(codes) && state; i++) {
		if (strncmp(state, codes[i].state, strlen(codes[i].state)) == 0) {
			code = codes[i].code;
			break;
		}
	}
	words = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	pg_fail(s, code, words ? words : PQresultErrorMessage(result));
}

/* ---- the line to the server ---- */

/* The next result; NULL: a statement has no more, or the connection is gone. */
static PGresult *pg_take(struct store *s)
{
	struct pg *pg = s->handle;

	while (pg->connection) {
		int flushed = PQflush(pg->connection), left_ms;
		struct pollfd fd = { .events = (short)(POLLIN | (flushed ? POLLOUT : 0)) };
		uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);

		if (flushed < 0) {
			pg_lose(s, NULL);
			break;
		}
		if (!PQisBusy(pg->connection))
			return PQgetResult(pg->connection);
		if (now_ns >= pg->deadline_ns) {
			pg_lose(s, "it does not answer");
			pg->rest_until_ns = now_ns + REST_NS;
			pg->reason = s->error;
			break;
		}
		fd.fd = PQsocket(pg->connection);
		left_ms = (int)((pg->deadline_ns - now_ns) / 1000000) + 1;
		(void)poll(&fd, 1, left_ms);
		if (!PQconsumeInput(pg->connection))
			pg_lose(s, NULL);
	}
	return NULL;
}

/* All of one statement.  The caller clears the rows. */
static PGresult *pg_take_all(struct store *s)
{
	PGresult *first = pg_take(s), *more;

	if (first)
		pg_check(s, first);
	while (first && (more = pg_take(s)))
		PQclear(more);
	return first;
}

static void pg_discard_unread(struct store *s)
{
	struct pg *pg = s->handle;

	while (pg->unread && pg->connection) {
		pg->unread--;
		PQclear(pg_take_all(s));
	}
}

/* Whether it could be sent; else the connection is gone. */
static bool pg_sent(struct store *s, int result)
{
	if (!result)
		pg_lose(s, NULL);
	return result;
}

/* Have all done that was sent, and forget what failed before it if something did. */
static void pg_sync(struct store *s)
{
	struct pg *pg = s->handle;

	pg->unread += pg->asked != NULL;
	pg->asked = NULL;
	if (!pg->connection || !pg_sent(s, PQpipelineSync(pg->connection)))
		return;
	pg_discard_unread(s);
	if (pg->connection)
		PQclear(pg_take(s));
}

/* One without values or rows, in a transaction. */
static void pg_put(struct store *s, const char *text)
{
	struct pg *pg = s->handle;

	if (pg->connection &&
	    pg_sent(s, PQsendQueryParams(pg->connection, text, 0, NULL, NULL, NULL, NULL, 1)))
		pg->unread++;
}

static void pg_ignore(void *none UNUSED, const PGresult *notice UNUSED)
{
}

static void pg_execute(struct store *s, const char *text)
{
	struct pg *pg = s->handle;
	PGresult *result;

	assert(!pg->is_writing); /* libpq leaves no pipeline before all of it is answered */
	if (pg->asked)
		store_finish(s, pg->asked);
	if (!pg->connection || !pg_sent(s, PQexitPipelineMode(pg->connection)) ||
	    !pg_sent(s, PQsendQuery(pg->connection, text)))
		return;
	while ((result = pg_take(s))) {
		pg_check(s, result);
		PQclear(result);
	}
	if (pg->connection)
		(void)pg_sent(s, PQenterPipelineMode(pg->connection));
}

static void pg_connect(struct store *s)
{
	struct pg *pg = s->handle;
	/* the URL can override what comes before it */
	static const char *const keys[] = { "connect_timeout",
					    "tcp_user_timeout",
					    "keepalives_idle",
					    "keepalives_interval",
					    "keepalives_count",
					    "application_name",
					    "dbname",
					    "client_encoding",
					    NULL };
	const char *const values[] = { "3",	"20000", "10", "5", "2", "jobmeter-server",
				       pg->url, "UTF8",	 NULL };

	if (clock_now_ns(CLOCK_MONOTONIC) < pg->rest_until_ns) {
		s->failure = error_set(&s->error, -EIO, "%s", pg->reason.text);
		return;
	}
	pg->connection = PQconnectdbParams(keys, values, true);
	pg->number++;
	if (PQstatus(pg->connection) == CONNECTION_OK && PQsetnonblocking(pg->connection, 1) == 0 &&
	    PQenterPipelineMode(pg->connection)) {
		PQsetNoticeReceiver(pg->connection, pg_ignore, NULL);
		pg_execute(s, SESSION);
		if (pg->is_read_only)
			pg_execute(s, "SET default_transaction_read_only = on");
	} else {
		pg_lose(s, NULL);
	}
	if (!s->failure)
		return;
	pg->rest_until_ns = clock_now_ns(CLOCK_MONOTONIC) + REST_NS;
	pg->reason = s->error;
}

/* Have a connection.  One that was cut while it was idle is replaced. */
static void pg_ready(struct store *s, uint64_t patience_ns)
{
	struct pg *pg = s->handle;
	struct pollfd fd = { .events = POLLIN };

	if (pg->is_writing) /* what is lost of a transaction is not begun again in its midst */
		return pg->connection ? (void)0 : pg_fail(s, -EIO, "the connection is lost");
	pg->deadline_ns = clock_now_ns(CLOCK_MONOTONIC) + patience_ns;
	fd.fd = pg->connection ? PQsocket(pg->connection) : -1;
	/* the server may have said why before it hung up */
	while (pg->connection && poll(&fd, 1, 0) > 0 && !pg->asked) {
		if (!PQconsumeInput(pg->connection) || PQstatus(pg->connection) == CONNECTION_BAD)
			pg_drop(pg);
	}
	if (!pg->connection)
		pg_connect(s);
}

/* ---- statements ---- */

static void pg_prepare(struct store *s, struct statement *st, const char *name,
		       const struct arg *args, size_t count)
{
	static const Oid oids[] = {
		[ARG_NUMBER] = OID_NUMBER, [ARG_TEXT] = OID_TEXT, [ARG_BYTES] = OID_BYTES
	};
	struct pg *pg = s->handle;
	char *text = strdup(st->text);
	Oid types[STORE_ARGS_MAX];

	if (!text)
		return store_fail_at(s, -ENOMEM, "cannot ask the database");
	st->pg.count = 0;
	for (char *p = text; (p = strchr(p, '?'));) {
		*p = '$';
		st->pg.count = MAX(st->pg.count, (size_t)atoi(p + 1));
	}
	assert(st->pg.count <= count); /* what the text does not name is left out */
	for (size_t i = 0; i < st->pg.count; i++)
		types[i] = oids[args[i].type];
	if (pg_sent(s, PQsendPrepare(pg->connection, name, text, (int)st->pg.count, types)))
		pg->unread++;
	st->pg.connection = pg->number;
	free(text);
}

static void pg_send(struct store *s, struct statement *st, const char *name, const struct arg *args)
{
	struct pg *pg = s->handle;
	const char *values[STORE_ARGS_MAX];
	int lengths[STORE_ARGS_MAX], are_binary[STORE_ARGS_MAX];
	uint64_t numbers[STORE_ARGS_MAX];

	for (size_t i = 0; i < st->pg.count; i++) {
		bool is_number = args[i].type == ARG_NUMBER;

		numbers[i] = htobe64(args[i].number);
		values[i] = !args[i].is_known ? NULL
			    : is_number	      ? (const char *)&numbers[i]
			    : args[i].bytes   ? args[i].bytes
					      : "";
		lengths[i] = is_number ? (int)sizeof(numbers[i]) : (int)args[i].number;
		are_binary[i] = 1;
	}
	if (!pg_sent(s, PQsendQueryPrepared(pg->connection, name, (int)st->pg.count, values,
					    lengths, are_binary, 1)))
		return;
	pg->asked = st;
	if (!pg->is_writing)
		(void)pg_sent(s, PQpipelineSync(pg->connection));
}

static void pg_reset(struct statement *st)
{
	PQclear(st->pg.result);
	st->pg.result = NULL;
}

/* Its rows come: to be called once after it was asked. */
static void pg_read(struct store *s)
{
	struct pg *pg = s->handle;
	struct statement *st = pg->asked;

	if (pg->is_writing && !pg_sent(s, PQsendFlushRequest(pg->connection)))
		return;
	pg_discard_unread(s);
	pg->asked = NULL;
	st->pg.result = pg_take_all(s);
	st->pg.row = -1;
	if (!pg->is_writing && pg->connection)
		PQclear(pg_take(s)); /* the pipeline's end */
}

static void pg_ask(struct store *s, struct statement *st, const struct arg *args, size_t count)
{
	struct pg *pg = s->handle;
	bool is_kept = st >= s->statements && st < s->statements + STORE_STATEMENTS_MAX;
	char name[16] = ""; /* of the one that is not kept */

	if (is_kept)
		snprintf(name, sizeof(name), "s%zu", (size_t)(st - s->statements));
	if (pg->asked) /* its rows were not read */
		store_finish(s, pg->asked);
	pg_reset(st);
	pg_ready(s, pg->patience_ns);
	if (!s->failure && st->pg.connection != pg->number)
		pg_prepare(s, st, name, args, count);
	if (!s->failure)
		pg_send(s, st, name, args);
}

static bool pg_next(struct store *s, struct statement *st)
{
	struct pg *pg = s->handle;

	if (pg->asked == st)
		pg_read(s);
	return !s->failure && ++st->pg.row < PQntuples(st->pg.result);
}

static void pg_finish(struct store *s, struct statement *st)
{
	struct pg *pg = s->handle;

	if (pg->asked == st && pg->is_writing) {
		pg->unread++;
		pg->asked = NULL;
		if (pg->unread >= UNREAD_MAX && pg_sent(s, PQsendFlushRequest(pg->connection)))
			pg_discard_unread(s);
	} else if (pg->asked == st) {
		pg_read(s);
	}
	pg_reset(st);
}

static void pg_release(struct store *s, struct statement *st)
{
	if (s->failure && ((struct pg *)s->handle)->asked == st)
		pg_drop(s->handle); /* rows of it may still come */
	else
		pg_finish(s, st);
}

static struct cell pg_cell(const struct statement *row, int column)
{
	const PGresult *result = row->pg.result;
	const char *value = PQgetvalue(result, row->pg.row, column);
	Oid type = PQftype(result, column);
	struct cell cell = { .is_known = !PQgetisnull(result, row->pg.row, column) };
	uint64_t number;
	uint32_t small;

	if (!cell.is_known)
		return cell;
	if (type == OID_NUMBER) {
		memcpy(&number, value, sizeof(number));
		cell.number = be64toh(number);
	} else if (type == OID_SMALL_NUMBER) {
		memcpy(&small, value, sizeof(small));
		cell.number = (uint64_t)(int32_t)be32toh(small);
	} else {
		cell.bytes = value;
		cell.length = (size_t)PQgetlength(result, row->pg.row, column);
	}
	return cell;
}

/* ---- transactions ---- */

static void pg_begin(struct store *s)
{
	struct pg *pg = s->handle;

	if (!s->failure)
		pg_ready(s, TRANSACTION_NS);
	if (s->failure)
		return;
	pg->is_writing = true;
	pg_put(s, "BEGIN");
	pg_put(s, "SET LOCAL statement_timeout = '15s'");
	pg_put(s, "SELECT pg_advisory_xact_lock(" LOCK_TO_WRITE ")");
}

static void pg_commit(struct store *s)
{
	struct pg *pg = s->handle;

	pg_put(s, "COMMIT");
	pg_sync(s);
	if (!pg->connection)
		pg_fail(s, -EIO, "the connection is lost");
	if (!s->failure)
		pg->is_writing = false;
}

static void pg_abandon(struct store *s)
{
	struct pg *pg = s->handle;

	if (!pg->is_writing)
		return;
	pg->deadline_ns = clock_now_ns(CLOCK_MONOTONIC) + ROLLBACK_NS;
	do { /* behind a failure the first one is passed over */
		pg_put(s, "ROLLBACK");
		pg_sync(s);
	} while (pg->connection && PQtransactionStatus(pg->connection) != PQTRANS_IDLE &&
		 clock_now_ns(CLOCK_MONOTONIC) < pg->deadline_ns);
	pg->is_writing = false;
}

/* ---- opening ---- */

/* Partitions from last month on, and some ahead. */
static void pg_make_months(struct store *s, uint64_t now_ns)
{
	store_do(s, MAKE_MONTHS, NUMBER(now_ns - MIN(now_ns, MONTHS_NS)),
		 NUMBER(now_ns + MONTHS_AHEAD * MONTHS_NS));
}

static int pg_set_up(struct store *s, const char *url, enum store_mode mode, struct error *err)
{
	struct pg *pg = s->handle;
	struct statement *head;
	uint64_t tables = 0, is_ours = 0, version;
	int r;

	pg_ready(s, pg->patience_ns);
	store_execute(s, mode == STORE_READ ? "BEGIN"
					    : "BEGIN; SET LOCAL statement_timeout = 0; "
					      "SET LOCAL lock_timeout = '60s'; "
					      "SELECT pg_advisory_xact_lock(" LOCK_TO_WRITE ")");
	head = store_ask(s, "SELECT count(*), count(*) FILTER (WHERE relname = 'meta') "
			    "FROM pg_class WHERE relkind IN ('r', 'p') "
			    "AND relnamespace = current_schema()::regnamespace");
	if (store_next(s, head)) {
		tables = COLUMN_NUMBER(head, 0);
		is_ours = COLUMN_NUMBER(head, 1);
	}
	store_reset(head);
	version = is_ours ? store_read_mark(s, "version") : 0;
	r = store_told(s, err);
	if (r < 0)
		return error_prefix(err, r, "'%s'", url);
	if (!version && (tables || mode == STORE_READ))
		return error_set(err, -EINVAL, "'%s' is no database of jobmeter", url);
	r = version ? store_check_version(url, version, mode, err) : 0;
	if (r < 0)
		return r;
	if (mode != STORE_READ) {
		store_update(s, version);
		store_execute(s, schema);
		if (version != STORE_VERSION)
			store_set_mark(s, "version", STORE_VERSION);
		pg_make_months(s, clock_now_ns(CLOCK_REALTIME));
	}
	store_open_columns(s, mode);
	store_execute(s, "COMMIT");
	r = store_told(s, err);
	return r < 0 ? error_prefix(err, r, "'%s'", url) : 0;
}

static int pg_open(struct store *s, const char *url, enum store_mode mode, struct error *err)
{
	struct pg *pg = s->handle = calloc(1, sizeof(*pg));
	int r;

	if (!pg || !(pg->url = strdup(url)))
		return error_set_errno(err, ENOMEM, "cannot open the database");
	pg->is_read_only = mode == STORE_READ;
	pg->patience_ns = SET_UP_NS;
	r = pg_set_up(s, url, mode, err);
	pg->patience_ns = ANSWER_NS;
	return r;
}

static void pg_close(struct store *s)
{
	struct pg *pg = s->handle;

	if (pg) {
		pg_drop(pg);
		free(pg->url);
	}
	free(pg);
}

/* ---- upkeep ---- */

static bool pg_may_work(struct store *s, uint64_t now_ns)
{
	struct pg *pg = s->handle;

	pg_ready(s, ANSWER_NS); /* without a connection nothing is held */
	if (!pg->does_work)
		pg->does_work = store_number(s,
					     "SELECT CASE WHEN pg_try_advisory_lock(" LOCK_TO_WORK
					     ") THEN 1 ELSE 0 END");
	if (pg->does_work && now_ns > pg->months_ns + MONTHS_LOOK_NS) {
		pg_make_months(s, now_ns);
		store_do(s, "SELECT jobmeter_drop_months(?1)",
			 NUMBER(now_ns - MIN(now_ns, 2 * MONTHS_NS)));
		pg->months_ns = now_ns;
	}
	return pg->does_work && !s->failure;
}

/* It has autovacuum. */
static void pg_nothing(struct store *s UNUSED)
{
}

static int pg_backup(struct store *s UNUSED, const char *path, struct error *err)
{
	return error_set(err, -EINVAL,
			 "cannot write '%s': a database of PostgreSQL is copied by pg_dump", path);
}

static const struct database database_pg = {
	.columns = "SELECT attname::text, CASE atttypid WHEN 25 THEN 1 WHEN 17 THEN 2 ELSE 0 END "
		   "FROM pg_attribute WHERE attrelid = to_regclass(?1) AND attnum > 0 "
		   "AND NOT attisdropped",
	.make_months = MAKE_MONTHS,
	.number_from = "SELECT setval(pg_get_serial_sequence(?1, 'id')::regclass, ?2)",
	.bytes = "SELECT pg_database_size(current_database())",
	.position = "strpos",
	.truncate = "trunc",
	.month = "CAST(extract(epoch FROM date_trunc('month', to_timestamp(day_ns / 1000000000) "
		 "AT TIME ZONE 'UTC')) AS BIGINT) * 1000000000",
	.alters_at_once = true,
	.open = pg_open,
	.close = pg_close,
	.ask = pg_ask,
	.next = pg_next,
	.cell = pg_cell,
	.finish = pg_finish,
	.reset = pg_reset,
	.release = pg_release,
	.execute = pg_execute,
	.begin = pg_begin,
	.commit = pg_commit,
	.abandon = pg_abandon,
	.may_work = pg_may_work,
	.tidy = pg_nothing,
	.wipe = pg_nothing,
	.backup = pg_backup,
};

bool store_is_url(const char *where)
{
	return strncmp(where, "postgresql://", 13) == 0 || strncmp(where, "postgres://", 11) == 0;
}

bool store_url_has_password(const char *url)
{
	PQconninfoOption *options = store_is_url(url) ? PQconninfoParse(url, NULL) : NULL;
	bool is_there = false;

	for (PQconninfoOption *o = options; o && o->keyword; o++)
		is_there |= strcmp(o->keyword, "password") == 0 && o->val;
	PQconninfoFree(options);
	return is_there;
}

int store_open_any(const char *where, enum store_mode mode, struct store **ret, struct error *err)
{
	return store_open_with(store_is_url(where) ? &database_pg : &database_sqlite, where, mode,
			       ret, err);
}
