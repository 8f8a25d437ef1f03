/* SPDX-License-Identifier: MIT */
#include "server/store/store_internal.h"

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

#define APPLICATION 0x6a6f626d /* "jobm", in the file's head */
#define VERSION 1 /* of the tables */
#define BUSY_MS 10000
#define CACHE_KIB 16384
#define LOG_MAX_BYTES (64 << 20) /* of what stays of the write-ahead log */
#define OPERATIONS_A_LOOK 10000 /* of the database's machine, between looks at the clock */

static const char schema[] =
#include "server/store/schema_sql.h"
	;

#define RECORD_KEY \
	"cluster = ?1 AND node = ?2 AND boot_id = ?3 AND manager = ?4 AND job_id = ?5 AND start_ns = ?6"

/* clang-format off */
static const char *const statement_texts[SQL_COUNT] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_FIND_RECORD] = "SELECT id, sequence, final, digest, job FROM records WHERE " RECORD_KEY,
	[SQL_ADD_RECORD] = "INSERT INTO records (cluster, node, boot_id, manager, job_id, start_ns, sequence, final, digest, "
		"arrived_ns, clock_offset_ns, record, timeline, timeline_at, end_ns) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 0)",
	[SQL_REPLACE_RECORD] = "UPDATE records SET sequence = ?7, final = ?8, digest = ?9, arrived_ns = ?10, "
		"clock_offset_ns = ?11, record = ?12, timeline = ?13, timeline_at = ?14, closed = NULL WHERE " RECORD_KEY,
	[SQL_INDEX_RECORD] = "UPDATE records SET uid = ?2, user_name = ?3, end_ns = ?4 WHERE id = ?1",
	[SQL_SET_JOB] = "UPDATE records SET job = ?2 WHERE id = ?1",
	[SQL_READ_RECORD] = "SELECT record, timeline, timeline_at, closed, cluster, node, manager, job_id, job, final "
		"FROM records WHERE id = ?1",
	[SQL_READ_JOB_RECORDS] = "SELECT id FROM records WHERE job = ?1 ORDER BY node, start_ns, id",
	[SQL_DELETE_RECORD] = "DELETE FROM records WHERE id = ?1",
	[SQL_FIND_OLDER_BOOTS] = "SELECT id FROM records WHERE cluster = ?1 AND node = ?2 AND final = 0 AND closed IS NULL "
		"AND boot_id <> ?3 AND sequence < ?4 LIMIT 1000",
	[SQL_CLOSE_RECORD] = "UPDATE records SET closed = ?2 WHERE id = ?1",
	[SQL_FIND_STALLED] = "SELECT id FROM records WHERE final = 0 AND closed IS NULL AND arrived_ns < ?1 LIMIT ?2",
	[SQL_FIND_OLD_TIMELINES] = "SELECT id FROM records WHERE timeline IS NOT NULL AND arrived_ns < ?1 LIMIT ?2",
	[SQL_DELETE_TIMELINE] = "UPDATE records SET timeline = NULL WHERE id = ?1",
	[SQL_FIND_OLD_RECORDS] = "SELECT id FROM records WHERE arrived_ns < ?1 ORDER BY arrived_ns LIMIT ?2",
	[SQL_FIND_USER_RECORDS] = "SELECT id FROM records WHERE user_name = ?1 OR uid = ?2 LIMIT ?3",
	[SQL_FIND_NEXT_RECORDS] = "SELECT id FROM records WHERE id > ?1 ORDER BY id LIMIT ?2",
	[SQL_FIND_STALE_JOBS] = "SELECT id FROM jobs WHERE is_stale = 1 LIMIT ?1",
	[SQL_MARK_STALE] = "UPDATE jobs SET is_stale = ?2 WHERE id = ?1",
	[SQL_FIND_JOBS] = "SELECT id FROM jobs WHERE cluster = ?1 AND manager = ?2 AND job_id = ?3 AND COALESCE(uid, -1) = ?4 "
		"AND start_ns <= ?6 AND end_ns >= ?5 ORDER BY id",
	[SQL_ADD_JOB] = "INSERT INTO jobs (cluster, node, manager, job_id, uid, start_ns, end_ns, is_stale) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1)",
	[SQL_WIDEN_JOB] = "UPDATE jobs SET start_ns = CASE WHEN start_ns > ?2 THEN ?2 ELSE start_ns END, "
		"end_ns = CASE WHEN end_ns < ?3 THEN ?3 ELSE end_ns END WHERE id = ?1",
	[SQL_MOVE_RECORDS] = "UPDATE records SET job = ?2 WHERE job = ?1",
	[SQL_DELETE_JOB] = "DELETE FROM jobs WHERE id = ?1",
	[SQL_DELETE_MOUNTS] = "DELETE FROM job_mounts WHERE job = ?1",
	[SQL_DELETE_STEPS] = "DELETE FROM job_steps WHERE job = ?1",
	[SQL_ADD_EVENT] = "INSERT INTO events (at_ns, kind, cluster, node, manager, job_id, detail) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_FIND_CLOCK_EVENT] = "SELECT id FROM events WHERE kind = 'clock' AND node = ?1 AND at_ns > ?2 LIMIT 1",
	[SQL_DELETE_EVENTS] = "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE at_ns < ?1 LIMIT ?2)",
	[SQL_GET_META] = "SELECT value FROM meta WHERE name = ?1",
	[SQL_SET_META] = "INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2",
	[SQL_DELETE_META] = "DELETE FROM meta WHERE name = ?1",
	[SQL_FORGET_JOBS] = "UPDATE records SET job = NULL WHERE NOT EXISTS (SELECT 1 FROM jobs)",
	[SQL_DELETE_ORPHANS] = "DELETE FROM jobs WHERE NOT EXISTS (SELECT 1 FROM records WHERE records.job = jobs.id)",
	[SQL_COUNT_RECORDS] = "SELECT count(*) FROM records",
	[SQL_COUNT_JOBS] = "SELECT count(*) FROM jobs",
	[SQL_COUNT_EVENTS] = "SELECT count(*) FROM events",
	[SQL_VACUUM] = "PRAGMA incremental_vacuum(200)",
};
/* clang-format on */

