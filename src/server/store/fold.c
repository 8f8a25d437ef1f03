/* SPDX-License-Identifier: MIT */
/*
 * Which records are one job, and what its row says: always made of its records, never of a row
 * that was there, so that it is the same in whatever order they came.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/classes.h"
#include "analysis/insights.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "codec/records.h"
#include "model/record.h"
#include "server/store/store_internal.h"

#define NEAR_NS UINT64_C(60000000000) /* apart, and yet one job: nodes begin and end one by one */
#define FOLDED_NOW 8 /* records of a job; of more it waits, since each of them comes here */

/* Whose ids are those of jobs on all their nodes. */
static const char *const site_managers[] = { "slurm", "pbs", "lsf", "flux" };

static bool is_site_manager(const char *manager)
{
	for (size_t i = 0; i < ARRAY_SIZE(site_managers); i++) {
		if (strcmp(manager, site_managers[i]) == 0)
			return true;
	}
	return false;
}

uint64_t store_end_of(const struct record *record)
{
	uint64_t start_ns = record->time.start_ns, elapsed_ns = record->time.elapsed_ns;

	if (record->time.end_ns)
		return MAX(record->time.end_ns, start_ns);
	return elapsed_ns > INT64_MAX - start_ns ? INT64_MAX : start_ns + elapsed_ns;
}

/* ---- to which job it belongs ---- */

static int find_jobs(struct store *s, const struct record_key *key, struct id_list *ret,
		     struct error *err)
{
	uint64_t start_ns = key->record->time.start_ns, end_ns = store_end_of(key->record);
	sqlite3_stmt *statement;

	if (!is_site_manager(key->manager))
		return key->old_job ? id_list_add(ret, key->old_job) : 0;
	statement = store_sql(s, SQL_FIND_JOBS);
	store_bind_text(statement, 1, key->cluster);
	store_bind_text(statement, 2, key->manager);
	store_bind_text(statement, 3, key->job_id);
	store_bind_number(statement, 4, (uint64_t)key->record->job.uid); /* -1: not known */
	store_bind_number(statement, 5, start_ns > NEAR_NS ? start_ns - NEAR_NS : 0);
	store_bind_number(statement, 6, MIN(end_ns, (uint64_t)INT64_MAX - NEAR_NS) + NEAR_NS);
	return store_collect(s, statement, ret, err);
}

static int add_job(struct store *s, const struct record_key *key, uint64_t *ret, struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, SQL_ADD_JOB);
	int r;

	store_bind_text(statement, 1, key->cluster);
	store_bind_text(statement, 2, key->node);
	store_bind_text(statement, 3, key->manager);
	store_bind_text(statement, 4, key->job_id);
	if (key->record->job.uid >= 0)
		store_bind_number(statement, 5, (uint64_t)key->record->job.uid);
	store_bind_number(statement, 6, key->record->time.start_ns);
	store_bind_number(statement, 7, store_end_of(key->record));
	r = store_run(s, statement, err);
	*ret = (uint64_t)sqlite3_last_insert_rowid(s->db);
	return r;
}

static int run_with(struct store *s, enum statement which, uint64_t first, uint64_t second,
		    struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, which);

	store_bind_number(statement, 1, first);
	if (statement && sqlite3_bind_parameter_count(statement) > 1)
		store_bind_number(statement, 2, second);
	return store_run(s, statement, err);
}

static int delete_parts(struct store *s, uint64_t job, struct error *err)
{
	int r = run_with(s, SQL_DELETE_MOUNTS, job, 0, err);

	return r < 0 ? r : run_with(s, SQL_DELETE_STEPS, job, 0, err);
}

static int delete_job(struct store *s, uint64_t job, struct error *err)
{
	int r = delete_parts(s, job, err);

	return r < 0 ? r : run_with(s, SQL_DELETE_JOB, job, 0, err);
}

static int widen_job(struct store *s, uint64_t job, const struct record *record, struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, SQL_WIDEN_JOB);

	store_bind_number(statement, 1, job);
	store_bind_number(statement, 2, record->time.start_ns);
	store_bind_number(statement, 3, store_end_of(record));
	return store_run(s, statement, err);
}

/* All of @jobs become the first one. */
static int join_jobs(struct store *s, const struct id_list *jobs, struct error *err)
{
	int r = 0;

	for (size_t i = 1; i < jobs->count && r >= 0; i++) {
		r = run_with(s, SQL_MOVE_RECORDS, jobs->items[i], jobs->items[0], err);
		if (r >= 0)
			r = delete_job(s, jobs->items[i], err);
	}
	return r;
}

static int index_record(struct store *s, const struct record_key *key, struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, SQL_INDEX_RECORD);

	store_bind_number(statement, 1, key->id);
	if (key->record->job.uid >= 0)
		store_bind_number(statement, 2, (uint64_t)key->record->job.uid);
	store_bind_text(statement, 3, key->record->job.user);
	store_bind_number(statement, 4, store_end_of(key->record));
	return store_run(s, statement, err);
}

