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

#define NEAR_NS "60000000000" /* apart, and yet one job: nodes begin and end one by one */
#define FOLDED_NOW 8 /* records of a job; of more it waits, since each of them comes here */

/* Whose ids are those of jobs on all their nodes. */
#define SITE_MANAGERS "('slurm', 'pbs', 'lsf', 'flux')"

/* The moment at which it was last seen, or ended. */
static uint64_t end_of(const struct record *record)
{
	uint64_t start_ns = record->time.start_ns, elapsed_ns = record->time.elapsed_ns;

	if (record->time.end_ns)
		return MAX(record->time.end_ns, start_ns);
	return elapsed_ns > INT64_MAX - start_ns ? INT64_MAX : start_ns + elapsed_ns;
}

static const char *cluster_of(const struct record *record)
{
	return record->cluster ? record->cluster : "";
}

/* ---- to which job it belongs ---- */

static int find_jobs(struct store *s, const struct record *record, uint64_t old_job,
		     struct id_list *ret, struct error *err)
{
	sqlite3_stmt *jobs =
		store_ask(s,
			  "SELECT id FROM jobs WHERE cluster = ?1 AND manager = ?2 AND job_id = ?3 "
			  "AND COALESCE(uid, -1) = ?4 AND start_ns - " NEAR_NS
			  " <= ?5 AND end_ns >= ?6 - " NEAR_NS " AND ?2 IN " SITE_MANAGERS
			  " UNION SELECT id FROM jobs WHERE id = ?7 AND ?2 NOT IN " SITE_MANAGERS
			  " ORDER BY id",
			  TEXT(cluster_of(record)), TEXT(record->job.manager), TEXT(record->job.id),
			  NUMBER(record->job.uid), NUMBER(end_of(record)),
			  NUMBER(record->time.start_ns), NUMBER(old_job));

	return store_collect(s, jobs, ret, err);
}

static int add_job(struct store *s, const struct record *record, uint64_t *ret, struct error *err)
{
	sqlite3_stmt *job = store_ask(
		s,
		"INSERT INTO jobs (cluster, node, manager, job_id, uid, start_ns, end_ns, is_stale) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1) RETURNING id",
		TEXT(cluster_of(record)), TEXT(record->node), TEXT(record->job.manager),
		TEXT(record->job.id), NUMBER_IF(record->job.uid >= 0, record->job.uid),
		NUMBER(record->time.start_ns), NUMBER(end_of(record)));

	return store_get(s, job, ret, err);
}

static int delete_job(struct store *s, uint64_t job, struct error *err)
{
	static const char *const texts[] = { "DELETE FROM job_mounts WHERE job = ?1",
					     "DELETE FROM job_steps WHERE job = ?1",
					     "DELETE FROM jobs WHERE id = ?1" };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts) && r >= 0; i++)
		r = store_do(s, err, texts[i], NUMBER(job));
	return r;
}

/* All of @jobs become the first one, which reaches as far as the record. */
static int join_jobs(struct store *s, const struct id_list *jobs, const struct record *record,
		     struct error *err)
{
	uint64_t first = jobs->items[0];
	int r = store_do(
		s, err,
		"UPDATE jobs SET start_ns = CASE WHEN start_ns > ?2 THEN ?2 ELSE start_ns END, "
		"end_ns = CASE WHEN end_ns < ?3 THEN ?3 ELSE end_ns END, is_stale = 1 "
		"WHERE id = ?1",
		NUMBER(first), NUMBER(record->time.start_ns), NUMBER(end_of(record)));

	for (size_t i = 1; i < jobs->count && r >= 0; i++) {
		r = store_do(s, err, "UPDATE records SET job = ?2 WHERE job = ?1",
			     NUMBER(jobs->items[i]), NUMBER(first));
		if (r >= 0)
			r = delete_job(s, jobs->items[i], err);
	}
	return r;
}