/* ---- errors ---- */

static int code_of(int result)
{
	switch (result & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_READONLY:
		return -EACCES;
	case SQLITE_INTERRUPT:
		return -ETIME;
	}
	return -EIO;
}

int store_fail(struct store *s, struct error *err)
{
	int code = code_of(sqlite3_errcode(s->db)), system = sqlite3_system_errno(s->db);

	if (code == -ETIME)
		return error_set(err, code,
				 "that takes too long: ask for less at once (since, until)");
	if (code == -EIO && (system == ENOSPC || system == EDQUOT))
		code = -ENOSPC;
	if (code == -ENOSPC)
		return error_set(err, code, "there is no space left for the database");
	return error_set(err, code, "the database: %s", sqlite3_errmsg(s->db));
}

/* ---- statements ---- */

sqlite3_stmt *store_sql(struct store *s, enum statement which)
{
	const char *text = s->made[which] ? s->made[which] : statement_texts[which];
	sqlite3_stmt **statement = &s->statements[which];

	if (!*statement && sqlite3_prepare_v3(s->db, text, -1, SQLITE_PREPARE_PERSISTENT, statement,
					      NULL) != SQLITE_OK)
		return NULL;
	sqlite3_reset(*statement);
	sqlite3_clear_bindings(*statement);
	return *statement;
}

void store_bind_text(sqlite3_stmt *statement, int place, const char *text)
{
	if (statement && text)
		sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC);
}

void store_bind_number(sqlite3_stmt *statement, int place, uint64_t number)
{
	if (statement)
		sqlite3_bind_int64(statement, place, (sqlite3_int64)number);
}

void store_bind_value(sqlite3_stmt *statement, int place, const struct value *value)
{
	if (value->is_known)
		store_bind_number(statement, place, value->number);
}

