/* SPDX-License-Identifier: MIT */
/* store_internal - what the files of the store share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "model/job_filter.h"
#include "server/store/runs.h"
#include "server/store/store.h"

struct pg_result;
struct record;
struct rules;
struct sqlite3_stmt;

/*
 * database - what the store asks of SQLite and of PostgreSQL alike, and what each does its own way.
 *
 * Statements are written once, in SQL that both understand, with ?1, ?2... for values; the tables
 * of both are made of sql/schema.sql.  What fails is remembered by the store (store_fail_at()).
 */

/* A value in the place of ?1, ?2...; its type is known where it is NULL, too. */
struct arg {
	enum { ARG_NUMBER, ARG_TEXT, ARG_BYTES } type;
	bool is_known; /* else it is NULL */
	const void *bytes; /* valid until the statement has run */
	uint64_t number; /* or how many bytes: of a text without its NUL */
};

/* Begins as {} but for its text, which outlives it unless store_write() began it. */
struct statement {
	const char *text;
	FILE *out; /* to which it is being written */
	char *written; /* owned */
	size_t size;
	const struct database *database; /* NULL: it has not been asked */
	union {
		struct sqlite3_stmt *sqlite;
		struct {
			struct pg_result *result; /* the rows; NULL: they have not come */
			int row;
			unsigned int connection; /* on which it was prepared; 0: none */
			size_t count; /* of its values */
		} pg;
	};
};

struct cell { /* holds until the next row */
	bool is_known; /* else it is NULL */
	uint64_t number;
	const void *bytes; /* of a text: NUL-ended */
	size_t length; /* without its NUL */
};

struct database {
	const char *columns; /* asks for the names of the columns of table ?1, and for the type of
				each as struct arg has it */
	const char *bytes; /* asks for the size of the database */
	const char *make_months; /* makes ready for times from ?1 to ?2; NULL: it is anyway */
	const char *number_from; /* new rows of table ?1 have numbers behind ?2; NULL: anyway */
	const char *position; /* function: the position of a text in another one; 0: none */
	const char *truncate; /* function: of a number that is cast to a whole one; "": casts do it
			       */

	const char *month; /* the beginning of that of day_ns */

	bool alters_at_once; /* several columns by one statement */

	/* Makes what is missing, by @mode.  Sets s->handle even where it fails. */
	int (*open)(struct store *s, const char *where, enum store_mode mode, struct error *err);
	void (*close)(struct store *s);

	/* Prepared at the first time.  It is run when its rows are read, or by finish(). */
	void (*ask)(struct store *s, struct statement *st, const struct arg *args, size_t count);
	bool (*next)(struct store *s, struct statement *st); /* whether there is a row */
	struct cell (*cell)(const struct statement *row, int column);
	/* Have it done, whatever it gives; of PostgreSQL within a transaction it is not waited for.
	 */
	void (*finish)(struct store *s, struct statement *st);
	void (*reset)(struct statement *st); /* its rows are not wanted any more */
	void (*release)(struct store *s, struct statement *st); /* of one that is not kept */
	void (*execute)(struct store *s, const char *text); /* outside of transactions */

	/* One writes at a time; the others wait for 10 s. */
	void (*begin)(struct store *s);
	void (*commit)(struct store *s);
	void (*abandon)(struct store *s); /* also where nothing was begun */

	bool (*may_work)(struct store *s, uint64_t now_ns); /* whether the upkeep is ours */
	void (*tidy)(struct store *s); /* when nothing is left to do: give space back */
	void (*wipe)(struct store *s); /* what was deleted is to be gone from the disk */
	int (*backup)(struct store *s, const char *path, struct error *err);
};

extern const struct database database_sqlite;

#define STORE_VALUES_MAX 160 /* columns of metrics */
/* Of each of the five texts of a key: PostgreSQL takes 2,704 together. */
#define STORE_KEY_MAX_BYTES 500
#define STORE_ARGS_MAX 224 /* of a statement */
#define STORE_STATEMENTS_MAX 128
#define STORE_LIST_NS UINT64_C(5000000000) /* a list may take so long */

enum store_table { TABLE_JOBS, TABLE_MOUNTS, TABLE_STEPS, TABLE_COUNT };

