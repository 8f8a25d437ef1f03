/* SPDX-License-Identifier: MIT */
/*
 * store - the site's database: records as nodes sent them, and the jobs that they make.
 *
 * A record's line is the truth and is given back byte for byte (without its timeline once that is
 * too old).  The columns of jobs, their mounts and steps are an index made of it by the metric
 * table, which store_reindex() makes again.
 *
 * A node's record of a job is known by (cluster, node, boot id, manager, job's id, start); of its
 * versions the one of the greatest sequence is kept, and a final one goes before all checkpoints.
 * Records of one cluster, manager, id and user are one job where their times overlap or lie within
 * 60 s, if the manager gives ids to all its nodes (Slurm, PBS, LSF, Flux); else each is a job.
 *
 * Not thread-safe.  Functions return -ENOSPC: the disk is full; -EBUSY: another process writes
 * for longer than 10 s; -EIO, -EBADMSG: the file cannot be read or is damaged; *err says so in
 * words.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "basic/ids.h"
#include "model/job_filter.h"
#include "model/metric.h"
#include "model/reading.h" /* struct value */
#include "server/store/runs.h"
#include "server/store/tokens.h"

struct document;
struct error;
struct store; /* opaque */

enum store_mode {
	STORE_READ, /* -ENOENT: there is none */
	STORE_MOVE, /* the same as the next, also where a move has not ended */
	STORE_WRITE, /* made where there is none: the file is readable by its owner alone */
};

/* -EINVAL: it is no database of jobmeter, or of a newer one. */
int store_open(const char *path, enum store_mode mode, struct store **ret, struct error *err);
struct store *store_close(struct store *s); /* NULL is fine; returns NULL */
void store_closep(struct store **s);
/* In another database than SQLite's: pg.h. */
struct database;
int store_open_with(const struct database *database, const char *where, enum store_mode mode,
		    struct store **ret, struct error *err);
/* Whether it answers, and could take a record. */
int store_check(struct store *s, struct error *err);

/* ---- what nodes send ---- */

/* All that is put between the two is kept, and is on the disk, when store_commit() returns 0; if it
 * fails, nothing of it is. */
int store_begin(struct store *s, struct error *err);
int store_commit(struct store *s, struct error *err); /* -EBADMSG: a job has no row */
void store_abandon(struct store *s);
/* Until store_abandon() no job is made of what is put: store_work() does it. */
void store_fold_later(struct store *s);

enum store_answer {
	STORE_TAKEN,
	STORE_KNOWN, /* it, or a newer one, is there */
	STORE_REFUSED,
};

struct store_line {
	const char *text; /* a JSON text without a newline */
	size_t length;
	const json_t *root; /* the same, parsed */
	uint64_t arrived_ns; /* since the epoch, as all times here */
	int64_t clock_offset_ns; /* by which the node's clock is ahead... */
	bool is_clock_told; /* ...as the request says; else the offset is 0 and not known */
};

/* Put a line of jobmeter.record/1.  0: *ret says what became of it, *reason why it was refused.
 * Else the transaction is to be abandoned. */
int store_put_record(struct store *s, const struct store_line *line, enum store_answer *ret,
		     struct error *reason);
/* The same of jobmeter.ledger/1 (codec/ledger.h).  Each is taken once, and nothing replaces it. */
int store_put_ledger(struct store *s, const struct store_line *line, enum store_answer *ret,
		     struct error *reason);

/* Store the state of a node, a parsed line of NODE_SCHEMA, in place of the one before.
 * *ret_is_taken: false: it is no such line, and nothing is stored. */
int store_put_node(struct store *s, const json_t *root, uint64_t now_ns, bool *ret_is_taken,
		   struct error *err);

/* ---- queries and their callers ---- */

struct record_field;

struct store_who {
	bool sees_all;
	uint32_t uid; /* else: its jobs are seen... */
	char user[TOKEN_USER_SIZE]; /* ...and those of the accounts that this user coordinates; "":
				       of none */
};

/* Whether jobs of others are among them. */
bool store_sees_others(struct store *s, const struct store_who *who);

#define STORE_FACTS_MAX 16
#define STORE_SPARK_SIZE 33
#define STORE_SPARK_MOST 35 /* of a part of the time: all cores were busy */
#define STORE_MADE 4 /* columns of jobs that the database makes of others */
#define STORE_LIMIT_MAX 10000 /* jobs of one list at most, whatever the limit of the request */