int store_step(struct store *s, sqlite3_stmt *statement, struct error *err)
{
	int r = statement ? sqlite3_step(statement) : SQLITE_ERROR;

	if (r == SQLITE_ROW)
		return 1;
	if (r != SQLITE_DONE)
		r = store_fail(s, err);
	else
		r = 0;
	if (statement)
		sqlite3_reset(statement);
	return r;
}

int store_run(struct store *s, sqlite3_stmt *statement, struct error *err)
{
	int r;

	while ((r = store_step(s, statement, err)) > 0)
		;
	return r;
}

int store_collect(struct store *s, sqlite3_stmt *statement, struct id_list *ret, struct error *err)
{
	int r;

	while ((r = store_step(s, statement, err)) > 0) {
		r = id_list_add(ret, store_column_number(statement, 0));
		if (r < 0) {
			sqlite3_reset(statement);
			return error_set_errno(err, r, "cannot read the database");
		}
	}
	return r;
}

uint64_t store_column_number(sqlite3_stmt *statement, int column)
{
	return (uint64_t)sqlite3_column_int64(statement, column);
}

const char *store_column_text(sqlite3_stmt *statement, int column)
{
	return (const char *)sqlite3_column_text(statement, column);
}

/* ---- transactions ---- */

int store_begin(struct store *s, struct error *err)
{
	store_clear_touched(s);
	return store_run(s, store_sql(s, SQL_BEGIN), err);
}

int store_commit(struct store *s, struct error *err)
{
	int r = store_fold_touched(s, err);

	return r < 0 ? r : store_run(s, store_sql(s, SQL_COMMIT), err);
}

void store_abandon(struct store *s)
{
	store_clear_touched(s);
	if (!sqlite3_get_autocommit(s->db)) /* a full disk has ended it by itself */
		(void)store_run(s, store_sql(s, SQL_ROLLBACK), NULL);
}

/* ---- opening ---- */

static int execute(struct store *s, const char *text, struct error *err)
{
	return sqlite3_exec(s->db, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : store_fail(s, err);
}

static int read_number(struct store *s, const char *text, int64_t *ret, struct error *err)
{
	sqlite3_stmt *statement = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(s->db, text, -1, &statement, NULL) != SQLITE_OK ||
	    sqlite3_step(statement) != SQLITE_ROW)
		r = store_fail(s, err);
	else
		*ret = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return r;
}

/* 0 where it is empty. */
static int check_head(struct store *s, const char *path, int64_t *ret_version, struct error *err)
{
	int64_t application = 0, tables = 0;
	int r = read_number(s, "PRAGMA application_id", &application, err);

	if (r >= 0)
		r = read_number(s, "PRAGMA user_version", ret_version, err);
	if (r >= 0)
		r = read_number(s, "SELECT count(*) FROM sqlite_master", &tables, err);
	if (r < 0)
		return error_prefix(err, r == -EBADMSG ? -EINVAL : r, "'%s'", path);
	if (tables && application != APPLICATION)
		return error_set(err, -EINVAL, "'%s' is no database of jobmeter", path);
	if (*ret_version > VERSION)
		return error_set(err, -EINVAL,
				 "'%s' was written by a newer jobmeter-server (its tables are "
				 "version %d, these are %d)",
				 path, (int)*ret_version, VERSION);
	return 0;
}

