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
	SQL_MAKE_STALE,
	NULL,
};
static const char *const deleting[] = { SQL_MAKE_STALE, "DELETE FROM records WHERE id = ?1", NULL };
static const char *const forgetting[] = {
	"DELETE FROM events WHERE kind = 'closed' AND node = (SELECT node FROM records WHERE id = ?1) "
	"AND job_id = (SELECT job_id FROM records WHERE id = ?1)",
	SQL_MAKE_STALE, "DELETE FROM records WHERE id = ?1", NULL
};
static const char *const deleting_ledger[] = { "DELETE FROM ledger WHERE line = ?1",
					       "DELETE FROM ledger_lines WHERE id = ?1", NULL };
#define RUN_IS_STALE "UPDATE jobs SET is_stale = 1 WHERE id = (SELECT job FROM runs WHERE id = ?1)"
static const char *const deleting_run[] = { RUN_IS_STALE, "DELETE FROM runs WHERE id = ?1", NULL };
static const char *const deleting_prediction[] = { "DELETE FROM predictions WHERE id = ?1", NULL };
static const char *const forgetting_entry[] = {
	"UPDATE ledger SET manager = NULL, job_id = NULL, job_start_ns = NULL, uid = NULL WHERE id = ?1",
	NULL
};
static const char *const deleting_timeline[] = { "UPDATE records SET timeline = NULL WHERE id = ?1",
						 NULL };

static void run_each(struct store *s, const char *const *texts, const struct id_list *ids,
		     uint64_t now_ns, const char *why)
{
	for (size_t i = 0; i < ids->count; i++) {
		for (const char *const *text = texts; *text; text++)
			store_do(s, *text, NUMBER(ids->items[i]), NUMBER(now_ns), TEXT(why));
	}
}

void store_close_records(struct store *s, const struct id_list *ids, const char *why,
			 uint64_t now_ns)
{
	s->facts.closed += ids->count;
	run_each(s, closing, ids, now_ns, why);
}

/* What a batch does: @ids gets what it was done with; none: there is no more. */
typedef void (*batch_function)(struct store *s, const void *context, struct id_list *ids);

static int run_batch(struct store *s, batch_function run, const void *context, size_t *ret_count,
		     struct error *err)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	const struct store_facts before = s->facts;
	int r;

	s->database->begin(s);
	run(s, context, &ids);
	r = store_commit(s, err);
	if (r < 0) {
		store_abandon(s);
		s->facts = before;
	}
	*ret_count = ids.count;
	return r;
}

static int run_batches(struct store *s, batch_function run, const void *context,
		       uint64_t *ret_records, struct error *err)
{
	size_t count;
	int r;

	*ret_records = 0;
	do {
		r = run_batch(s, run, context, &count, err);
		*ret_records += r < 0 ? 0 : count;
		usleep(PAUSE_US); /* others wait to write */
	} while (r >= 0 && count);
	return r;
}

/* ---- retention ---- */