/* A row of jobs; NULL: absent.  Holds until the call-back returns. */
struct store_job {
	const char *cluster, *node; /* node: "" where it ran on several */
	const char *manager, *id, *name, *user, *account, *partition, *state, *reason;
	int64_t uid; /* -1: not known */
	bool is_final;
	bool is_unmeasured; /* no node said anything of it: the manager alone */
	bool is_known; /* to the manager: @run says what of it is no column of old */
	bool waits; /* it has not begun, and may never: start is when it was submitted */
	struct store_run run;
	uint64_t start_ns, end_ns; /* end: 0 of one that has none */
	struct value elapsed_ns, nodes;
	struct value exit_code, signal; /* of its command, where that is known */
	const struct value *values; /* store_value_count() of them */
	struct value made[STORE_MADE];
	const char *spark; /* the busy share of its cores over its time, a digit for each part */
	struct store_job_fact {
		const char *text; /* NULL: absent, or it is a number */
		struct value number;
	} facts[STORE_FACTS_MAX]; /* store_fact_count() of them */
};

/* The value of a digit of a job's spark; -1: not measured. */
int store_spark_level(char digit);

/* Facts of a job with a column each: FACT_COLUMN of record_fields[]. */
size_t store_fact_count(void);
const struct record_field *store_fact(size_t i);

/* The scalars of a job: its metrics, and sums over the mounts that hold data and over kinds of
 * sockets. */
size_t store_value_count(void);
const char *store_value_name(size_t i); /* "cpu.user_seconds", "io.read.bytes" */
const struct metric *store_value_metric(size_t i);

/* The columns of a list of jobs: texts, facts and numbers of a job, and its metrics. */
struct store_column {
	const char *name; /* "user", "cpu.user_seconds" */
	enum store_column_type { STORE_TEXT, STORE_NUMBER, STORE_TIME, STORE_BOOLEAN } type;
	const char *help;
};
#define STORE_COLUMNS_MAX 256
size_t store_column_count(void);
struct store_column store_column(size_t i);
bool store_can_order(size_t column); /* times and numbers */
/* A number by its column's name: a metric, or what is made of some, in stored units (an efficiency
 * times 10,000).  As far as the metrics were read. */
struct value store_job_number(const struct store_job *job, const char *name);
/* A number in units of 10^-@places as a member of a map; null: it is not known. */
void store_put_value(struct document *d, const char *key, struct value value, unsigned int places);
/* The job's value likewise. */
void store_job_put(const struct store_job *job, size_t column, struct document *d);

/* The newest first.  @take may be called for none; negative ends it and is returned.
 * *ret_more (may be NULL): there are more than the limit.  -ETIME: it took longer than 5 s. */
int store_list_jobs(struct store *s, const struct job_filter *filter, const struct store_who *who,
		    int (*take)(void *context, const struct store_job *job), void *context,
		    bool *ret_more, struct error *err);
/* The same as the members "jobs" and "more" of a map, as GET /v1/jobs has them. */
int store_format_jobs(struct store *s, const struct job_filter *filter, const struct store_who *who,
		      struct document *d, struct error *err);
/* A job as a map of JSON, with all columns. */
void store_job_format(const struct store_job *job, struct document *d);

/* A page of a list in some order, whose last key is unique: jobs of one moment fall on one page
 * each. */
struct store_page {
	const bool *columns; /* store_column_count() of them: the metrics that are read */
	size_t order; /* a column of store_can_order() */
	bool is_ascending;
	const char *after; /* what *ret_next was before; NULL: from the first one on */
};
/* *ret_next: where the next page begins, which the caller frees; NULL: there is none.  @filter's
 * offset means nothing.  -EINVAL: @after is no such text. */
int store_page_jobs(struct store *s, const struct job_filter *filter, const struct store_page *page,
		    const struct store_who *who,
		    int (*take)(void *context, const struct store_job *job), void *context,
		    char **ret_next, struct error *err);

/* ---- sums ---- */

/* What jobs are added up by: "user", "account"... "day"; NULL behind the last. */
const char *store_sum_word(size_t i);
/* The columns of the sums by that word, the first of which has its name. */
size_t store_sum_columns(const char *by, struct store_column ret[STORE_COLUMNS_MAX]);
/* The @wanted of these columns (those that are no sums: anyway) as the list @name of a map, those
 * of most jobs first (days: the earliest), and as "more" whether there are more than the filter's
 * limit.  A sum that no number holds is null.  -ETIME: as above. */
int store_format_sums(struct store *s, const char *by, const char *name, const bool *wanted,
		      const struct job_filter *filter, const struct store_who *who,
		      struct document *d, struct error *err);
/* The same rows as numbers: of the sums of these @names, in base units, NAN where none is known. */
#define STORE_SUMS_MAX 8
struct store_sums {
	const char *key; /* NULL: they have none, or it is a time */
	uint64_t time_ns, jobs;
	double values[STORE_SUMS_MAX];
};
int store_list_sums(struct store *s, const char *by, const char *const *names, size_t count,
		    const struct job_filter *filter, const struct store_who *who,
		    int (*take)(void *context, const struct store_sums *row), void *context,
		    struct error *err);
