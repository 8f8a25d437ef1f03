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
	for (size_t i = 0; i < ids->count; i++) {
		for (const char *const *text = texts; *text; text++) {
			int r = store_do(s, err, *text, NUMBER(ids->items[i]), NUMBER(now_ns),
					 TEXT(why));

			if (r < 0)
				return r;
		}
	}
	return 0;
}

int store_close_records(struct store *s, const struct id_list *ids, const char *why,
			uint64_t now_ns, struct error *err)
{
	s->facts.closed += ids->count;
	return run_each(s, closing, ids, now_ns, why, err);
}

/* ---- retention ---- */

/* At most a batch of records, or of events, that arrived before that; the first that finds some
 * ends it. */
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

static int run_task(struct store *s, const struct task *task, const struct store_upkeep *upkeep,
		    struct id_list *ids, struct error *err)
{
	uint64_t before_ns = *number_at(upkeep, task->before);
	int r = store_collect(s, store_ask(s, task->find, ARGS(NUMBER(before_ns), NUMBER(BATCH))),
			      ids, err);

	*number_at(&s->facts, task->counter) += ids->count;
	return r < 0 ? r : run_each(s, task->texts, ids, upkeep->now_ns, task->why, err);
}

static int work(struct store *s, const struct store_upkeep *upkeep, struct id_list *ids,
		struct error *err)
{
	int r = store_begin(s, err);

	for (size_t i = 0; i < ARRAY_SIZE(tasks) && r >= 0 && !ids->count; i++)
		r = run_task(s, &tasks[i], upkeep, ids, err);
	if (r >= 0 && !ids->count)
		r = store_fold_large(s, FOLDS, ids, err);
	if (r >= 0)
		r = store_do(s, err,
			     "DELETE FROM events WHERE id IN "
			     "(SELECT id FROM events WHERE at_ns < ?1 LIMIT ?2)",
			     NUMBER(upkeep->records_ns), NUMBER(BATCH));
	return r < 0 ? r : store_commit(s, err);
}

int store_work(struct store *s, const struct store_upkeep *upkeep, bool *ret_more,
	       struct error *err)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	int r = work(s, upkeep, &ids, err);

	if (r < 0) {
		store_abandon(s);
		return r;
	}
	*ret_more = ids.count > 0;
	return ids.count ? 0 : store_do(s, err, "PRAGMA incremental_vacuum(200)");
}

/* ---- forgetting ---- */

static int forget_batch(struct store *s, const char *user, int64_t uid, uint64_t now_ns,
			size_t *ret_count, struct error *err)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	int r = store_begin(s, err);

	if (r >= 0)
		r = store_collect(
			s,
			store_ask(s,
				  "SELECT id FROM records WHERE user_name = ?1 OR uid = ?2 LIMIT ?3",
				  ARGS(TEXT(user), NUMBER_IF(uid >= 0, uid), NUMBER(BATCH))),
			&ids, err);
	if (r >= 0)
		r = run_each(s, deleting, &ids, now_ns, NULL, err);
	if (r >= 0)
		r = store_commit(s, err);
	if (r < 0)
		store_abandon(s);
	*ret_count = ids.count;
	return r;
}

int store_forget(struct store *s, const char *user, int64_t uid, uint64_t now_ns,
		 uint64_t *ret_records, struct error *err)
{
	uint64_t records = 0;
	char detail[64];
	size_t count;
	int r;

	do {
		r = forget_batch(s, user, uid, now_ns, &count, err);
		records += r < 0 ? 0 : count;
		usleep(PAUSE_US); /* for who waits to write */
	} while (r >= 0 && count);
	/* of whom it was, nothing is said */
	snprintf(detail, sizeof(detail), "%" PRIu64 " records of one user", records);
	if (r >= 0 && records)
		r = store_do(
			s, err,
			"INSERT INTO events (at_ns, kind, detail) VALUES (?1, 'forgotten', ?2)",
			NUMBER(now_ns), TEXT(detail));
	/* what was deleted is overwritten; it may still stand in the log */
	if (r >= 0)
		(void)sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
						NULL);
	*ret_records = records;
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

/* From the record behind *at, which was the last one; *at: 0 at the end. */
static int reindex_batch(struct store *s, uint64_t *at, size_t *ret_count, struct error *err)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	int r = store_collect(s,
			      store_ask(s,
					"SELECT id FROM records WHERE id > ?1 ORDER BY id LIMIT ?2",
					ARGS(NUMBER(*at), NUMBER(BATCH))),
			      &ids, err);

	for (size_t i = 0; i < ids.count && r >= 0; i++)
		r = index_again(s, ids.items[i], err);
	*at = ids.count ? ids.items[ids.count - 1] : 0;
	*ret_count = ids.count;
	if (r >= 0)
		r = store_do(s, err,
			     "INSERT INTO meta (name, value) VALUES ('reindex_at', ?1) "
			     "ON CONFLICT (name) DO UPDATE SET value = ?1",
			     NUMBER(*at));
	return r < 0 || *at ? r
			    : store_do(s, err,
				       "DELETE FROM jobs WHERE NOT EXISTS "
				       "(SELECT 1 FROM records WHERE records.job = jobs.id)");
}

int store_reindex(struct store *s, void (*tell)(void *context, uint64_t done), void *context,
		  struct error *err)
{
	uint64_t at = 0, done = 0;
	size_t count = 0;
	int r = store_get(s,
			  store_ask(s, "SELECT value FROM meta WHERE name = 'reindex_at'", NULL, 0),
			  &at, err);

	/* where the jobs were dropped, numbers of jobs that will be made must mean nothing yet */
	if (r >= 0)
		r = store_do(s, err,
			     "UPDATE records SET job = NULL WHERE NOT EXISTS (SELECT 1 FROM jobs)");
	do {
		if (r >= 0)
			r = store_begin(s, err);
		if (r >= 0)
			r = reindex_batch(s, &at, &count, err);
		if (r >= 0)
			r = store_commit(s, err);
		if (r < 0)
			store_abandon(s);
		done += count;
		if (r >= 0 && tell)
			tell(context, done);
		usleep(PAUSE_US);
	} while (r >= 0 && count);
	return r;
}
