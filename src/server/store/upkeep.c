/* SPDX-License-Identifier: MIT */
/* What is done beside: jobs are closed, what is old or unwanted is deleted, the index made anew. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/record.h"
#include "server/store/store_internal.h"

#define BATCH 100 /* rows of a transaction: others write in between */
#define FOLDS 10 /* jobs of many records */
#define PAUSE_US 1000

/* ---- events ---- */

int store_add_event(struct store *s, const struct event *event, struct error *err)
{
	const char *const texts[] = { event->kind,    event->cluster, event->node,
				      event->manager, event->job_id,  event->detail };
	sqlite3_stmt *statement = store_sql(s, SQL_ADD_EVENT);

	store_bind_number(statement, 1, event->at_ns);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		store_bind_text(statement, (int)i + 2, texts[i]);
	return store_run(s, statement, err);
}

/* ---- one record, by its number ---- */

struct row { /* whose texts hold until the statement is run again */
	sqlite3_stmt *statement;
	uint64_t job;
	struct event event;
};

/* 1: there is such a record. */
static int read_row(struct store *s, uint64_t id, struct row *ret, struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, SQL_READ_RECORD);
	int r;

	store_bind_number(statement, 1, id);
	r = store_step(s, statement, err);
	if (r <= 0)
		return r;
	*ret = (struct row){
		.statement = statement,
		.job = store_column_number(statement, 8),
		.event = { .cluster = store_column_text(statement, 4),
			   .node = store_column_text(statement, 5),
			   .manager = store_column_text(statement, 6),
			   .job_id = store_column_text(statement, 7) },
	};
	return 1;
}

static int close_record(struct store *s, uint64_t id, const char *why, uint64_t now_ns,
			struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, SQL_CLOSE_RECORD);
	struct row row;
	int r = read_row(s, id, &row, err);

	if (r <= 0)
		return r;
	row.event.kind = "closed";
	row.event.at_ns = now_ns;
	row.event.detail = why;
	r = store_add_event(s, &row.event, err);
	sqlite3_reset(row.statement);
	store_bind_number(statement, 1, id);
	store_bind_text(statement, 2, why);
	if (r >= 0)
		r = store_run(s, statement, err);
	if (r >= 0)
		r = store_touch(s, row.job, NULL, err);
	s->facts.closed++;
	return r;
}

int store_close_records(struct store *s, const struct id_list *ids, const char *why,
			uint64_t now_ns, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < ids->count && r >= 0; i++)
		r = close_record(s, ids->items[i], why, now_ns, err);
	return r;
}

static int run_on(struct store *s, enum statement which, uint64_t id, struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, which);

	store_bind_number(statement, 1, id);
	return store_run(s, statement, err);
}

static int delete_record(struct store *s, uint64_t id, struct error *err)
{
	struct row row;
	int r = read_row(s, id, &row, err);

	if (r <= 0)
		return r;
	sqlite3_reset(row.statement);
	r = run_on(s, SQL_DELETE_RECORD, id, err);
	return r < 0 ? r : store_touch(s, row.job, NULL, err);
}

static int delete_records(struct store *s, const struct id_list *ids, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < ids->count && r >= 0; i++)
		r = delete_record(s, ids->items[i], err);
	s->facts.deleted_records += ids->count;
	return r;
}

/* ---- retention ---- */

/* Numbers of at most a batch of records that arrived before @before_ns. */
static int find_before(struct store *s, enum statement which, uint64_t before_ns,
		       struct id_list *ret, struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, which);

	ret->count = 0;
	if (!before_ns)
		return 0;
	store_bind_number(statement, 1, before_ns);
	store_bind_number(statement, 2, BATCH);
	return store_collect(s, statement, ret, err);
}

static int close_stalled(struct store *s, const struct store_upkeep *upkeep, struct id_list *ids,
			 struct error *err)
{
	int r = find_before(s, SQL_FIND_STALLED, upkeep->closing_ns, ids, err);

	return r < 0 ? r
		     : store_close_records(s, ids, "its checkpoints stopped", upkeep->now_ns, err);
}

static int delete_timelines(struct store *s, const struct store_upkeep *upkeep, struct id_list *ids,
			    struct error *err)
{
	int r = find_before(s, SQL_FIND_OLD_TIMELINES, upkeep->timelines_ns, ids, err);

	for (size_t i = 0; i < ids->count && r >= 0; i++)
		r = run_on(s, SQL_DELETE_TIMELINE, ids->items[i], err);
	s->facts.deleted_timelines += ids->count;
	return r;
}

static int delete_old(struct store *s, const struct store_upkeep *upkeep, struct id_list *ids,
		      struct error *err)
{
	sqlite3_stmt *statement;
	int r = find_before(s, SQL_FIND_OLD_RECORDS, upkeep->records_ns, ids, err);

	if (r >= 0)
		r = delete_records(s, ids, err);
	if (r < 0 || !upkeep->records_ns)
		return r;
	statement = store_sql(s, SQL_DELETE_EVENTS);
	store_bind_number(statement, 1, upkeep->records_ns);
	store_bind_number(statement, 2, BATCH);
	return store_run(s, statement, err);
}

static int fold_stale(struct store *s, const struct store_upkeep *upkeep UNUSED,
		      struct id_list *ids, struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, SQL_FIND_STALE_JOBS);
	int r;

	ids->count = 0;
	store_bind_number(statement, 1, FOLDS);
	r = store_collect(s, statement, ids, err);
	for (size_t i = 0; i < ids->count && r >= 0; i++)
		r = store_fold(s, ids->items[i], err);
	return r;
}

