/* SPDX-License-Identifier: MIT */
/* SQLite behind the store: one file, and its log beside it. */
#include <assert.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "server/store/store_internal.h"

#define APPLICATION 1785684589 /* "jobm", in the file's head */
static_assert(STORE_VERSION == 4, "HEAD has it, too");
#define HEAD "PRAGMA application_id = 1785684589; PRAGMA user_version = 4"
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
		[SQLITE_FULL] = ENOSPC,	    [SQLITE_BUSY] = EBUSY,
		[SQLITE_LOCKED] = EBUSY,    [SQLITE_NOMEM] = ENOMEM,
		[SQLITE_NOTADB] = EBADMSG,  [SQLITE_CORRUPT] = EBADMSG,
		[SQLITE_TOOBIG] = EBADMSG,  [SQLITE_CONSTRAINT] = EBADMSG,
		[SQLITE_READONLY] = EACCES, [SQLITE_PERM] = EACCES,
		[SQLITE_CANTOPEN] = EACCES, [SQLITE_INTERRUPT] = ETIME,
	};
	int code = codes[result & 0xff];

	return code ? -code : -EIO;
}

static void fail(struct store *s)
{
	int code = code_of(sqlite3_errcode(s->handle)), system = sqlite3_system_errno(s->handle);

	if (code == -EIO && (system == ENOSPC || system == EDQUOT))
		code = -ENOSPC;
	store_fail(s, code, sqlite3_errmsg(s->handle));
}

/* ---- statements ---- */

static void ask(struct store *s, struct statement *st, const struct arg *args, size_t count)
{
	if (st->sqlite) {
		sqlite3_reset(st->sqlite);
		sqlite3_clear_bindings(st->sqlite);
	} else if (sqlite3_prepare_v3(s->handle, st->text, -1, 0, &st->sqlite, NULL) != SQLITE_OK) {
		return fail(s);
	}
	for (int i = 0; i < (int)count; i++) {
		const struct arg *arg = &args[i];

		if (!arg->is_known)
			continue;
		if (arg->type == ARG_NUMBER)
			sqlite3_bind_int64(st->sqlite, i + 1, (sqlite3_int64)arg->number);
		else if (arg->type == ARG_TEXT)
			sqlite3_bind_text64(st->sqlite, i + 1, arg->bytes, arg->number,
					    SQLITE_STATIC, SQLITE_UTF8);
		else
			sqlite3_bind_blob64(st->sqlite, i + 1, arg->bytes, arg->number,
					    SQLITE_STATIC);
	}
}

static bool next(struct store *s, struct statement *st)
{
	int r = sqlite3_step(st->sqlite);

	if (r != SQLITE_ROW && r != SQLITE_DONE)
		fail(s);
	return r == SQLITE_ROW;
}

static struct cell cell_of(const struct statement *row, int column)
{
	int type = sqlite3_column_type(row->sqlite, column);
	struct cell cell = { .is_known = type != SQLITE_NULL };

	if (type == SQLITE_INTEGER) {
		cell.number = (uint64_t)sqlite3_column_int64(row->sqlite, column);
	} else if (type == SQLITE_BLOB) {
		cell.bytes = sqlite3_column_blob(row->sqlite, column);
	} else if (type == SQLITE_TEXT) {
		cell.bytes = sqlite3_column_text(row->sqlite, column);
	}
	if (cell.bytes)
		cell.length = (size_t)sqlite3_column_bytes(row->sqlite, column);
	return cell;
}

static void reset(struct statement *st)
{
	sqlite3_reset(st->sqlite); /* NULL is fine */
}

static void finish(struct store *s, struct statement *st)
{
	(void)next(s, st);
	reset(st);
}

static void release(struct store *s UNUSED, struct statement *st)
{
	sqlite3_finalize(st->sqlite);
	st->sqlite = NULL;
}

static void execute(struct store *s, const char *text)
{
	if (sqlite3_exec(s->handle, text, NULL, NULL, NULL) != SQLITE_OK)
		fail(s);
}