static void work(struct store *s, const void *context, struct id_list *ids)
{
	const struct store_upkeep *upkeep = context;
	const struct task {
		uint64_t before_ns;
		const char *find;
		const char *const *texts;
		uint64_t *counter;
	} tasks[] = {
		{ upkeep->closing_ns,
		  "SELECT id FROM records WHERE final = 0 AND closed IS NULL AND arrived_ns < ?1 LIMIT ?2",
		  closing, &s->facts.closed },
		{ upkeep->timelines_ns,
		  "SELECT id FROM records WHERE timeline IS NOT NULL AND arrived_ns < ?1 LIMIT ?2",
		  deleting_timeline, &s->facts.deleted_timelines },
		{ upkeep->records_ns,
		  "SELECT id FROM records WHERE arrived_ns < ?1 ORDER BY arrived_ns LIMIT ?2",
		  deleting, &s->facts.deleted_records },
		{ upkeep->records_ns,
		  "SELECT id FROM runs WHERE changed_ns < ?1 ORDER BY changed_ns LIMIT ?2",
		  deleting_run, &s->facts.deleted_runs },
		{ upkeep->ledger_ns,
		  "SELECT id FROM ledger_lines WHERE arrived_ns < ?1 ORDER BY arrived_ns LIMIT ?2",
		  deleting_ledger, &s->facts.deleted_ledger },
		{ upkeep->records_ns, "SELECT id FROM predictions WHERE made_ns < ?1 LIMIT ?2",
		  deleting_prediction, &s->facts.deleted_predictions },
	};

	/* the first that finds something ends the batch */
	for (const struct task *t = tasks; t < tasks + ARRAY_SIZE(tasks) && !ids->count; t++) {
		store_find(s, ids, t->find, NUMBER(t->before_ns), NUMBER(BATCH));
		run_each(s, t->texts, ids, upkeep->now_ns, "its checkpoints stopped");
		*t->counter += ids->count;
	}
	store_do(s,
		 "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE at_ns < ?1 LIMIT ?2)",
		 NUMBER(upkeep->records_ns), NUMBER(BATCH));
	store_do(s, "DELETE FROM nodes WHERE told_ns < ?1", NUMBER(upkeep->records_ns));
}

/* ---- jobs of many records ---- */

struct folds {
	unsigned int limit;
	uint64_t first; /* job that was tried first */
	char name[64]; /* its id */
};

static void fold_jobs(struct store *s, const void *context, struct id_list *ids)
{
	struct folds *f = *(struct folds *const *)context;

	store_fold(s, STALE_LATER, f->limit, ids);
	f->first = ids->count ? ids->items[0] : 0;
}

static void pass_over(struct store *s, const void *context, struct id_list *ids UNUSED)
{
	struct folds *f = *(struct folds *const *)context;
	struct statement *row = store_ask(
		s, "UPDATE jobs SET is_stale = 3 WHERE id = ?1 RETURNING job_id", NUMBER(f->first));

	if (store_next(s, row))
		snprintf(f->name, sizeof(f->name), "%s", COLUMN_TEXT(row, 0));
	store_reset(row);
	s->facts.failed_jobs++;
}

/* What fails by the job itself, and not by the database or its disk. */
static bool is_jobs_own(int failure)
{
	return failure == -EBADMSG || failure == -EINVAL || failure == -ENOMEM;
}

/* The database may say too late which of them it was: then the first is tried alone. */
static int fold_some(struct store *s, size_t *ret_count, struct error *err)
{
	struct folds folds = { .limit = FOLDS }, *context = &folds;
	struct error why = {};
	int r = run_batch(s, fold_jobs, &context, ret_count, &why);

	folds.limit = 1;
	if (is_jobs_own(r))
		r = run_batch(s, fold_jobs, &context, ret_count, &why);
	if (!is_jobs_own(r) || !folds.first)
		return r < 0 ? error_set(err, r, "%s", why.text) : 0;
	r = run_batch(s, pass_over, &context, ret_count, err);
	*ret_count = 1; /* others may wait behind it */
	return r < 0 ? r
		     : error_set(err, 0,
				 "job %s keeps its row of before until another record of it comes: "
				 "%s",
				 folds.name, why.text);
}

int store_work(struct store *s, const struct store_upkeep *upkeep, bool *ret_more,
	       struct error *err)
{
	size_t count;
	int r;

	*ret_more = false;
	if (!s->database->may_work(s, upkeep->now_ns))
		return store_told(s, err);
	r = run_batch(s, work, upkeep, &count, err);
	if (r >= 0 && !count)
		r = fold_some(s, &count, err);
	*ret_more = r >= 0 && count > 0;
	if (r < 0 || count)
		return r;
	s->database->tidy(s);
	return store_told(s, err);
}