/* The same of all sums, as the member "sums" of a map: the rows of `jobmeter jobs --by`; what is
 * not known is left out.  -ENOTSUP: @by is no word of store_sum_word(); -ETIME. */
int store_format_counters(struct store *s, const char *by, const struct job_filter *filter,
			  const struct store_who *who, struct document *d, struct error *err);
/* Of jobs that know both: for the mean power of a core. */
#define STORE_RATED_JOULES "rated.joules"
#define STORE_RATED_CORE_SECONDS "rated.core_seconds"
/* The same of the nodes on which jobs ran in the filter's time, as "nodes" and "more". */
size_t store_node_columns(struct store_column ret[STORE_COLUMNS_MAX]);
int store_format_nodes(struct store *s, const struct job_filter *filter,
		       const struct store_who *who, struct document *d, struct error *err);

/* How many jobs have a number up to each of @count ascending @bounds, then above the last, and then
 * of how many it is not known, in @ret.  -ETIME: as above. */
int store_count_jobs(struct store *s, enum job_number number, const uint64_t *bounds, size_t count,
		     const struct job_filter *filter, const struct store_who *who, uint64_t *ret,
		     struct error *err);

enum store_node_value {
	STORE_NODE_CPUS,
	STORE_NODE_LOAD, /* in hundredths */
	STORE_NODE_MEMORY, /* bytes */
	STORE_NODE_AVAILABLE,
	STORE_NODE_MISSING, /* kinds of numbers that are not measured there */
	STORE_NODE_LOST, /* events */
	STORE_NODE_VALUES,
};
struct store_node {
	const char *cluster, *node;
	uint64_t jobs, running; /* running: those that go on by the node's records */
	uint64_t last_ns; /* when it sent something last */
	struct value values[STORE_NODE_VALUES]; /* as it said then */
	const char *lacks; /* what is not measured there, in lines; not all where there is no room;
			      NULL: not known */
	struct value power_mw; /* of the newest interval of its ledger; not known: it sends none */
	struct value unattributed_mw; /* of that what is no job's */
};
/* The nodes that sent something since then, or of them @node alone (NULL: all), the one that has
 * been silent for longest first; their power where an interval of the ledger came since @power_ns.
 * For who sees all.  -ETIME: as above. */
int store_list_nodes(struct store *s, const char *node, uint64_t since_ns, uint64_t power_ns,
		     size_t limit, void (*take)(void *context, const struct store_node *node),
		     void *context, struct error *err);

enum store_loads { LOADS_OF_MOUNTS, LOADS_OF_USERS, LOADS_OF_JOBS };
struct store_mount {
	const char *mount, *fstype; /* fstype: may be NULL */
	uint64_t jobs, read_bytes, write_bytes, meta_calls; /* not known: 0 */
	struct value now; /* bytes per second of the jobs that run, each over its time so far */
	struct store_job job; /* who and what of it alone; of users the name alone */
};
/* What jobs did on each mount, or on @mount of which users or jobs did it: those who do most bytes
 * now first, then those with most bytes.  -ETIME: as above. */
int store_list_mounts(struct store *s, enum store_loads of, const struct job_filter *filter,
		      const struct store_who *who, const char *mount,
		      void (*take)(void *context, const struct store_mount *row), void *context,
		      struct error *err);

/* ---- usage, of roll-ups that are kept as jobs come ---- */

const char *store_usage_word(size_t i); /* "user", "account"...; NULL behind the last */
const char *store_usage_period(size_t i); /* "day", "week", "month" */
size_t store_usage_columns(struct store_column ret[STORE_COLUMNS_MAX]);
/* As store_format_sums(), as "usage" and "more", by one of these words: the earliest @period first
 * (NULL: all of the time in one row), in it those of most core time.  Of @filter count the user,
 * the account, the partition, the limit, and its times, of jobs that began on the days from the one
 * to the other. */
int store_format_usage(struct store *s, const char *by, const char *period,
		       const struct job_filter *filter, const struct store_who *who,
		       struct document *d, struct error *err);
/* How many roll-ups are not those that the jobs make; 0: all are. */
int store_check_rollups(struct store *s, uint64_t *ret_wrong, struct error *err);

/* ---- records ---- */

struct store_question {
	const char *id;
	const char *node, *manager, *cluster; /* NULL: any */
	uint64_t start_ns; /* 0: any */
	bool tells_clock; /* as below, of store_read_records() */
};

/* The records of the newest job of that id: their numbers, for store_read_line().  -ENOENT: there
 * is none, or none that @who sees. */
int store_find_records(struct store *s, const struct store_question *question,
		       const struct store_who *who, struct id_list *ret, struct error *err);