int store_work(struct store *s, const struct store_upkeep *upkeep, bool *ret_more,
	       struct error *err)
{
	static int (*const tasks[])(
		struct store * s, const struct store_upkeep *upkeep, struct id_list *ids,
		struct error *err) = { close_stalled, delete_timelines, delete_old, fold_stale };
	_cleanup_(id_list_clear) struct id_list ids = {};
	size_t done = 0;
	int r = store_begin(s, err);

	for (size_t i = 0; i < ARRAY_SIZE(tasks) && r >= 0 && !done; i++) {
		r = tasks[i](s, upkeep, &ids, err);
		done = ids.count;
	}
	if (r >= 0)
		r = store_commit(s, err);
	if (r < 0) {
		store_abandon(s);
		return r;
	}
	*ret_more = done > 0;
	return done ? 0 : store_run(s, store_sql(s, SQL_VACUUM), err);
}

/* ---- forgetting ---- */

static int forget_batch(struct store *s, const char *user, int64_t uid, size_t *ret_count,
			struct error *err)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	sqlite3_stmt *statement;
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	statement = store_sql(s, SQL_FIND_USER_RECORDS);
	store_bind_text(statement, 1, user);
	if (uid >= 0)
		store_bind_number(statement, 2, (uint64_t)uid);
	store_bind_number(statement, 3, BATCH);
	r = store_collect(s, statement, &ids, err);
	if (r >= 0)
		r = delete_records(s, &ids, err);
	if (r >= 0)
		r = store_commit(s, err);
	if (r < 0)
		store_abandon(s);
	*ret_count = ids.count;
	return r;
}

/* Of whom it was, nothing is said. */
static int note_forgotten(struct store *s, uint64_t now_ns, uint64_t records, struct error *err)
{
	char detail[64];
	const struct event event = { .kind = "forgotten", .at_ns = now_ns, .detail = detail };

	snprintf(detail, sizeof(detail), "%" PRIu64 " records of one user", records);
	return store_add_event(s, &event, err);
}

int store_forget(struct store *s, const char *user, int64_t uid, uint64_t now_ns,
		 uint64_t *ret_records, struct error *err)
{
	uint64_t records = 0;
	size_t count;
	int r;

	do {
		r = forget_batch(s, user, uid, &count, err);
		records += r < 0 ? 0 : count;
		usleep(PAUSE_US); /* for who waits to write */
	} while (r >= 0 && count);
	if (r >= 0 && records)
		r = note_forgotten(s, now_ns, records, err);
	/* what was deleted is overwritten; it may still stand in the log */
	if (r >= 0)
		(void)sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
						NULL);
	*ret_records = records;
	return r;
}

/* ---- the index anew ---- */

#define REINDEX_AT "reindex_at" /* the number of the record that was indexed last */

static int index_again(struct store *s, uint64_t id, struct error *err)
{
	_cleanup_(record_freep) struct record *record = NULL;
	_cleanup_free_ char *line = NULL;
	struct record_key key = { .id = id };
	struct row row;
	size_t length;
	int r = store_read_line(s, id, &line, &length, err);

	if (r >= 0)
		r = line_parse(line, length, &record, err);
	if (r == -EINVAL || r == -EBADMSG || r == -ENOENT)
		return 0; /* of another version; or gone meanwhile */
	if (r >= 0)
		r = read_row(s, id, &row, err);
	if (r <= 0)
		return r;
	key.cluster = record->cluster ? record->cluster : "";
	key.node = record->node;
	key.manager = record->job.manager;
	key.job_id = record->job.id;
	key.record = record;
	key.old_job = row.job;
	sqlite3_reset(row.statement);
	return store_assign(s, &key, err);
}

static int get_meta(struct store *s, const char *name, uint64_t *ret, struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, SQL_GET_META);
	int r;

	store_bind_text(statement, 1, name);
	r = store_step(s, statement, err);
	*ret = r > 0 ? store_column_number(statement, 0) : 0;
	if (statement)
		sqlite3_reset(statement);
	return r < 0 ? r : 0;
}

static int set_meta(struct store *s, const char *name, uint64_t value, struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, value ? SQL_SET_META : SQL_DELETE_META);

	store_bind_text(statement, 1, name);
	if (value)
		store_bind_number(statement, 2, value);
	return store_run(s, statement, err);
}

static int reindex_batch(struct store *s, uint64_t *at, size_t *ret_count, struct error *err)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	sqlite3_stmt *statement = store_sql(s, SQL_FIND_NEXT_RECORDS);
	int r;

	store_bind_number(statement, 1, *at);
	store_bind_number(statement, 2, BATCH);
	r = store_collect(s, statement, &ids, err);
	for (size_t i = 0; i < ids.count && r >= 0; i++)
		r = index_again(s, ids.items[i], err);
	if (ids.count)
		*at = ids.items[ids.count - 1];
	*ret_count = ids.count;
	if (r >= 0)
		r = set_meta(s, REINDEX_AT, ids.count ? *at : 0, err);
	return r < 0 || ids.count ? r : store_run(s, store_sql(s, SQL_DELETE_ORPHANS), err);
}

int store_reindex(struct store *s, void (*tell)(void *context, uint64_t done), void *context,
		  struct error *err)
{
	uint64_t at = 0, done = 0;
	size_t count = 0;
	int r = get_meta(s, REINDEX_AT, &at, err);

	/* where the jobs were dropped, numbers of jobs that will be made must mean nothing yet */
	if (r >= 0)
		r = store_run(s, store_sql(s, SQL_FORGET_JOBS), err);
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