struct store {
	const struct database *database;
	void *handle; /* the database's own */
	struct statement statements[STORE_STATEMENTS_MAX]; /* known by the address of its text */
	char *inserts[TABLE_COUNT]; /* texts of statements that add a row */
	char *put_run, *select_run; /* likewise, of runs */
	char *roll; /* and of roll-ups */
	bool has_column[STORE_VALUES_MAX]; /* of jobs: else it is read as NULL */
	bool has_facts; /* the columns of facts are there, all or none */
	bool has_runs; /* and those of what the manager said */
	struct boot { /* of which records were put that are not committed */
		char cluster[STORE_KEY_MAX_BYTES + 1], node[STORE_KEY_MAX_BYTES + 1];
		char id[STORE_KEY_MAX_BYTES + 1];
		uint64_t sequence; /* the greatest */
		uint64_t arrived_ns; /* 0: there are none */
	} boot;
	struct rules *rules; /* NULL: it is only read */
	bool has_unrolled; /* some roll-ups may be empty */
	bool folds_later; /* until store_abandon() */
	int failure; /* the first one that was not reported yet, and its words; 0: none */
	struct error error;
	uint64_t deadline_ns; /* of a list, by CLOCK_MONOTONIC; 0: none */
	struct store_facts facts; /* what was counted since it was opened */
};

/* ---- statements.c ---- */
/*
 * A failure is remembered, as a document does it, and reported once by store_told().  Until then
 * nothing is asked any more and there are no rows, so that only who loops or gives away has to look
 * at it.
 */
int store_told(struct store *s, struct error *err);
/* Remember what the database says went wrong, by its code; or else what did. */
void store_fail(struct store *s, int code, const char *words);
void store_fail_at(struct store *s, int code, const char *what);

#define NUMBER(n) ((struct arg){ ARG_NUMBER, true, NULL, (uint64_t)(n) })
#define NUMBER_IF(is_known, n) ((is_known) ? NUMBER(n) : (struct arg){ ARG_NUMBER })
struct arg store_text(const char *text); /* NULL: NULL */
#define TEXT(t) store_text(t)
#define BYTES(b, length) ((struct arg){ ARG_BYTES, (b) != NULL, (b), (length) })
#define ARGS(...)                              \
	((const struct arg[]){ __VA_ARGS__ }), \
		sizeof((const struct arg[]){ __VA_ARGS__ }) / sizeof(struct arg)

/* A statement whose text stays as long as the store: it is kept, and is the store's.  Its rows must
 * be read before another is asked. */
struct statement *store_ask_with(struct store *s, const char *text, const struct arg *args,
				 size_t count);
#define store_ask(s, text, ...) store_ask_with((s), (text), ARGS(__VA_ARGS__))
/* The same of a statement of the caller's, for which he calls store_release(). */
void store_ask_once(struct store *s, struct statement *st, const struct arg *args, size_t count);
void store_release(struct store *s, struct statement *st);
/* Begin its text: what is written to *ret until it is asked, and gone when it is released.  NULL:
 * no memory, for @what, which is a failure of the store. */
FILE *store_write(struct store *s, struct statement *st, const char *what);
/* The same of a list, whose rows may take STORE_LIST_NS from now on; and its end: as store_told().
 */
void store_begin_list(struct store *s, struct statement *rows, const struct arg *args,
		      size_t count);
int store_end_list(struct store *s, struct statement *rows, struct error *err);
/* Write its rows, whose members @put writes, as the list @name of a map, and as "more" whether
 * there are more than @limit; and end it. */
int store_format_list(struct store *s, struct statement *rows, const char *name, size_t limit,
		      void (*put)(const void *context, const struct statement *row,
				  struct document *d),
		      const void *context, struct document *d, struct error *err);
/* Whether there is a row; at the end it is reset. */
bool store_next(struct store *s, struct statement *row);
void store_reset(struct statement *row); /* where not all rows are read */
/* One step, and reset.  The first number of the row, 0 where there is none. */
uint64_t store_get(struct store *s, struct statement *row);
#define store_number(s, text, ...) store_get((s), store_ask((s), (text), __VA_ARGS__))
/* The same of a text that is not kept. */
uint64_t store_number_once(struct store *s, const char *text, const struct arg *args, size_t count);
void store_finish(struct store *s, struct statement *st);
#define store_do(s, text, ...) store_finish((s), store_ask((s), (text), __VA_ARGS__))
/* Of all rows the first column, behind what @ret has. */
void store_collect(struct store *s, struct statement *row, struct id_list *ret);
#define store_find(s, ret, text, ...) store_collect((s), store_ask((s), (text), __VA_ARGS__), (ret))
/* Statements without values or rows, outside of a transaction. */
void store_execute(struct store *s, const char *text);
struct cell store_cell(const struct statement *row, int column);
#define COLUMN_NUMBER(row, column) (store_cell((row), (column)).number) /* none: 0 */
#define COLUMN_TEXT(row, column) ((const char *)store_cell((row), (column)).bytes)

#define STORE_VERSION 4 /* of the tables */
#define STORE_FROM_1                                     \
	"ALTER TABLE jobs ADD COLUMN exit_code BIGINT; " \
	"ALTER TABLE jobs ADD COLUMN exit_signal BIGINT"