/* A record's line, NUL-ended, without a newline; the caller frees.  @tells_clock: where its node's
 * clock was off, a line of CLOCK_SCHEMA (records.h) comes before it.  -ENOENT: it is gone. */
int store_read_line(struct store *s, uint64_t record, bool tells_clock, char **ret,
		    size_t *ret_length, struct error *err);
/* Both. */
int store_read_records(struct store *s, const struct store_question *question,
		       const struct store_who *who,
		       int (*take)(void *context, const char *line, size_t length), void *context,
		       struct error *err);

struct store_ledger_more { /* adds members to an entry */
	void (*put)(void *context, uint64_t start_ns, uint64_t microjoules, struct document *d);
	void *context;
};
/* Entries of the ledger as the members "entries" and "more" of a map, the newest interval first, of
 * jobs that @who sees.  Of @filter count the node, the manager, the id, the limit and the offset,
 * and its times, of intervals that end behind the one and begin before the other.  @more may be
 * NULL. -ETIME: it took longer than 5 s. */
int store_format_ledger(struct store *s, const struct job_filter *filter,
			const struct store_who *who, const struct store_ledger_more *more,
			struct document *d, struct error *err);

/* An entry of the ledger beside its job; texts hold until the call-back returns. */
struct store_share {
	const char *key; /* what jobs are added up by; "": they have none; NULL: jobs one by one */
	uint64_t job; /* another number for another job */
	const char *cluster, *manager, *id;
	uint64_t job_start_ns;
	struct value core_ns; /* of the job: its cores, for as long as it took */
	bool has_entry; /* else the job has none, and the rest is nothing */
	bool is_estimated;
	uint64_t start_ns, microjoules;
};
/* Entries of the jobs that match, those of a job together, and of a key its jobs.  @by: a word of
 * store_sum_word() that is no time, and the filter's limit means nothing; NULL: jobs as
 * store_list_jobs() has them.  -ENOTSUP: it is none; -ETIME: as above. */
int store_read_shares(struct store *s, const char *by, const struct job_filter *filter,
		      const struct store_who *who,
		      int (*take)(void *context, const struct store_share *share), void *context,
		      struct error *err);

/* ---- predictions: what was said of a job when it was submitted ---- */

struct store_prediction { /* of one target */
	const char *job_id, *target, *model; /* held until the call-back returns */
	uint32_t uid;
	uint64_t made_ns;
	double value, low, high; /* NAN: not known */
};

/* In a transaction of the caller's: store_begin(), store_commit(). */
void store_put_prediction(struct store *s, const struct store_prediction *prediction);
/* The newest of those that @who sees. */
int store_list_predictions(struct store *s, const struct store_who *who, size_t limit,
			   int (*take)(void *context, const struct store_prediction *prediction),
			   void *context, struct error *err);

/* ---- upkeep ---- */

struct store_upkeep {
	uint64_t now_ns;
	uint64_t closing_ns; /* checkpoints that arrived before: their jobs are closed; 0: none */
	uint64_t timelines_ns, records_ns, ledger_ns; /* what arrived before is deleted; 0: nothing
						       */
};

/* One small batch of what is to be done, in a transaction of its own.  *ret_more: there is more.
 * A job that cannot be made of its records is passed over: *err says so, and it is no failure. */
int store_work(struct store *s, const struct store_upkeep *upkeep, bool *ret_more,
	       struct error *err);

/* Delete all records of a user, by name or number, in small batches.  Entries of his in the ledger
 * keep their joules, so that it adds up, and lose their user and job. */
int store_forget(struct store *s, const char *user, int64_t uid, uint64_t now_ns,
		 uint64_t *ret_records, struct error *err);

/* Make the index again of all records, from where an earlier one was broken off. */
int store_reindex(struct store *s, uint64_t *ret_records, struct error *err);

/* A copy of all that is committed, while others go on writing; it takes the place of @path when
 * it is whole. */
int store_backup(struct store *s, const char *path, struct error *err);

/* Copy all of @from, where nothing writes meanwhile, into @to, which is empty or has a part of it:
 * what was broken off goes on where it was.  -EBADMSG: it is not the same there, by count and hash;
 * -EEXIST: other records are there.  What was compared is printed on @out. */
int store_move(struct store *from, struct store *to, FILE *out, struct error *err);

struct store_facts {
	uint64_t records, jobs; /* 0 unless they are counted, which takes its time */
	uint64_t bytes; /* of the file, without its log */
	/* since it was opened */
	uint64_t closed, failed_jobs, deleted_timelines, deleted_records, deleted_ledger,
		deleted_runs, deleted_predictions;
};
/* Of these what was counted by this one since it was opened. */
const struct store_facts *store_counted(const struct store *s);
int store_read_facts(struct store *s, bool counts_rows, struct store_facts *ret, struct error *err);
