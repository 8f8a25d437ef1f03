/* SPDX-License-Identifier: MIT */
/* What is done beside: jobs are closed, what is old or unwanted is deleted, the index made anew. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/record.h"
#include "server/store/store_internal.h"

#define BATCH 100 /* rows of a transaction: others write in between */
#define FOLDS 10 /* jobs of many records */
#define PAUSE_US 1000

/* ---- what is done with one record: ?1; ?2 is now, ?3 why ---- */

static const char *const closing[] = {
	"INSERT INTO events (at_ns, kind, cluster, node, manager, job_id, detail) "
	"SELECT ?2, 'closed', cluster, node, manager, job_id, ?3 FROM records WHERE id = ?1",
	"UPDATE records SET closed = ?3 WHERE id = ?1",
	SQL_WAIT_JOB_OF,
	NULL,
};
static const char *const deleting[] = { SQL_WAIT_JOB_OF, "DELETE FROM records WHERE id = ?1",
					NULL };
static const char *const deleting_timeline[] = { "UPDATE records SET timeline = NULL WHERE id = ?1",
						 NULL };

static int run_each(struct store *s, const char *const *texts, const struct id_list *ids,
		    uint64_t now_ns, const char *why, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < ids->count; i++) {
		for (const char *const *text = texts; *text && r >= 0; text++)
			r = store_do(s, err, *text, NUMBER(ids->items[i]), NUMBER(now_ns),
				     TEXT(why));
	}
	return r;
}

int store_close_records(struct store *s, const struct id_list *ids, const char *why,
			uint64_t now_ns, struct error *err)
{
	s->facts.closed += ids->count;
	return run_each(s, closing, ids, now_ns, why, err);
}

/* ---- batches ---- */

/* What a batch does: @ids gets what it was done with; none: there is no more. */
typedef int (*batch_function)(struct store *s, const void *context, struct id_list *ids,
			      struct error *err);

static int run_batch(struct store *s, batch_function run, const void *context, size_t *ret_count,
		     struct error *err)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	int r = store_begin(s, err);

	if (r >= 0)
		r = run(s, context, &ids, err);
	if (r >= 0)
		r = store_commit(s, err);
	if (r < 0)
		store_abandon(s);
	*ret_count = ids.count;
	return r;
}

static int run_batches(struct store *s, batch_function run, const void *context,
		       void (*tell)(void *context, uint64_t done), void *tell_context,
		       uint64_t *ret_done, struct error *err)
{
	size_t count;
	int r;

	*ret_done = 0;
	do {
		r = run_batch(s, run, context, &count, err);
		*ret_done += r < 0 ? 0 : count;
		if (tell)
			tell(tell_context, *ret_done);
		usleep(PAUSE_US); /* for who waits to write */
	} while (r >= 0 && count);
	return r;
}

/* ---- retention ---- */

/* The first that finds records that arrived before that ends a batch. */
static const struct task {
	size_t before; /* offset in struct store_upkeep: 0 there: nothing */
	const char *find;
	const char *const *texts;
	const char *why;
	size_t counter; /* offset in struct store_facts */
} tasks[] = {
#define BEFORE(member) offsetof(struct store_upkeep, member)
#define COUNTER(member) offsetof(struct store_facts, member)
	{ BEFORE(closing_ns),
	  "SELECT id FROM records WHERE final = 0 AND closed IS NULL AND arrived_ns < ?1 LIMIT ?2",
	  closing, "its checkpoints stopped", COUNTER(closed) },
	{ BEFORE(timelines_ns),
	  "SELECT id FROM records WHERE timeline IS NOT NULL AND arrived_ns < ?1 LIMIT ?2",
	  deleting_timeline, NULL, COUNTER(deleted_timelines) },
	{ BEFORE(records_ns),
	  "SELECT id FROM records WHERE arrived_ns < ?1 ORDER BY arrived_ns LIMIT ?2", deleting,
	  NULL, COUNTER(deleted_records) },
};

static uint64_t *number_at(const void *of, size_t offset)
{
	return (uint64_t *)(void *)((char *)of + offset);
}