int store_assign(struct store *s, const struct record_key *key, struct error *err)
{
	_cleanup_(id_list_clear) struct id_list jobs = {};
	uint64_t job = 0;
	int r = index_record(s, key, err);

	if (r >= 0)
		r = find_jobs(s, key, &jobs, err);
	if (r >= 0 && jobs.count)
		r = join_jobs(s, &jobs, err);
	if (r >= 0 && jobs.count)
		r = widen_job(s, jobs.items[0], key->record, err);
	else if (r >= 0)
		r = add_job(s, key, &job, err);
	if (r < 0)
		return r;
	job = jobs.count ? jobs.items[0] : job;
	r = run_with(s, SQL_SET_JOB, key->id, job, err);
	if (r >= 0 && key->old_job && key->old_job != job)
		r = store_touch(s, key->old_job, NULL, err);
	return r < 0 ? r : store_touch(s, job, key->is_new ? key->record : NULL, err);
}

/* ---- what its row says ---- */

struct folding { /* records of one job */
	struct records records; /* those that can be read */
	size_t closed, open; /* of them */
};

static void folding_clear(struct folding *f)
{
	records_clear(&f->records);
}

static int read_parts(sqlite3_stmt *statement, struct line_parts *ret)
{
	*ret = (struct line_parts){
		.record = sqlite3_column_blob(statement, 0),
		.record_length = (size_t)sqlite3_column_bytes(statement, 0),
		.timeline_at = sqlite3_column_int64(statement, 2),
	};
	return ret->record ? 0 : -EBADMSG;
}

/* One that this version cannot read is left out. */
static int add_record(struct store *s, uint64_t id, struct folding *f, struct error *err)
{
	_cleanup_(record_freep) struct record *record = NULL;
	_cleanup_free_ char *text = NULL;
	sqlite3_stmt *statement = store_sql(s, SQL_READ_RECORD);
	struct line_parts parts;
	bool is_closed;
	size_t length;
	int r;

	store_bind_number(statement, 1, id);
	r = store_step(s, statement, err);
	if (r <= 0)
		return r;
	is_closed = sqlite3_column_type(statement, 3) != SQLITE_NULL;
	r = read_parts(statement, &parts);
	if (r == 0)
		r = line_join(&parts, &text, &length);
	sqlite3_reset(statement);
	if (r == 0)
		r = line_parse(text, length, &record, NULL);
	if (r == 0)
		r = records_add(&f->records, record);
	if (r == -EINVAL || r == -EBADMSG)
		return 0;
	if (r < 0)
		return error_set_errno(err, r, "cannot read a record");
	f->closed += is_closed;
	f->open += !record->is_final && !is_closed;
	record = NULL;
	return 0;
}

static const char *find_reason(const struct rules *rules, const struct record *record, char *buffer,
			       size_t size)
{
	struct insights insights = {};
	struct classes classes = {};
	const char *reason = NULL;

	if (insights_find(rules, record, NULL, &insights) == 0 && insights.count &&
	    insights.items[0].rule->severity > SEVERITY_INFO)
		reason = insights.items[0].rule->id;
	else if (classes_find(rules, record, NULL, &classes) == 0 && classes.count)
		reason = classes.items[0].rule->id;
	if (reason)
		snprintf(buffer, size, "%s", reason);
	insights_clear(&insights);
	classes_clear(&classes);
	return reason ? buffer : NULL;
}

static const char *state_of(const struct folding *f, const struct record *record)
{
	if (f->open)
		return "RUNNING";
	return f->closed ? "INCOMPLETE" : record->job.state;
}

static void find_span(const struct folding *f, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	*ret_start_ns = UINT64_MAX;
	*ret_end_ns = 0;
	for (size_t i = 0; i < f->records.count; i++) {
		const struct record *record = f->records.items[i];

		*ret_start_ns = MIN(*ret_start_ns, record->time.start_ns);
		*ret_end_ns = MAX(*ret_end_ns, store_end_of(record));
	}
}

static int write_job(struct store *s, uint64_t job, const struct folding *f,
		     const struct record *record, struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, SQL_SET_JOB_VALUES);
	uint64_t start_ns, end_ns;
	char reason[128];

	find_span(f, &start_ns, &end_ns);
	store_bind_number(statement, 1, job);
	store_bind_text(statement, 2,
			record->merged_nodes > 1 || !record->node ? "" : record->node);
	store_bind_number(statement, 3, start_ns);
	store_bind_number(statement, 4, end_ns);
	store_bind_number(statement, 5, MIN(record->time.elapsed_ns, (uint64_t)INT64_MAX));
	store_bind_number(statement, 6, MAX(record->merged_nodes, 1U));
	store_bind_number(statement, 7, f->open == 0);
	store_bind_text(statement, 8, state_of(f, record));
	store_bind_text(statement, 9, record_name(record));
	if (record->job.uid >= 0)
		store_bind_number(statement, 10, (uint64_t)record->job.uid);
	store_bind_text(statement, 11, record->job.user);
	store_bind_text(statement, 12, record->job.account);
	store_bind_text(statement, 13, record->job.partition);
	store_bind_text(statement, 14, find_reason(s->rules, record, reason, sizeof(reason)));
	store_bind_job(statement, 15, record);
	return store_run(s, statement, err);
}

