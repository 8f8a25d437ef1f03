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
#include "basic/clock.h"
#include "basic/error.h"
#include "codec/records.h"
#include "model/record.h"
#include "server/store/store_internal.h"

#define NEAR_NS "60000000000" /* apart, and yet one job: nodes begin and end one by one */
/* Of a job; with more it waits, since each of its records comes here. */
#define FOLDED_NOW 8 /* records */
#define FOLDED_NOW_BYTES (128u << 10) /* of their text */
#define FOLDING_NS UINT64_C(100000000) /* after that others get their turn, between two jobs */

/* Whose ids are those of jobs on all their nodes. */
#define SITE_MANAGERS "('slurm', 'pbs', 'lsf', 'flux')"

/* The moment at which it was last seen, or ended. */
static uint64_t end_of(const struct record *record)
{
	uint64_t start_ns = record->time.start_ns, elapsed_ns = record->time.elapsed_ns;

	if (record->time.end_ns)
		return MAX(record->time.end_ns, start_ns);
	if (!elapsed_ns && record->sequence < INT64_MAX / 1000) /* its start is not known */
		return MAX(start_ns, record->sequence * 1000);
	return elapsed_ns > INT64_MAX - start_ns ? INT64_MAX : start_ns + elapsed_ns;
}

static const char *cluster_of(const struct record *record)
{
	return record->cluster ? record->cluster : "";
}

static void find_jobs(struct store *s, const struct record *record, uint64_t old_job,
		      struct id_list *ret)
{
	store_find(s, ret,
		   "SELECT id FROM jobs WHERE cluster = ?1 AND manager = ?2 AND job_id = ?3 "
		   "AND COALESCE(uid, -1) = ?4 AND start_ns - " NEAR_NS
		   " <= ?5 AND end_ns >= ?6 - " NEAR_NS " AND ?2 IN " SITE_MANAGERS
		   " UNION SELECT id FROM jobs WHERE id = ?7 AND ?2 NOT IN " SITE_MANAGERS
		   " ORDER BY id",
		   TEXT(cluster_of(record)), TEXT(record->job.manager), TEXT(record->job.id),
		   NUMBER(record->job.uid), NUMBER(end_of(record)), NUMBER(record->time.start_ns),
		   NUMBER(old_job));
}

static uint64_t add_job(struct store *s, const struct record *record)
{
	return store_number(
		s,
		"INSERT INTO jobs (cluster, node, manager, job_id, uid, start_ns, end_ns, is_stale) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1) RETURNING id",
		TEXT(cluster_of(record)), TEXT(record->node), TEXT(record->job.manager),
		TEXT(record->job.id), NUMBER_IF(record->job.uid >= 0, record->job.uid),
		NUMBER(record->time.start_ns), NUMBER(end_of(record)));
}

static void delete_row(struct store *s, uint64_t job)
{
	store_do(s, "DELETE FROM jobs WHERE id = ?1", NUMBER(job));
}

static void delete_job(struct store *s, uint64_t job)
{
	store_do(s, "DELETE FROM job_mounts WHERE job = ?1", NUMBER(job));
	store_do(s, "DELETE FROM job_steps WHERE job = ?1", NUMBER(job));
	delete_row(s, job);
}

/* All of @jobs become the first one, which reaches as far as the record. */
static uint64_t join_jobs(struct store *s, const struct id_list *jobs, const struct record *record)
{
	uint64_t first = jobs->items[0];

	for (size_t i = 1; i < jobs->count; i++) {
		store_do(s, "UPDATE records SET job = ?2 WHERE job = ?1", NUMBER(jobs->items[i]),
			 NUMBER(first));
		delete_job(s, jobs->items[i]);
	}
	store_do(
		s,
		"UPDATE jobs SET start_ns = CASE WHEN start_ns > ?2 THEN ?2 ELSE start_ns END, "
		"end_ns = CASE WHEN end_ns < ?3 THEN ?3 ELSE end_ns END, is_stale = 1 WHERE id = ?1",
		NUMBER(first), NUMBER(record->time.start_ns), NUMBER(end_of(record)));
	return first;
}

uint64_t store_assign(struct store *s, uint64_t id, const struct record *record, uint64_t old_job,
		      bool *ret_is_new)
{
	_cleanup_(id_list_clear) struct id_list jobs = {};
	uint64_t job;

	find_jobs(s, record, old_job, &jobs);
	*ret_is_new = !jobs.count;
	job = jobs.count ? join_jobs(s, &jobs, record) : add_job(s, record);
	if (old_job && old_job != job)
		store_do(s, SQL_MAKE_STALE, NUMBER(id));
	store_do(s,
		 "UPDATE records SET uid = ?2, user_name = ?3, end_ns = ?4, job = ?5 WHERE id = ?1",
		 NUMBER(id), NUMBER_IF(record->job.uid >= 0, record->job.uid),
		 TEXT(record->job.user), NUMBER(end_of(record)), NUMBER(job));
	return job;
}

/* ---- what its row says ---- */

struct folding { /* records of one job */
	struct records records; /* those that can be read */
	size_t closed, open, bytes; /* of them */
};

