/* SPDX-License-Identifier: MIT */
#include "server/store/store_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/rules.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"

#define APPLICATION 1785684589 /* "jobm", in the file's head */
#define VERSION 2 /* of the tables */
#define HEAD "PRAGMA application_id = 1785684589; PRAGMA user_version = 2"
#define FROM_1                                           \
	"ALTER TABLE jobs ADD COLUMN exit_code BIGINT; " \
	"ALTER TABLE jobs ADD COLUMN exit_signal BIGINT"
#define BUSY_MS 10000
#define OPERATIONS_A_LOOK 10000 /* of the database's machine, between looks at the clock */

static const char schema[] =
#include "server/store/schema_sql.h"
	;

#define SETTINGS                                                            \
	"PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; "     \
	"PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864; " \
	"PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; "           \
	"PRAGMA cache_size = -16384" /* KiB */

static int code_of(int result)
{
	static const short codes[256] = {
		[SQLITE_FULL] = ENOSPC,	    [SQLITE_BUSY] = EBUSY,     [SQLITE_LOCKED] = EBUSY,
		[SQLITE_NOMEM] = ENOMEM,    [SQLITE_NOTADB] = EBADMSG, [SQLITE_CORRUPT] = EBADMSG,
		[SQLITE_READONLY] = EACCES, [SQLITE_PERM] = EACCES,    [SQLITE_CANTOPEN] = EACCES,
		[SQLITE_INTERRUPT] = ETIME,
	};
	int code = codes[result & 0xff];

	return code ? -code : -EIO;
}

void store_fail(struct store *s)
{
	int code = code_of(sqlite3_errcode(s->db)), system = sqlite3_system_errno(s->db);

	if (code == -EIO && (system == ENOSPC || system == EDQUOT))
		code = -ENOSPC;
	if (s->failure)
		return;
	s->failure = error_set(&s->error, code, "%s%s",
			       code == -ENOSPC || code == -ETIME ? "" : "the database: ",
			       code == -ENOSPC ? "there is no space left for the database"
			       : code == -ETIME
				       ? "that takes too long: ask for less at once (since, until)"
				       : sqlite3_errmsg(s->db));
}

void store_fail_at(struct store *s, int code, const char *what)
{
	if (!s->failure)
		s->failure = error_set_errno(&s->error, code, "%s", what);
}

int store_told(struct store *s, struct error *err)
{
	int r = s->failure;

	s->failure = 0;
	return r < 0 ? error_set(err, r, "%s", s->error.text) : 0;
}

/* ---- statements ---- */

static void bind(sqlite3_stmt *statement, const struct arg *args, size_t count)
{
	for (int i = 0; i < (int)count; i++) {
		const struct arg *arg = &args[i];

		if (arg->type == ARG_NUMBER)
			sqlite3_bind_int64(statement, i + 1, (sqlite3_int64)arg->number);
		else if (arg->type == ARG_TEXT)
			sqlite3_bind_text(statement, i + 1, arg->bytes, -1, SQLITE_STATIC);
		else if (arg->type == ARG_BYTES)
			sqlite3_bind_blob64(statement, i + 1, arg->bytes, arg->number,
					    SQLITE_STATIC);
	}
}

sqlite3_stmt *store_prepare(struct store *s, const char *text, const struct arg *args, size_t count)
{
	sqlite3_stmt *statement = NULL;

	if (s->failure)
		return NULL;
	if (sqlite3_prepare_v3(s->db, text, -1, 0, &statement, NULL) != SQLITE_OK)
		store_fail(s);
	bind(statement, args, count);
	return statement;
}

sqlite3_stmt *store_ask_with(struct store *s, const char *text, const struct arg *args,
			     size_t count)
{
	struct statement *kept = s->statements;

	while (kept->text && kept->text != text)
		kept++;
	assert(kept < &s->statements[STORE_STATEMENTS_MAX - 1]); /* the last one stays free */
	if (!kept->text) {
		kept->prepared = store_prepare(s, text, NULL, 0);
		kept->text = kept->prepared ? text : NULL;
	}
	if (s->failure)
		return NULL;
	sqlite3_reset(kept->prepared);
	sqlite3_clear_bindings(kept->prepared);
	bind(kept->prepared, args, count);
	return kept->prepared;
}

bool store_next(struct store *s, sqlite3_stmt *row)
{
	int r = s->failure ? SQLITE_DONE : sqlite3_step(row);

	if (r == SQLITE_ROW)
		return true;
	if (r != SQLITE_DONE)
		store_fail(s);
	sqlite3_reset(row); /* NULL is fine */
	return false;
}

uint64_t store_get(struct store *s, sqlite3_stmt *row)
{
	uint64_t number = store_next(s, row) ? COLUMN_NUMBER(row, 0) : 0;

	sqlite3_reset(row);
	return number;
}

void store_collect(struct store *s, sqlite3_stmt *row, struct id_list *ret)
{
	while (store_next(s, row)) {
		if (id_list_add(ret, COLUMN_NUMBER(row, 0)) < 0)
			store_fail_at(s, -ENOMEM, "cannot read the database");
	}
}