static int write_parts(struct store *s, uint64_t job, const struct record *record,
		       struct error *err)
{
	int r = delete_parts(s, job, err);

	for (size_t i = 0; i < record->reading.mount_count && r >= 0; i++) {
		const struct mount_row *row = &record->reading.mounts[i];
		sqlite3_stmt *statement = store_sql(s, SQL_ADD_MOUNT);

		store_bind_number(statement, 1, job);
		store_bind_text(statement, 2, row->mount);
		store_bind_text(statement, 3, row->fstype);
		store_bind_mount(statement, 4, row);
		r = store_run(s, statement, err);
	}
	for (size_t i = 0; i < record->steps.count && r >= 0; i++) {
		const struct step *step = &record->steps.items[i];
		sqlite3_stmt *statement = store_sql(s, SQL_ADD_STEP);

		store_bind_number(statement, 1, job);
		store_bind_text(statement, 2, step->id);
		if (step->start_ns)
			store_bind_number(statement, 3, step->start_ns);
		if (step->end_ns)
			store_bind_number(statement, 4, step->end_ns);
		store_bind_step(statement, 5, step->values);
		r = store_run(s, statement, err);
	}
	return r;
}

static int write_folded(struct store *s, uint64_t job, const struct folding *f, struct error *err)
{
	_cleanup_(record_freep) struct record *merged = NULL;
	int r = 0;

	if (!f->records.count)
		return run_with(s, SQL_MARK_STALE, job, 0, err);
	if (f->records.count > 1)
		r = record_merge((const struct record *const *)f->records.items, f->records.count,
				 &merged);
	if (r < 0)
		return error_set_errno(err, r, "cannot merge the records of a job");
	r = write_job(s, job, f, merged ? merged : f->records.items[0], err);
	s->facts.folded++;
	return r < 0 ? r : write_parts(s, job, merged ? merged : f->records.items[0], err);
}

static int fold_records(struct store *s, uint64_t job, const struct id_list *ids, struct error *err)
{
	_cleanup_(folding_clear) struct folding f = {};
	int r = 0;

	for (size_t i = 0; i < ids->count && r >= 0; i++)
		r = add_record(s, ids->items[i], &f, err);
	return r < 0 ? r : write_folded(s, job, &f, err);
}

static int find_records(struct store *s, uint64_t job, struct id_list *ret, struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, SQL_READ_JOB_RECORDS);

	store_bind_number(statement, 1, job);
	return store_collect(s, statement, ret, err);
}

int store_fold(struct store *s, uint64_t job, struct error *err)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	int r = find_records(s, job, &ids, err);

	if (r < 0)
		return r;
	return ids.count ? fold_records(s, job, &ids, err) : delete_job(s, job, err);
}

/* The job's only record, which is at hand: it was taken just now, and so it is not closed. */
static int fold_one(struct store *s, uint64_t job, struct record *record, struct error *err)
{
	struct folding f = { .open = !record->is_final };
	struct record *items[] = { record };

	f.records = (struct records){ items, 1 };
	return write_folded(s, job, &f, err);
}

static int fold_touched(struct store *s, const struct touched *touched, struct error *err)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	int r = find_records(s, touched->job, &ids, err);

	if (r < 0)
		return r;
	if (!ids.count)
		return delete_job(s, touched->job, err);
	if (ids.count == 1 && touched->record)
		return fold_one(s, touched->job, touched->record, err);
	if (ids.count > FOLDED_NOW)
		return run_with(s, SQL_MARK_STALE, touched->job, 1, err);
	return fold_records(s, touched->job, &ids, err);
}

/* ---- those that wait for the commit ---- */

void store_clear_touched(struct store *s)
{
	for (size_t i = 0; i < s->touched_count; i++)
		record_free(s->touched[i].record);
	s->touched_count = 0;
}

int store_fold_touched(struct store *s, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < s->touched_count && r >= 0; i++)
		r = fold_touched(s, &s->touched[i], err);
	store_clear_touched(s);
	return r;
}

int store_touch(struct store *s, uint64_t job, struct record *record, struct error *err)
{
	size_t i = 0;
	int r = 0;

	while (i < s->touched_count && s->touched[i].job != job)
		i++;
	if (i == STORE_TOUCHED_MAX) {
		r = store_fold_touched(s, err);
		i = 0;
	}
	if (r < 0)
		return r;
	if (i < s->touched_count)
		record_free(s->touched[i].record);
	else
		s->touched_count++;
	s->touched[i] = (struct touched){ job, record ? record_share(record) : NULL };
	return 0;
}