/* One that this version cannot read is left out. */
static void add_record(struct store *s, uint64_t id, struct folding *f)
{
	struct stored_line line;
	struct record *record = line_read_record(s, id, &line);

	f->bytes += line.length;
	if (!record)
		return;
	f->closed += line.is_closed;
	f->open += !record->is_final && !line.is_closed;
	if (records_add(&f->records, record) == 0)
		return;
	record_free(record);
	store_fail_at(s, -ENOMEM, "cannot read the records of a job");
}

static const char *find_reason(const struct rules *rules, const struct record *record)
{
	struct insights insights = {};
	struct classes classes = {};
	const char *reason = NULL; /* a rule's */

	if (insights_find(rules, record, NULL, &insights) == 0 && insights.count &&
	    insights.items[0].rule->severity > SEVERITY_INFO)
		reason = insights.items[0].rule->id;
	else if (classes_find(rules, record, NULL, &classes) == 0 && classes.count)
		reason = classes.items[0].rule->id;
	insights_clear(&insights);
	classes_clear(&classes);
	return reason;
}

/* @is_new: it has no mounts and steps yet. */
static void write_job(struct store *s, uint64_t id, const struct folding *f, bool is_new)
{
	_cleanup_(record_freep) struct record *merged = NULL;
	struct record *const *records = f->records.items;
	const struct record *record = f->records.count ? records[0] : NULL;
	struct store_job job = { .start_ns = UINT64_MAX, .is_final = f->open == 0 };
	int r = 0;

	if (!record)
		return store_do(s, "UPDATE jobs SET is_stale = 0 WHERE id = ?1", NUMBER(id));
	if (f->records.count > 1)
		r = record_merge((const struct record *const *)records, f->records.count, &merged);
	if (r < 0)
		return store_fail_at(s, r == -ENOMEM ? r : -EBADMSG,
				     "cannot merge the records of a job");
	record = merged ? merged : record;
	for (size_t i = 0; i < f->records.count; i++) {
		job.start_ns = MIN(job.start_ns, records[i]->time.start_ns);
		job.end_ns = MAX(job.end_ns, end_of(records[i]));
	}
	job.cluster = cluster_of(records[0]);
	job.node = record->merged_nodes > 1 || !record->node ? "" : record->node;
	job.manager = records[0]->job.manager;
	job.id = records[0]->job.id;
	job.name = record_name(record);
	job.user = record->job.user;
	job.account = record->job.account;
	job.partition = record->job.partition;
	job.state = f->open ? "RUNNING" : f->closed ? "INCOMPLETE" : record->job.state;
	job.reason = find_reason(s->rules, record);
	job.uid = record->job.uid;
	job.elapsed_ns.number = MIN(record->time.elapsed_ns, (uint64_t)INT64_MAX);
	job.nodes.number = MAX(record->merged_nodes, 1U);
	job.exit_code = (struct value){ .number = (uint64_t)record->job.exit_code,
					.is_known = record->job.exit_code >= 0 };
	job.signal = (struct value){ .number = (uint64_t)record->job.signal,
				     .is_known = record->job.signal > 0 };
	(is_new ? delete_row : delete_job)(s, id);
	store_write_job(s, id, &job, record);
}

static void find_records(struct store *s, uint64_t job, struct id_list *ret)
{
	store_find(s, ret, "SELECT id FROM records WHERE job = ?1 ORDER BY node, start_ns, id",
		   NUMBER(job));
}

static void fold(struct store *s, uint64_t job, enum store_stale stale)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	struct folding f = {};
	bool waits;

	find_records(s, job, &ids);
	if (!ids.count)
		return delete_job(s, job);
	waits = stale == STALE_NOW && (ids.count > FOLDED_NOW || s->folds_later);
	for (size_t i = 0; i < ids.count && !waits && !s->failure; i++) {
		add_record(s, ids.items[i], &f);
		waits = stale == STALE_NOW && f.bytes > FOLDED_NOW_BYTES;
	}
	if (waits)
		store_do(s, "UPDATE jobs SET is_stale = 2 WHERE id = ?1", NUMBER(job));
	else
		write_job(s, job, &f, false);
	records_clear(&f.records);
}

void store_fold(struct store *s, enum store_stale stale, unsigned int limit, struct id_list *ret)
{
	/* the number stands in the text, so that the index of those that wait is found */
	static const char *const texts[] = {
		[STALE_NOW] = "SELECT id FROM jobs WHERE is_stale = 1 AND is_stale > 0 LIMIT ?1",
		[STALE_LATER] =
			"SELECT id FROM jobs WHERE is_stale = 2 AND is_stale > 0 ORDER BY id LIMIT ?1",
	};
	const uint64_t begun_ns = clock_now_ns(CLOCK_MONOTONIC);

	store_find(s, ret, texts[stale], NUMBER(limit));
	for (size_t i = 0; i < ret->count && !s->failure; i++) {
		if (stale == STALE_LATER && clock_now_ns(CLOCK_MONOTONIC) - begun_ns > FOLDING_NS)
			break;
		fold(s, ret->items[i], stale);
	}
}

void store_fold_new(struct store *s, uint64_t job, struct record *record, bool is_new)
{
	const struct folding f = { .records = { &record, 1 }, .open = !record->is_final };
	_cleanup_(id_list_clear) struct id_list ids = {};

	if (s->folds_later)
		return;
	if (!is_new)
		find_records(s, job, &ids);
	if (is_new || ids.count == 1)
		write_job(s, job, &f, is_new);
}