#define STORE_FROM_2                                       \
	"ALTER TABLE jobs ADD COLUMN is_measured BIGINT; " \
	"ALTER TABLE jobs ADD COLUMN has_begun BIGINT; "   \
	"ALTER TABLE records ADD COLUMN sluid TEXT"
#define STORE_FROM_3 "DROP TABLE IF EXISTS rollups"
/* From @version, 0: there are no tables; before the tables that it lacks are made. */
void store_update(struct store *s, uint64_t version);
/* -EINVAL: the tables are of a later version, or of an earlier one and cannot be changed. */
int store_check_version(const char *where, uint64_t version, enum store_mode mode,
			struct error *err);

/* ---- columns.c: the metric table as columns ---- */
struct column_def {
	const char *name;
	bool is_text; /* else a number */
};
/* How many of these the table lacked: where we write they are added.  @ret_has: which it has now,
 * @count of them. */
size_t store_add_columns(struct store *s, const char *table, const struct column_def *columns,
			 size_t count, enum store_mode mode, bool *ret_has);
/* Columns that a table lacks are added; statements that name them are made. */
void store_open_columns(struct store *s, enum store_mode mode);
/* The columns of struct store_job for SELECT, as store_read_job() wants them.  @wanted: those of
 * metrics that are not are read as NULL; NULL: all are, of store_column_count(). */
void store_print_columns(const struct store *s, const bool *wanted, FILE *out);
/* What a column of store_can_order() is ordered by, and what that is of a job. */
void store_print_order(const struct store *s, size_t column, FILE *out);
int64_t store_job_order(const struct store_job *job, size_t column);
/* " AND ...": what jobs are chosen by is known and in @range; nothing where that is empty. */
void store_print_range(const struct store *s, enum job_number number, const struct job_range *range,
		       FILE *out);
/* "CASE ... END": the range that it is in, of those up to each of @bounds and the one above; -1:
 * it is not known. */
void store_print_place(const struct store *s, enum job_number number, const uint64_t *bounds,
		       size_t count, FILE *out);
/* A number; one below 0 is not known. */
struct value store_value(const struct statement *row, int column);
/* @values: room for store_value_count(). */
struct store_job store_read_job(const struct statement *row, struct value *values);
/* Add the row of a job, and those of its mounts and steps.  @job->run: NULL is none. */
void store_write_job(struct store *s, uint64_t id, const struct store_job *job,
		     const struct record *record);

/* ---- runs.c ---- */
/* Records and jobs that lie so far apart are one: nodes begin and end one by one. */
#define STORE_NEAR_NS "60000000000"
void store_open_runs(struct store *s, enum store_mode mode);
/* What a job's row has of its run: the columns for SELECT, NULLs where they are missing; their
 * values (@run: NULL: none known), which gives how many; and back, which gives the column behind
 * them. */
void store_print_run_columns(bool has_them, FILE *out);
size_t store_put_run_facts(const struct store_run *run, struct arg *args);
int store_read_run_facts(const struct statement *row, int column, struct store_run *ret);
/* The same as columns of a list; @run: as a job has it. */
size_t store_run_count(void);
struct store_column store_run_column(size_t i);
bool store_run_knows(const struct store_run *run, size_t i);
void store_run_put(const struct store_run *run, size_t i, struct document *d);
/* The run of a job; its texts are valid until the caller resets the statement.  NULL: none. */
struct statement *store_read_run(struct store *s, uint64_t job, struct store_run *ret);
/* Put what it says into a record.  -ENOMEM. */
int store_run_apply(const struct store_run *run, struct record *record);
struct run_question {
	const char *cluster, *manager, *id, *sluid; /* as a record has them; sluid: may be NULL */
	uint64_t start_ns, end_ns;
};
/* The job of the run that such a record is of; 0: none. */
uint64_t store_find_run_job(struct store *s, const struct run_question *q);

/* ---- arrivals.c: what all lines have ---- */
uint64_t store_digest(const struct store_line *line); /* of its bytes */
/* By how much the node's clock is ahead, where that is more than a second; else 0: as it was told,
 * and at least so much as what it says it made at @made_ns, or, where nothing was told, its
 * @sequence, lies in the future. */
int64_t store_clock_offset(const struct store_line *line, uint64_t made_ns, uint64_t sequence);
/* As an event, where it is not 0: of each node one in an hour. */
void store_note_clock(struct store *s, const char *cluster, const char *node, int64_t offset_ns,
		      uint64_t now_ns);

/* The node of the records that were stored last. */
void store_close_older_boots(struct store *s);