/* What is deleted of a user: ?1 is the name, ?2 the uid.  Records come last: they are counted. */
static const struct forgotten {
	const char *find;
	const char *const *texts;
} forgotten[] = {
	{ "SELECT id FROM ledger WHERE uid = ?2 LIMIT ?3", forgetting_entry },
	{ "SELECT id FROM runs WHERE user_name = ?1 OR uid = ?2 LIMIT ?3", deleting_run },
	{ "SELECT id FROM predictions WHERE uid = ?2 LIMIT ?3", deleting_prediction },
	{ "SELECT id FROM records WHERE user_name = ?1 OR uid = ?2 LIMIT ?3", forgetting },
};

struct forgetting {
	const struct forgotten *what;
	struct arg user, uid;
};

static void forget_batch(struct store *s, const void *context, struct id_list *ids)
{
	const struct forgetting *f = context;

	store_find(s, ids, f->what->find, f->user, f->uid, NUMBER(BATCH));
	run_each(s, f->what->texts, ids, 0, NULL);
}

int store_forget(struct store *s, const char *user, int64_t uid, uint64_t now_ns,
		 uint64_t *ret_records, struct error *err)
{
	struct forgetting f = { .user = TEXT(user), .uid = NUMBER_IF(uid >= 0, uid) };
	char detail[64];
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(forgotten) && r >= 0; i++) {
		f.what = &forgotten[i];
		r = run_batches(s, forget_batch, &f, ret_records, err);
	}
	if (r < 0)
		return r;
	/* of whom it was, nothing is said */
	snprintf(detail, sizeof(detail), "%" PRIu64 " records of one user", *ret_records);
	if (*ret_records)
		store_do(s, "INSERT INTO events (at_ns, kind, detail) VALUES (?1, 'forgotten', ?2)",
			 NUMBER(now_ns), TEXT(detail));
	s->database->wipe(s);
	return store_told(s, err);
}

/* From the record behind the last one, whose number is kept; 0 at the end. */
static void reindex_batch(struct store *s, const void *context UNUSED, struct id_list *ids)
{
	store_find(s, ids, "SELECT id FROM records WHERE id > ?2 ORDER BY id LIMIT ?1",
		   NUMBER(BATCH), NUMBER(store_read_mark(s, "reindex_at")));
	for (size_t i = 0; i < ids->count && !s->failure; i++) {
		struct stored_line line;
		struct record *record = line_read_record(s, ids->items[i], &line);
		bool is_new;

		if (record) /* else another version wrote it */
			(void)store_assign(s, ids->items[i], record, line.job, &is_new);
		record_free(record);
	}
	store_set_mark(s, "reindex_at", ids->count ? ids->items[ids->count - 1] : 0);
	if (!ids->count)
		store_do(s, "DELETE FROM jobs WHERE NOT EXISTS "
			    "(SELECT 1 FROM records WHERE records.job = jobs.id) AND NOT EXISTS "
			    "(SELECT 1 FROM runs WHERE runs.job = jobs.id)");
}

int store_reindex(struct store *s, uint64_t *ret_records, struct error *err)
{
	int r;

	/* where the jobs were dropped, numbers of jobs that will be made must mean nothing yet, and
	 * runs get theirs first, so that records find them */
	store_execute(
		s,
		"UPDATE records SET job = NULL WHERE NOT EXISTS (SELECT 1 FROM jobs); "
		"UPDATE jobs SET is_stale = 2 WHERE is_measured = 0; "
		"INSERT INTO jobs (cluster, node, manager, job_id, start_ns, end_ns, is_stale) "
		"SELECT cluster, '', manager, job_id, submit_ns, submit_ns, 2 FROM runs "
		"WHERE NOT EXISTS (SELECT 1 FROM jobs); "
		"UPDATE runs SET job = (SELECT MIN(id) FROM jobs WHERE jobs.job_id = runs.job_id "
		"AND jobs.manager = runs.manager AND jobs.cluster = runs.cluster "
		"AND jobs.start_ns = runs.submit_ns) "
		"WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = runs.job)");
	r = run_batches(s, reindex_batch, NULL, ret_records, err);
	if (r >= 0)
		store_rebuild_rollups(s);
	return r < 0 ? r : store_told(s, err);
}
