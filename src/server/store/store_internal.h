/* SPDX-License-Identifier: MIT */
/* store_internal - what the files of the store share, and nobody else. */
#pragma once

#include <sqlite3.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "server/store/store.h"

struct record;
struct rules;

#define STORE_VALUES_MAX 160 /* columns of metrics */
#define STORE_STATEMENTS_MAX 64
#define STORE_LIST_NS UINT64_C(5000000000) /* a list may take so long */

enum store_table { TABLE_JOBS, TABLE_MOUNTS, TABLE_STEPS, TABLE_COUNT };

struct store {
	sqlite3 *db;
	struct statement { /* prepared once; known by the address of its text */
		const char *text;
		sqlite3_stmt *prepared;
	} statements[STORE_STATEMENTS_MAX];
	char *inserts[TABLE_COUNT]; /* texts of statements that add a row */
	bool has_column[STORE_VALUES_MAX]; /* of jobs: else it is read as NULL */
	struct rules *rules; /* NULL: it is only read */
	int failure; /* the first one that nobody was told of, and its words; 0: none */
	struct error error;
	uint64_t deadline_ns; /* of a list, by CLOCK_MONOTONIC; 0: none */
	struct store_facts facts; /* what was counted since it was opened */
};

/* ---- sqlite.c: statements ---- */
/*
 * A failure is remembered, as a document does it, and told once by store_told().  Until then
 * nothing is asked any more and there are no rows, so that only who loops or gives away has to look
 * at it.
 */
int store_told(struct store *s, struct error *err);
/* Remember what the database says went wrong; or else what did. */
void store_fail(struct store *s);
void store_fail_at(struct store *s, int code, const char *what);

/* A value in the place of ?1, ?2...  Texts and bytes have to stay until the statement is run. */
struct arg {
	enum { ARG_NULL, ARG_NUMBER, ARG_TEXT, ARG_BYTES } type;
	const void *bytes; /* NULL: NULL */
	uint64_t number; /* or how many bytes */
};
#define NUMBER(n) ((struct arg){ ARG_NUMBER, NULL, (uint64_t)(n) })
#define NUMBER_IF(is_known, n) ((is_known) ? NUMBER(n) : (struct arg){})
#define TEXT(t) ((struct arg){ ARG_TEXT, (t), 0 })
#define BYTES(b, length) ((struct arg){ ARG_BYTES, (b), (length) })
#define ARGS(...)                              \
	((const struct arg[]){ __VA_ARGS__ }), \
		sizeof((const struct arg[]){ __VA_ARGS__ }) / sizeof(struct arg)

/* A statement, to be run; NULL: it has failed.  The caller finalizes it. */
sqlite3_stmt *store_prepare(struct store *s, const char *text, const struct arg *args,
			    size_t count);
/* The same, of a text that stays as long as the store: it is kept, and is the store's. */
sqlite3_stmt *store_ask_with(struct store *s, const char *text, const struct arg *args,
			     size_t count);
#define store_ask(s, text, ...) store_ask_with((s), (text), ARGS(__VA_ARGS__))
/* Whether there is a row; at the end it is reset. */
bool store_next(struct store *s, sqlite3_stmt *row);
/* One step, and reset.  The first number of the row, 0 where there is none. */
uint64_t store_get(struct store *s, sqlite3_stmt *row);
#define store_number(s, text, ...) store_get((s), store_ask((s), (text), __VA_ARGS__))
#define store_do(s, text, ...) ((void)store_number((s), (text), __VA_ARGS__))
/* Of all rows the first column, behind what @ret has. */
void store_collect(struct store *s, sqlite3_stmt *row, struct id_list *ret);
#define store_find(s, ret, text, ...) store_collect((s), store_ask((s), (text), __VA_ARGS__), (ret))
/* Statements without values or rows. */
void store_execute(struct store *s, const char *text);
#define COLUMN_NUMBER(row, column) ((uint64_t)sqlite3_column_int64((row), (column))) /* none: 0 */
#define COLUMN_TEXT(row, column) ((const char *)sqlite3_column_text((row), (column)))

/* ---- columns.c: the metric table as columns ---- */
/* Columns that a table lacks are added; statements that name them are made. */
void store_open_columns(struct store *s, enum store_mode mode);
/* The columns of struct store_job for SELECT, as store_read_job() wants them. */
void store_print_columns(const struct store *s, FILE *out);
/* @values: room for store_value_count(). */
struct store_job store_read_job(sqlite3_stmt *row, struct value *values);
/* Add the row of a job, and those of its mounts and steps. */
void store_write_job(struct store *s, uint64_t id, const struct store_job *job,
		     const struct record *record);

/* ---- arrivals.c: what all lines have ---- */
uint64_t store_digest(const struct store_line *line); /* of its bytes */
/* By how much the node's clock is ahead, where that is more than a second; else 0: as it was told,
 * or else at least so much as what it says it made at @made_ns, and its @sequence, lie in the
 * future. */
int64_t store_clock_offset(const struct store_line *line, uint64_t made_ns, uint64_t sequence);
/* As an event, where it is not 0: of each node one in an hour. */
void store_note_clock(struct store *s, const char *cluster, const char *node, int64_t offset_ns,
		      uint64_t now_ns);

/* ---- arrivals.c: a line that was stored ---- */
struct stored_line {
	char *text; /* as it was sent, NUL-ended; the caller frees */
	size_t length;
	bool is_closed;
	int64_t clock_offset_ns;
	uint64_t job;
};
/* Read a record's line.  -ENOENT: there is none; -EBADMSG; what else fails is remembered, too. */
int line_read(struct store *s, uint64_t id, struct stored_line *ret);
/* Read the record itself, without a timeline, its times by the server's clock.  NULL: it is gone,
 * or of another version, or that failed.  @ret_line: what is said of it, without the text. */
struct record *line_read_record(struct store *s, uint64_t id, struct stored_line *ret_line);

/* ---- fold.c: from records to jobs ---- */
/* Find or make the record's job, and have it made anew before the commit.  @old_job: the one that
 * it had; 0: none. */
uint64_t store_assign(struct store *s, uint64_t id, const struct record *record, uint64_t old_job);
/* Make it anew at once, if @record, which has come just now, is its only one. */
void store_fold_new(struct store *s, uint64_t job, struct record *record);
/* At most @limit jobs of those that are @stale, whose numbers come into @ret. */
enum store_stale {
	STALE_NOW = 1, /* it is made anew before the commit; of many records it becomes... */
	STALE_LATER = 2, /* ...by store_work() */
};
void store_fold(struct store *s, enum store_stale stale, unsigned int limit, struct id_list *ret);
/* Have a record's job, ?1, made anew before the commit. */
#define SQL_MAKE_STALE \
	"UPDATE jobs SET is_stale = 1 WHERE id = (SELECT job FROM records WHERE id = ?1)"

/* ---- upkeep.c ---- */
/* Close records, with this reason. */
void store_close_records(struct store *s, const struct id_list *ids, const char *why,
			 uint64_t now_ns);
