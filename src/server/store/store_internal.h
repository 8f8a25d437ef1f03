/* SPDX-License-Identifier: MIT */
/* store_internal - what the files of the store share, and nobody else. */
#pragma once

#include <sqlite3.h>

#include "basic/macro.h"
#include "server/store/store.h"

struct record;
struct rules;

/* Statements of fixed text, each prepared once: statement_texts[] in sqlite.c. */
enum statement {
	SQL_BEGIN,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_FIND_RECORD,
	SQL_ADD_RECORD,
	SQL_REPLACE_RECORD,
	SQL_INDEX_RECORD,
	SQL_SET_JOB,
	SQL_READ_RECORD,
	SQL_READ_JOB_RECORDS,
	SQL_DELETE_RECORD,
	SQL_FIND_OLDER_BOOTS,
	SQL_CLOSE_RECORD,
	SQL_FIND_STALLED,
	SQL_FIND_OLD_TIMELINES,
	SQL_DELETE_TIMELINE,
	SQL_FIND_OLD_RECORDS,
	SQL_FIND_USER_RECORDS,
	SQL_FIND_NEXT_RECORDS,
	SQL_FIND_STALE_JOBS,
	SQL_MARK_STALE,
	SQL_FIND_JOBS,
	SQL_ADD_JOB,
	SQL_WIDEN_JOB,
	SQL_MOVE_RECORDS,
	SQL_DELETE_JOB,
	SQL_DELETE_MOUNTS,
	SQL_DELETE_STEPS,
	SQL_ADD_EVENT,
	SQL_FIND_CLOCK_EVENT,
	SQL_DELETE_EVENTS,
	SQL_GET_META,
	SQL_SET_META,
	SQL_DELETE_META,
	SQL_FORGET_JOBS,
	SQL_DELETE_ORPHANS,
	SQL_COUNT_RECORDS,
	SQL_COUNT_JOBS,
	SQL_COUNT_EVENTS,
	SQL_VACUUM,
	/* These are made of the metric table as the store is opened. */
	SQL_SET_JOB_VALUES,
	SQL_ADD_MOUNT,
	SQL_ADD_STEP,
	SQL_COUNT,
};

#define STORE_VALUES_MAX 160
#define STORE_TOUCHED_MAX 128 /* then they are folded within the transaction */

struct store {
	sqlite3 *db;
	sqlite3_stmt *statements[SQL_COUNT];
	char *made[SQL_COUNT]; /* the text of those that are made */
	bool has_column[STORE_VALUES_MAX]; /* of jobs: else it is read as NULL */
	struct rules *rules; /* NULL: it is only read */
	struct touched { /* jobs that are to be folded before the commit */
		uint64_t job;
		struct record *record; /* where it may be the only one: shared; else NULL */
	} touched[STORE_TOUCHED_MAX];
	size_t touched_count;
	uint64_t deadline_ns; /* of a list, by CLOCK_MONOTONIC; 0: none */
	struct store_facts facts; /* what was counted since it was opened */
};

/* ---- sqlite.c ---- */

/* The statement, without values; NULL: it cannot be prepared (store_fail() says why). */
sqlite3_stmt *store_sql(struct store *s, enum statement which);
/* Places from 1.  Texts and bytes have to stay until the statement is run. */
void store_bind_text(sqlite3_stmt *statement, int place, const char *text); /* NULL: NULL */
void store_bind_number(sqlite3_stmt *statement, int place, uint64_t number);
void store_bind_value(sqlite3_stmt *statement, int place, const struct value *value);
/* 1: a row; 0: the end, and it is reset; negative: as store.h says. */
int store_step(struct store *s, sqlite3_stmt *statement, struct error *err);
/* To its end; the same without rows. */
int store_run(struct store *s, sqlite3_stmt *statement, struct error *err);
/* Of all rows the first column.  At most @max rows. */
int store_collect(struct store *s, sqlite3_stmt *statement, struct id_list *ret, struct error *err);
/* What the database says went wrong. */
int store_fail(struct store *s, struct error *err);
uint64_t store_column_number(sqlite3_stmt *statement, int column); /* of none: 0 */
const char *store_column_text(sqlite3_stmt *statement, int column); /* NULL: NULL */

/* ---- columns.c: the metric table as columns ---- */

/* Columns that a table lacks are added; statements that name them are made. */
int store_open_columns(struct store *s, enum store_mode mode, struct error *err);
/* "\"cpu.user_seconds\", ..." for jobs, of what is not there NULL; the caller frees. */
char *store_columns_to_read(const struct store *s);
/* Bind what the record says to @place and those behind it: of a job, a mount, a step. */
void store_bind_job(sqlite3_stmt *statement, int place, const struct record *record);
void store_bind_mount(sqlite3_stmt *statement, int place, const struct mount_row *row);
void store_bind_step(sqlite3_stmt *statement, int place, const struct value *values);

/* ---- line.c: a line and its timeline ---- */

/* Where the value of the member @key of the map that the text is stands.  False: it has none. */
bool line_find_value(const char *text, size_t length, const char *key, size_t *ret_at,
		     size_t *ret_length);
/* As it was sent; @timeline NULL: with "null" in its place.  -EBADMSG. */
struct line_parts {
	const void *record, *timeline;
	size_t record_length, timeline_length;
	int64_t timeline_at; /* in the record's text; -1: it is whole */
};
int line_join(const struct line_parts *parts, char **ret, size_t *ret_length);
/* The record of a joined line, without a timeline. */
int line_parse(const char *text, size_t length, struct record **ret, struct error *err);

/* ---- fold.c: from records to jobs ---- */

struct record_key { /* of a record in the database */
	uint64_t id;
	const char *cluster, *node, *manager, *job_id;
	struct record *record; /* without a timeline */
	uint64_t old_job; /* 0: none */
	bool is_new; /* taken just now, and so not closed */
};
/* The moment at which it was last seen, or ended. */
uint64_t store_end_of(const struct record *record);
/* Find or make its job, and let it be made anew from its records before the commit. */
int store_assign(struct store *s, const struct record_key *key, struct error *err);
/* @record, which may be NULL, is shared; an earlier one of the job is forgotten. */
int store_touch(struct store *s, uint64_t job, struct record *record, struct error *err);
void store_clear_touched(struct store *s);
/* All touched jobs; those of many records wait for store_work(). */
int store_fold_touched(struct store *s, struct error *err);
/* At once, however many they are. */
int store_fold(struct store *s, uint64_t job, struct error *err);

/* ---- upkeep.c ---- */

struct event {
	const char *kind; /* "closed", "clock", "forgotten" */
	uint64_t at_ns;
	const char *cluster, *node, *manager, *job_id, *detail;
};
int store_add_event(struct store *s, const struct event *event, struct error *err);
/* Close records whose numbers are in @ids, with this reason. */
int store_close_records(struct store *s, const struct id_list *ids, const char *why,
			uint64_t now_ns, struct error *err);