static void begin(struct store *s)
{
	store_execute(s, "BEGIN IMMEDIATE");
}

static void commit(struct store *s)
{
	execute(s, "COMMIT");
}

static void abandon(struct store *s)
{
	if (!sqlite3_get_autocommit(s->handle)) /* a full disk has ended it by itself */
		(void)sqlite3_exec(s->handle, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- opening ---- */

static int set_up(struct store *s, const char *path, enum store_mode mode, struct error *err)
{
	struct statement *head = store_ask(
		s, "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
		   "FROM pragma_application_id, pragma_user_version");
	uint64_t application = 0, version = 0, tables = 0;
	int r;

	if (store_next(s, head)) {
		application = COLUMN_NUMBER(head, 0);
		version = COLUMN_NUMBER(head, 1);
		tables = COLUMN_NUMBER(head, 2);
	}
	store_reset(head);
	r = store_told(s, err);
	if (r < 0)
		return error_prefix(err, r == -EBADMSG ? -EINVAL : r, "'%s'", path);
	if (application != APPLICATION && (mode == STORE_READ || tables))
		return error_set(err, -EINVAL, "'%s' is no database of jobmeter", path);
	r = store_check_version(path, version, mode, err);
	if (r < 0)
		return r;
	if (mode != STORE_READ) {
		store_execute(s, SETTINGS);
		store_update(s, version);
		/* not written again, so that a full disk is no reason not to start */
		store_execute(s, version == STORE_VERSION ? "" : HEAD);
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

static int open_file(struct store *s, const char *path, enum store_mode mode, struct error *err)
{
	int flags = mode == STORE_READ ? SQLITE_OPEN_READONLY
				       : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	sqlite3 *db = NULL;
	mode_t mask;
	int r;

	if (mode == STORE_READ && access(path, R_OK) < 0)
		return error_set_errno(err, errno, "cannot read the database '%s'", path);
	mask = umask(077); /* also of the log beside it */
	r = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	s->handle = db;
	if (r == SQLITE_OK) {
		sqlite3_extended_result_codes(db, 1);
		sqlite3_busy_timeout(db, BUSY_MS);
		sqlite3_progress_handler(db, OPERATIONS_A_LOOK, watch_clock, s);
		r = set_up(s, path, mode, err);
	} else {
		r = error_set(err, code_of(r), "cannot open the database '%s': %s", path,
			      sqlite3_errstr(r));
	}
	umask(mask);
	return r;
}

static void close_file(struct store *s)
{
	sqlite3_close(s->handle);
}

/* ---- upkeep ---- */

/* Whoever has the file. */
static bool may_work(struct store *s UNUSED, uint64_t now_ns UNUSED)
{
	return true;
}

static void tidy(struct store *s)
{
	store_execute(s, "PRAGMA incremental_vacuum(200)");
}

/* What was deleted is overwritten; it may still be in the log. */
static void wipe(struct store *s)
{
	(void)sqlite3_wal_checkpoint_v2(s->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

static int backup(struct store *s, const char *path, struct error *err)
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

const struct database database_sqlite = {
	.columns = "SELECT name, CASE type WHEN 'TEXT' THEN 1 WHEN 'BLOB' THEN 2 ELSE 0 END "
		   "FROM pragma_table_info(?1)",
	.bytes = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
	.position = "instr",
	.truncate = "",
	.month =
		"CAST(strftime('%s', day_ns / 1000000000, 'unixepoch', 'start of month') AS INTEGER) * "
		"1000000000",
	.open = open_file,
	.close = close_file,
	.ask = ask,
	.next = next,
	.cell = cell_of,
	.finish = finish,
	.reset = reset,
	.release = release,
	.execute = execute,
	.begin = begin,
	.commit = commit,
	.abandon = abandon,
	.may_work = may_work,
	.tidy = tidy,
	.wipe = wipe,
	.backup = backup,
};