/* ---- arrivals.c: a line that was stored ---- */
struct stored_line {
	char *text; /* as it was sent, NUL-ended; the caller frees */
	size_t length;
	bool is_closed;
	int64_t clock_offset_ns;
	uint64_t job;
};
/* Read a record's line; without its timeline it is as if that was deleted.  -ENOENT: there is none;
 * -EBADMSG; what else fails is remembered, too. */
int line_read(struct store *s, uint64_t id, bool wants_timeline, struct stored_line *ret);
/* Read the record itself, without a timeline, its times by the server's clock.  NULL: it is gone,
 * or of another version, or that failed.  @ret_line: what is said of it, without the text. */
struct record *line_read_record(struct store *s, uint64_t id, struct stored_line *ret_line);

/* ---- fold.c: from records to jobs ---- */
/* Find or make the record's job, and have it made anew before the commit.  @old_job: the one that
 * it had; 0: none. */
uint64_t store_assign(struct store *s, uint64_t id, const struct record *record, uint64_t old_job,
		      bool *ret_is_new);
/* Make it anew at once, if @record, which has come just now, is its only one: of a new one it is.
 */
void store_fold_new(struct store *s, uint64_t job, struct record *record, bool is_new);
/* Write the numbers of at most @limit @stale jobs to @ret. */
enum store_stale {
	STALE_NOW = 1, /* it is made anew before the commit; of many records it becomes... */
	STALE_LATER = 2, /* ...by store_work() */
	STALE_FAILED = 3, /* that failed: until another record of it comes, or the store is opened
			   */
};
void store_fold(struct store *s, enum store_stale stale, unsigned int limit, struct id_list *ret);
/* Have a record's job, ?1, made anew before the commit. */
#define SQL_MAKE_STALE \
	"UPDATE jobs SET is_stale = 1 WHERE id = (SELECT job FROM records WHERE id = ?1)"

/* What makes each version of a record one row. */
#define STORE_ON_CONFLICT "ON CONFLICT (cluster, node, boot_id, manager, job_id, start_ns)"

/* ---- job_list.c ---- */
/* Which jobs are seen: every query has the condition. */
enum store_sight { SEES_ALL, SEES_OWN, SEES_ACCOUNTS, SIGHT_COUNT };
enum store_sight store_sight_of(struct store *s, const struct store_who *who);
#define SQL_OF_ACCOUNTS(user)                                                                      \
	"(manager, account) IN (SELECT manager, account FROM coordinators WHERE user_name = " user \
	")"
/* " WHERE ...": which of the jobs are wanted, and who sees them; what no filter names is not asked.
 * Its values are the first STORE_FILTER_ARGS. */
#define STORE_FILTER_ARGS 15
void store_print_filter(struct store *s, const struct job_filter *filter,
			const struct store_who *who, FILE *out);
void store_put_filter(const struct job_filter *filter, const struct store_who *who,
		      struct arg args[STORE_FILTER_ARGS]);
size_t store_limit_of(const struct job_filter *filter); /* of rows, whatever it asks for */

/* ---- sums.c ---- */
/* Whether the table of jobs has columns of all these metrics: names with spaces between. */
bool store_has_metrics(const struct store *s, const char *names);
/* The SQL of a job for a word of store_sum_word() that is a text.  NULL: it is none. */
const char *store_sum_text(const char *word);
/* ", " and a sum, followed by @scale: in doubles, and what is more than a column holds in
 * units of 10^9, below 0. */
void store_print_sum(const char *expression, const char *scale, FILE *out);
/* The same as a member of a map.  @is_whole: what is not known is null; else it is left out. False:
 * no number of ours is so large. */
bool store_put_sum(const struct statement *row, int column, const char *name, unsigned int places,
		   bool is_whole, struct document *d);

/* ---- rollups.c ---- */
void store_open_rollups(struct store *s, enum store_mode mode);
/* A job's row is there again; it will change or go. */
void store_roll_job(struct store *s, uint64_t job);
void store_unroll_job(struct store *s, uint64_t job);
void store_drop_empty_rollups(struct store *s); /* before the commit */
void store_rebuild_rollups(struct store *s); /* outside of a transaction */

/* ---- spark.c ---- */
/* Both give @ret; NULL: not known.  A job's is the mean of its nodes. */
const char *store_spark_of_record(const struct record *r, char ret[STORE_SPARK_SIZE]);
const char *store_spark_of_job(struct store *s, uint64_t id, uint64_t start_ns, uint64_t end_ns,
			       char ret[STORE_SPARK_SIZE]);

/* ---- upkeep.c ---- */
/* Close records, with this reason. */
void store_close_records(struct store *s, const struct id_list *ids, const char *why,
			 uint64_t now_ns);