void store_execute(struct store *s, const char *text)
{
	if (!s->failure && sqlite3_exec(s->db, text, NULL, NULL, NULL) != SQLITE_OK)
		store_fail(s);
}

int store_begin(struct store *s, struct error *err)
{
	store_execute(s, "BEGIN IMMEDIATE");
	return store_told(s, err);
}

int store_commit(struct store *s, struct error *err)
{
	_cleanup_(id_list_clear) struct id_list jobs = {};

	store_fold(s, STALE_NOW, INT32_MAX, &jobs);
	store_execute(s, "COMMIT");
	return store_told(s, err);
}

void store_abandon(struct store *s)
{
	s->failure = 0;
	if (!sqlite3_get_autocommit(s->db)) /* a full disk has ended it by itself */
		(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- opening ---- */

static int set_up(struct store *s, const char *path, enum store_mode mode, struct error *err)
{
	sqlite3_stmt *head = store_ask(
		s, "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
		   "FROM pragma_application_id, pragma_user_version");
	int version = store_next(s, head) ? sqlite3_column_int(head, 1) : 0, r;

	r = store_told(s, err);
	if (r < 0)
		return error_prefix(err, r == -EBADMSG ? -EINVAL : r, "'%s'", path);
	if (sqlite3_column_int(head, 0) != APPLICATION &&
	    (mode == STORE_READ || sqlite3_column_int(head, 2)))
		return error_set(err, -EINVAL, "'%s' is no database of jobmeter", path);
	if (version > VERSION)
		return error_set(err, -EINVAL,
				 "'%s' was written by a newer jobmeter-server (its tables are "
				 "version %d, these are %d)",
				 path, version, VERSION);
	if (version < VERSION && mode == STORE_READ)
		return error_set(err, -EINVAL,
				 "'%s' was written by an older jobmeter-server: start this one "
				 "with it, or run 'jobmeter-server reindex'",
				 path);
	sqlite3_reset(head);
	if (mode == STORE_WRITE) {
		store_execute(s, SETTINGS);
		store_execute(s, version == 1 ? FROM_1 : "");
		/* not written again, so that a full disk is no reason not to start */
		store_execute(s, version == VERSION ? "" : HEAD);
		store_execute(s, schema);
	}
	store_open_columns(s, mode);
	return store_told(s, err);
}

/* Ends what has taken too long. */
static int watch_clock(void *context)
{
	struct store *s = context;

	return s->deadline_ns && clock_now_ns(CLOCK_MONOTONIC) > s->deadline_ns;
}

int store_open(const char *path, enum store_mode mode, struct store **ret, struct error *err)
{
	int flags = mode == STORE_READ ? SQLITE_OPEN_READONLY
				       : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	_cleanup_(store_closep) struct store *s = calloc(1, sizeof(*s));
	mode_t mask;
	int r;

	if (mode == STORE_READ && access(path, R_OK) < 0)
		return error_set_errno(err, errno, "cannot read the database '%s'", path);
	mask = umask(077); /* also of the log beside it */
	r = s ? sqlite3_open_v2(path, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL) : SQLITE_NOMEM;
	if (r == SQLITE_OK) {
		sqlite3_extended_result_codes(s->db, 1);
		sqlite3_busy_timeout(s->db, BUSY_MS);
		sqlite3_progress_handler(s->db, OPERATIONS_A_LOOK, watch_clock, s);
		r = set_up(s, path, mode, err);
	} else {
		r = error_set(err, code_of(r), "cannot open the database '%s': %s", path,
			      sqlite3_errstr(r));
	}
	umask(mask);
	if (r >= 0 && mode == STORE_WRITE)
		r = rules_load_built_in(&s->rules, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

struct store *store_close(struct store *s)
{
	if (!s)
		return NULL;
	for (struct statement *kept = s->statements; kept->text; kept++)
		sqlite3_finalize(kept->prepared);
	for (size_t i = 0; i < TABLE_COUNT; i++)
		free(s->inserts[i]);
	sqlite3_close(s->db);
	rules_free(s->rules);
	free(s);
	return NULL;
}

void store_closep(struct store **s)
{
	store_close(*s);
}

int store_backup(struct store *s, const char *path, struct error *err)
{
	_cleanup_free_ char *temporary = NULL;
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkstemp(temporary); /* 0600 */
	if (fd < 0)
		return error_set_errno(err, errno, "cannot write '%s'", path);
	/* one file, that can be read where nothing can be written */
	store_do(s, "VACUUM INTO ?1", TEXT(temporary));
	r = store_told(s, err);
	if (r >= 0 && (fsync(fd) < 0 || rename(temporary, path) < 0))
		r = error_set_errno(err, errno, "%s", "it cannot take its place");
	if (r < 0)
		unlink(temporary);
	return r < 0 ? error_prefix(err, r, "cannot write '%s'", path) : 0;
}

int store_read_facts(struct store *s, bool counts_rows, struct store_facts *ret, struct error *err)
{
	*ret = s->facts;
	ret->bytes = store_number(
		s, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
	if (counts_rows) {
		ret->records = store_number(s, "SELECT count(*) FROM records");
		ret->jobs = store_number(s, "SELECT count(*) FROM jobs");
	}
	return store_told(s, err);
}