static int work(struct store *s, const void *context, struct id_list *ids, struct error *err)
{
	const struct store_upkeep *upkeep = context;
	int r = 0;

	for (const struct task *t = tasks; t < tasks + ARRAY_SIZE(tasks) && !ids->count; t++) {
		sqlite3_stmt *found = store_ask(s, t->find, NUMBER(*number_at(upkeep, t->before)),
						NUMBER(BATCH));

		r = store_collect(s, found, ids, err);
		if (r >= 0)
			r = run_each(s, t->texts, ids, upkeep->now_ns, t->why, err);
		if (r < 0)
			return r;
		*number_at(&s->facts, t->counter) += ids->count;
	}
	if (!ids->count)
		r = store_fold(s, STALE_LATER, FOLDS, ids, err);
	if (r < 0)
		return r;
	return store_do(
		s, err,
		"DELETE FROM events WHERE id IN (SELECT id FROM events WHERE at_ns < ?1 LIMIT ?2)",
		NUMBER(upkeep->records_ns), NUMBER(BATCH));
}

int store_work(struct store *s, const struct store_upkeep *upkeep, bool *ret_more,
	       struct error *err)
{
	size_t count = 0;
	int r = run_batch(s, work, upkeep, &count, err);

	*ret_more = count > 0;
	return r < 0 || count ? r : store_execute(s, "PRAGMA incremental_vacuum(200)", err);
}

/* ---- forgetting ---- */

struct person {
	const char *user;
	int64_t uid; /* -1: not known */
};

static int forget_batch(struct store *s, const void *context, struct id_list *ids,
			struct error *err)
{
	const struct person *person = context;
	sqlite3_stmt *found = store_ask(
		s, "SELECT id FROM records WHERE user_name = ?1 OR uid = ?2 LIMIT ?3",
		TEXT(person->user), NUMBER_IF(person->uid >= 0, person->uid), NUMBER(BATCH));
	int r = store_collect(s, found, ids, err);

	return r < 0 ? r : run_each(s, deleting, ids, 0, NULL, err);
}

int store_forget(struct store *s, const char *user, int64_t uid, uint64_t now_ns,
		 uint64_t *ret_records, struct error *err)
{
	const struct person person = { user, uid };
	char detail[64];
	int r = run_batches(s, forget_batch, &person, NULL, NULL, ret_records, err);

	/* of whom it was, nothing is said */
	snprintf(detail, sizeof(detail), "%" PRIu64 " records of one user", *ret_records);
	if (r >= 0 && *ret_records)
		r = store_do(
			s, err,
			"INSERT INTO events (at_ns, kind, detail) VALUES (?1, 'forgotten', ?2)",
			NUMBER(now_ns), TEXT(detail));
	/* what was deleted is overwritten; it may still stand in the log */
	if (r >= 0)
		(void)sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
						NULL);
	return r;
}

/* ---- the index anew ---- */

/* What another version wrote, or is gone meanwhile, is left alone. */
static int index_again(struct store *s, uint64_t id, struct error *err)
{
	_cleanup_(record_freep) struct record *record = NULL;
	struct stored_line line = {};
	uint64_t job;
	int r = line_read(s, id, &line, err);

	if (r >= 0)
		r = line_parse(&line, &record, err);
	free(line.text);
	if (r >= 0)
		return store_assign(s, id, record, line.job, &job, err);
	return r == -EINVAL || r == -EBADMSG || r == -ENOENT ? 0 : r;
}

/* From the record behind the last one, whose number is kept; 0 at the end. */
static int reindex_batch(struct store *s, const void *context UNUSED, struct id_list *ids,
			 struct error *err)
{
	int r = store_collect(
		s,
		store_ask(s,
			  "SELECT id FROM records WHERE id > COALESCE((SELECT value FROM meta "
			  "WHERE name = 'reindex_at'), 0) ORDER BY id LIMIT ?1",
			  NUMBER(BATCH)),
		ids, err);

	for (size_t i = 0; i < ids->count && r >= 0; i++)
		r = index_again(s, ids->items[i], err);
	if (r >= 0)
		r = store_do(s, err,
			     "INSERT INTO meta (name, value) VALUES ('reindex_at', ?1) "
			     "ON CONFLICT (name) DO UPDATE SET value = ?1",
			     NUMBER(ids->count ? ids->items[ids->count - 1] : 0));
	if (r < 0 || ids->count)
		return r;
	return store_execute(s,
			     "DELETE FROM jobs WHERE NOT EXISTS "
			     "(SELECT 1 FROM records WHERE records.job = jobs.id)",
			     err);
}

int store_reindex(struct store *s, void (*tell)(void *context, uint64_t done), void *context,
		  struct error *err)
{
	uint64_t done;
	/* where the jobs were dropped, numbers of jobs that will be made must mean nothing yet */
	int r = store_execute(
		s, "UPDATE records SET job = NULL WHERE NOT EXISTS (SELECT 1 FROM jobs)", err);

	return r < 0 ? r : run_batches(s, reindex_batch, NULL, tell, context, &done, err);
}
