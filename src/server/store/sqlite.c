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
#define VERSION 1 /* of the tables */
#define HEAD "PRAGMA application_id = 1785684589; PRAGMA user_version = 1"
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

/* ---- errors ---- */

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

int store_fail(struct store *s, struct error *err)
{
	int code = code_of(sqlite3_errcode(s->db)), system = sqlite3_system_errno(s->db);

	if (code == -ETIME)
		return error_set(err, code,
				 "that takes too long: ask for less at once (since, until)");
	if (code == -ENOSPC || (code == -EIO && (system == ENOSPC || system == EDQUOT)))
		return error_set(err, -ENOSPC, "there is no space left for the database");
	return error_set(err, code, "the database: %s", sqlite3_errmsg(s->db));
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

	if (sqlite3_prepare_v3(s->db, text, -1, 0, &statement, NULL) == SQLITE_OK)
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
	if (!kept->text)
		return NULL;
	sqlite3_reset(kept->prepared);
	sqlite3_clear_bindings(kept->prepared);
	bind(kept->prepared, args, count);
	return kept->prepared;
}

int store_step(struct store *s, sqlite3_stmt *statement, struct error *err)
{
	int r = statement ? sqlite3_step(statement) : SQLITE_ERROR;

	if (r == SQLITE_ROW)
		return 1;
	r = r == SQLITE_DONE ? 0 : store_fail(s, err);
	sqlite3_reset(statement); /* NULL is fine */
	return r;
}

int store_get(struct store *s, sqlite3_stmt *statement, uint64_t *ret, struct error *err)
{
	int r = store_step(s, statement, err);

	if (r >= 0)
		*ret = r ? COLUMN_NUMBER(statement, 0) : 0;
	sqlite3_reset(statement);
	return r < 0 ? r : 0;
}

int store_collect(struct store *s, sqlite3_stmt *statement, struct id_list *ret, struct error *err)
{
	int r;

	while ((r = store_step(s, statement, err)) > 0) {
		r = id_list_add(ret, COLUMN_NUMBER(statement, 0));
		if (r < 0) {
			sqlite3_reset(statement);
			return error_set_errno(err, r, "cannot read the database");
		}
	}
	return r;
}

int store_execute(struct store *s, const char *text, struct error *err)
{
	return sqlite3_exec(s->db, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : store_fail(s, err);
}

/* ---- transactions ---- */

int store_begin(struct store *s, struct error *err)
{
	return store_do(s, err, "BEGIN IMMEDIATE");
}

int store_commit(struct store *s, struct error *err)
{
	_cleanup_(id_list_clear) struct id_list jobs = {};
	int r = store_fold(s, STALE_NOW, INT32_MAX, &jobs, err);

	return r < 0 ? r : store_do(s, err, "COMMIT");
}

void store_abandon(struct store *s)
{
	if (!sqlite3_get_autocommit(s->db)) /* a full disk has ended it by itself */
		(void)store_do(s, NULL, "ROLLBACK");
}

/* ---- opening ---- */

static int set_up(struct store *s, const char *path, enum store_mode mode, struct error *err)
{
	sqlite3_stmt *head = store_ask(
		s, "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
		   "FROM pragma_application_id, pragma_user_version");
	int r = store_step(s, head, err), version = sqlite3_column_int(head, 1);

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
	sqlite3_reset(head);
	if (mode == STORE_READ)
		return 0;
	r = store_execute(s, SETTINGS, err);
	/* what the head has is not written again, so that a full disk is no reason not to start */
	if (r >= 0 && version != VERSION)
		r = store_execute(s, HEAD, err);
	return r < 0 ? r : store_execute(s, schema, err);
}

/* Ends what has taken too long. */
static int watch_clock(void *context)
{
	struct store *s = context;

	return s->deadline_ns && clock_now_ns(CLOCK_MONOTONIC) > s->deadline_ns;
}

static int open_file(struct store *s, const char *path, enum store_mode mode, struct error *err)
{
	int flags = mode == STORE_READ ? SQLITE_OPEN_READONLY
				       : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	int r;

	if (mode == STORE_READ && access(path, R_OK) < 0)
		return error_set_errno(err, errno, "cannot read the database '%s'", path);
	r = sqlite3_open_v2(path, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (!s->db)
		return error_set_errno(err, ENOMEM, "cannot open the database '%s'", path);
	if (r != SQLITE_OK)
		return error_prefix(err, store_fail(s, err), "'%s'", path);
	sqlite3_extended_result_codes(s->db, 1);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	sqlite3_progress_handler(s->db, OPERATIONS_A_LOOK, watch_clock, s);
	return 0;
}

int store_open(const char *path, enum store_mode mode, struct store **ret, struct error *err)
{
	_cleanup_(store_closep) struct store *s = calloc(1, sizeof(*s));
	mode_t mask;
	int r;

	if (!s)
		return error_set_errno(err, ENOMEM, "cannot open the database '%s'", path);
	mask = umask(077); /* also of the log beside it */
	r = open_file(s, path, mode, err);
	if (r >= 0)
		r = set_up(s, path, mode, err);
	if (r >= 0)
		r = store_open_columns(s, mode, err);
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

/* ---- a copy ---- */

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
	r = store_do(s, err, "VACUUM INTO ?1", TEXT(temporary));
	if (r >= 0 && (fsync(fd) < 0 || rename(temporary, path) < 0))
		r = error_set_errno(err, errno, "%s", "it cannot take its place");
	if (r < 0)
		unlink(temporary);
	return r < 0 ? error_prefix(err, r, "cannot write '%s'", path) : 0;
}

/* ---- facts ---- */

static uint64_t bytes_of(const char *path, const char *end)
{
	_cleanup_free_ char *name = NULL;
	struct stat st;

	if (asprintf(&name, "%s%s", path, end) < 0 || stat(name, &st) < 0)
		return 0;
	return (uint64_t)st.st_size;
}

int store_read_facts(struct store *s, bool counts_rows, struct store_facts *ret, struct error *err)
{
	const char *path = sqlite3_db_filename(s->db, "main");
	struct store_facts facts = s->facts;
	int r = 0;

	facts.bytes = bytes_of(path, "") + bytes_of(path, "-wal");
	if (counts_rows)
		r = store_get(s, store_ask(s, "SELECT count(*) FROM records"), &facts.records, err);
	if (counts_rows && r >= 0)
		r = store_get(s, store_ask(s, "SELECT count(*) FROM jobs"), &facts.jobs, err);
	*ret = facts;
	return r;
}