int store_assign(struct store *s, uint64_t id, const struct record *record, uint64_t old_job,
		 uint64_t *ret_job, struct error *err)
{
	_cleanup_(id_list_clear) struct id_list jobs = {};
	int r = find_jobs(s, record, old_job, &jobs, err);

	if (r >= 0 && jobs.count) {
		*ret_job = jobs.items[0];
		r = join_jobs(s, &jobs, record, err);
	} else if (r >= 0) {
		r = add_job(s, record, ret_job, err);
	}
	if (r >= 0)
		r = store_do(s, err,
			     "UPDATE records SET uid = ?2, user_name = ?3, end_ns = ?4, job = ?5 "
			     "WHERE id = ?1",
			     NUMBER(id), NUMBER_IF(record->job.uid >= 0, record->job.uid),
			     TEXT(record->job.user), NUMBER(end_of(record)), NUMBER(*ret_job));
	if (r >= 0 && old_job && old_job != *ret_job)
		r = store_do(s, err, "UPDATE jobs SET is_stale = 1 WHERE id = ?1", NUMBER(old_job));
	return r;
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

/* One that this version cannot read is left out. */
static int add_record(struct store *s, uint64_t id, struct folding *f, struct error *err)
{
	_cleanup_(record_freep) struct record *record = NULL;
	struct stored_line line = {};
	int r = line_read(s, id, &line, err);

	if (r == 0)
		r = line_parse(&line, &record, err);
	free(line.text);
	if (r == 0)
		r = records_add(&f->records, record);
	if (r < 0)
		return r == -EINVAL || r == -EBADMSG || r == -ENOENT ? 0 : r;
	f->closed += line.is_closed;
	f->open += !record->is_final && !line.is_closed;
	record = NULL;
	return 0;
}

/* Into @buffer; NULL: there is none. */
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
	snprintf(buffer, size, "%s", reason ? reason : "");
	insights_clear(&insights);
	classes_clear(&classes);
	return *buffer ? buffer : NULL;
}

static int write_job(struct store *s, uint64_t id, const struct folding *f, struct error *err)
{
	_cleanup_(record_freep) struct record *merged = NULL;
	struct record *const *records = f->records.items;
	const struct record *record = f->records.count ? records[0] : NULL;
	struct store_job job = { .start_ns = UINT64_MAX, .is_final = f->open == 0 };
	char reason[128];
	int r;

	if (!record)
		return store_do(s, err, "UPDATE jobs SET is_stale = 0 WHERE id = ?1", NUMBER(id));
	if (f->records.count > 1) {
		r = record_merge((const struct record *const *)records, f->records.count, &merged);
		if (r < 0)
			return error_set_errno(err, r, "cannot merge the records of a job");
		record = merged;
	}
	for (size_t i = 0; i < f->records.count; i++) {
		job.start_ns = MIN(job.start_ns, records[i]->time.start_ns);
		job.end_ns = MAX(job.end_ns, end_of(records[i]));
	}
	job.cluster = cluster_of(records[0]);
	job.node = record->merged_nodes > 1 || !record->node ? "" : record->node;
	job.manager = records[0]->job.manager;
	job.id = records[0]->job.id;
	job.name = record->job.name;
	job.user = record->job.user;
	job.account = record->job.account;
	job.partition = record->job.partition;
	job.state = f->open ? "RUNNING" : f->closed ? "INCOMPLETE" : record->job.state;
	job.reason = find_reason(s->rules, record, reason, sizeof(reason));
	job.uid = record->job.uid;
	job.elapsed_ns.number = MIN(record->time.elapsed_ns, (uint64_t)INT64_MAX);
	job.nodes.number = MAX(record->merged_nodes, 1U);
	r = delete_job(s, id, err);
	return r < 0 ? r : store_write_job(s, id, &job, record, err);
}

static int find_records(struct store *s, uint64_t job, struct id_list *ret, struct error *err)
{
	return store_collect(
		s,
		store_ask(s, "SELECT id FROM records WHERE job = ?1 ORDER BY node, start_ns, id",
			  NUMBER(job)),
		ret, err);
}

static int fold(struct store *s, uint64_t job, enum store_stale stale, struct error *err)
{
	_cleanup_(folding_clear) struct folding f = {};
	_cleanup_(id_list_clear) struct id_list ids = {};
	int r = find_records(s, job, &ids, err);

	if (r >= 0 && !ids.count)
		return delete_job(s, job, err);
	if (r >= 0 && ids.count > FOLDED_NOW && stale == STALE_NOW)
		return store_do(s, err, "UPDATE jobs SET is_stale = 2 WHERE id = ?1", NUMBER(job));
	for (size_t i = 0; i < ids.count && r >= 0; i++)
		r = add_record(s, ids.items[i], &f, err);
	return r < 0 ? r : write_job(s, job, &f, err);
}

int store_fold(struct store *s, enum store_stale stale, unsigned int limit, struct id_list *ret,
	       struct error *err)
{
	int r = store_collect(s,
			      store_ask(s, "SELECT id FROM jobs WHERE is_stale = ?1 LIMIT ?2",
					NUMBER(stale), NUMBER(limit)),
			      ret, err);

	for (size_t i = 0; i < ret->count && r >= 0; i++)
		r = fold(s, ret->items[i], stale, err);
	return r;
}

int store_fold_new(struct store *s, uint64_t job, struct record *record, struct error *err)
{
	const struct folding f = { .records = { &record, 1 }, .open = !record->is_final };
	_cleanup_(id_list_clear) struct id_list ids = {};
	int r = find_records(s, job, &ids, err);

	return r < 0 || ids.count > 1 ? r : write_job(s, job, &f, err);
}