static int set_up(struct store *s, const char *path, enum store_mode mode, struct error *err)
{
	char text[512];
	int64_t version = 0;
	int r = check_head(s, path, &version, err);

	if (r < 0)
		return r;
	if (mode == STORE_READ)
		return version ? 0
			       : error_set(err, -EINVAL, "'%s' is no database of jobmeter", path);
	snprintf(text, sizeof(text),
		 "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; "
		 "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = %d; "
		 "PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; "
		 "PRAGMA application_id = %d; PRAGMA user_version = %d",
		 LOG_MAX_BYTES, APPLICATION, VERSION);
	/* what the head has is not written again, so that a full disk is no reason not to start */
	if (version == VERSION)
		*strstr(text, "PRAGMA application_id") = '\0';
	r = execute(s, text, err);
	return r < 0 ? r : execute(s, schema, err);
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
	char cache[64];
	mode_t mask;
	int r;

	if (!s)
		return error_set_errno(err, ENOMEM, "cannot open the database '%s'", path);
	mask = umask(077); /* also of the log beside it */
	r = open_file(s, path, mode, err);
	if (r >= 0)
		r = set_up(s, path, mode, err);
	snprintf(cache, sizeof(cache), "PRAGMA cache_size = -%d", CACHE_KIB);
	if (r >= 0)
		r = execute(s, cache, err);
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
	for (size_t i = 0; i < SQL_COUNT; i++) {
		sqlite3_finalize(s->statements[i]);
		free(s->made[i]);
	}
	sqlite3_close(s->db);
	rules_free(s->rules);
	store_clear_touched(s);
	free(s);
	return NULL;
}

void store_closep(struct store **s)
{
	store_close(*s);
}

/* ---- a copy ---- */

static int copy_to(struct store *s, sqlite3 *to, struct error *err)
{
	sqlite3_backup *backup = sqlite3_backup_init(to, "main", s->db, "main");
	int r = backup ? sqlite3_backup_step(backup, -1) : sqlite3_errcode(to);

	if (backup)
		sqlite3_backup_finish(backup);
	if (r != SQLITE_DONE)
		return error_set(err, code_of(r), "%s", sqlite3_errstr(r));
	/* one file, that can be read where nothing can be written */
	if (sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) != SQLITE_OK)
		return error_set(err, -EIO, "%s", sqlite3_errmsg(to));
	return 0;
}

int store_backup(struct store *s, const char *path, struct error *err)
{
	_cleanup_free_ char *temporary = NULL;
	_cleanup_close_ int fd = -EBADF;
	sqlite3 *to = NULL;
	int r;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkstemp(temporary); /* 0600 */
	if (fd < 0)
		return error_set_errno(err, errno, "cannot write '%s'", path);
	r = sqlite3_open_v2(temporary, &to, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK
		    ? copy_to(s, to, err)
		    : error_set(err, -EIO, "%s", to ? sqlite3_errmsg(to) : "no memory");
	sqlite3_close(to);
	if (r >= 0 && (fsync(fd) < 0 || rename(temporary, path) < 0))
		r = error_set_errno(err, errno, "%s", "it cannot take its place");
	if (r < 0)
		unlink(temporary);
	return r < 0 ? error_prefix(err, r, "cannot write '%s'", path) : 0;
}

/* ---- facts ---- */

static int count_rows(struct store *s, enum statement which, uint64_t *ret, struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, which);
	int r = store_step(s, statement, err);

	if (r > 0)
		*ret = store_column_number(statement, 0);
	if (statement)
		sqlite3_reset(statement);
	return r < 0 ? r : 0;
}

static uint64_t bytes_of(const char *path, const char *end)
{
	_cleanup_free_ char *name = NULL;
	struct stat st;

	if (asprintf(&name, "%s%s", path, end) < 0 || stat(name, &st) < 0)
		return 0;
	return (uint64_t)st.st_size;
}

void store_read_size(struct store *s, struct store_facts *ret)
{
	const char *path = sqlite3_db_filename(s->db, "main");

	*ret = s->facts;
	ret->bytes = bytes_of(path, "") + bytes_of(path, "-wal");
}

int store_read_facts(struct store *s, struct store_facts *ret, struct error *err)
{
	struct store_facts facts;
	int r;

	store_read_size(s, &facts);
	r = count_rows(s, SQL_COUNT_RECORDS, &facts.records, err);
	if (r >= 0)
		r = count_rows(s, SQL_COUNT_JOBS, &facts.jobs, err);
	if (r >= 0)
		r = count_rows(s, SQL_COUNT_EVENTS, &facts.events, err);
	if (r >= 0)
		*ret = facts;
	return r;
}
