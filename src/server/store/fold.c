/* SPDX-License-Identifier: MIT */
/*
 * Which records are one job, and what its row says: always made of its records, never of a row
 * that was there, so that it is the same in whatever order they came.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/classes.h"
#include "analysis/insights.h"
#include "analysis/patterns.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "codec/records.h"
#include "model/record.h"
#include "server/store/store_internal.h"

#define NEAR_NS STORE_NEAR_NS
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
	const struct run_question question = {
		.cluster = cluster_of(record),
		.manager = record->job.manager,
		.id = record->job.id,
		.sluid = record->job.sluid,
		.start_ns = record->time.start_ns,
		.end_ns = end_of(record),
	};
	uint64_t job = store_find_run_job(s, &question);

	if (job && id_list_add(ret, job) < 0)
		store_fail_at(s, -ENOMEM, "cannot read the database");
	if (job)
		return;
	store_find(s, ret,
		   "SELECT id FROM jobs WHERE cluster = ?1 AND manager = ?2 AND job_id = ?3 "
		   "AND COALESCE(uid, -1) = ?4 AND start_ns - " NEAR_NS
		   " <= ?5 AND end_ns >= ?6 - " NEAR_NS " AND ?2 IN " SITE_MANAGERS
		   " AND (sluid IS NULL OR ?8 IS NULL OR sluid = ?8)"
		   " UNION SELECT id FROM jobs WHERE id = ?7 AND ?2 NOT IN " SITE_MANAGERS
		   " ORDER BY id",
		   TEXT(cluster_of(record)), TEXT(record->job.manager), TEXT(record->job.id),
		   NUMBER(record->job.uid), NUMBER(end_of(record)), NUMBER(record->time.start_ns),
		   NUMBER(old_job), TEXT(record->job.sluid));
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
	store_unroll_job(s, job);
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
	store_unroll_job(s, first);
	store_do(
		s,
		"UPDATE jobs SET start_ns = CASE WHEN start_ns > ?2 THEN ?2 ELSE start_ns END, "
		"end_ns = CASE WHEN end_ns < ?3 THEN ?3 ELSE end_ns END, is_stale = 1 WHERE id = ?1",
		NUMBER(first), NUMBER(record->time.start_ns), NUMBER(end_of(record)));
	store_roll_job(s, first);
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
		 "UPDATE records SET uid = ?2, user_name = ?3, end_ns = ?4, job = ?5, sluid = ?6 "
		 "WHERE id = ?1",
		 NUMBER(id), NUMBER_IF(record->job.uid >= 0, record->job.uid),
		 TEXT(record->job.user), NUMBER(end_of(record)), NUMBER(job),
		 TEXT(record->job.sluid));
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

/* The first finding of its report, else its class.  Patterns cost most of the time (some hundred
 * microseconds): they wait for the end. */
static const char *find_reason(const struct rules *rules, const struct record *record,
			       bool is_final)
{
	_cleanup_free_ struct patterns *patterns = is_final ? calloc(1, sizeof(*patterns)) : NULL;
	struct insights insights = {};
	struct classes classes = {};
	const char *reason = NULL; /* a rule's */

	if (patterns && patterns_find(&rules->pattern_settings, record, patterns) < 0)
		return NULL;
	if (insights_find(rules, record, patterns, &insights) == 0 && insights.count &&
	    insights.items[0].rule->severity > SEVERITY_INFO)
		reason = insights.items[0].rule->id;
	else if (classes_find(rules, record, patterns, &classes) == 0 && classes.count)
		reason = classes.items[0].rule->id;
	insights_clear(&insights);
	classes_clear(&classes);
	return reason;
}

static struct value known(uint64_t number)
{
	return (struct value){ .number = MIN(number, VALUE_MAX), .is_known = true };
}

/* What the records say of it; @record: all of them together, NULL: there are none. */
static void take_records(const struct folding *f, const struct record *record,
			 struct store_job *job)
{
	struct record *const *records = f->records.items;

	for (size_t i = 0; i < f->records.count; i++) {
		job->start_ns = MIN(job->start_ns, records[i]->time.start_ns);
		job->end_ns = MAX(job->end_ns, end_of(records[i]));
	}
	job->is_final = f->open == 0;
	job->node = record->merged_nodes > 1 || !record->node ? "" : record->node;
	job->state = f->open ? "RUNNING" : f->closed ? "INCOMPLETE" : record->job.state;
	job->elapsed_ns = known(record->time.elapsed_ns);
	job->nodes = known(MAX(record->merged_nodes, 1U));
	if (record->job.exit_code >= 0)
		job->exit_code = known((uint64_t)record->job.exit_code);
	if (record->job.signal > 0)
		job->signal = known((uint64_t)record->job.signal);
}

/* What the manager says wins; while it says that the job runs, its records may know better. */
static void take_run(const struct store_run *run, bool is_measured, struct store_job *job)
{
	bool has_ended = run->end.is_known;

	job->is_known = true;
	job->run = *run;
	job->is_unmeasured = !is_measured;
	job->waits = !run->start.is_known && !is_measured;
	job->is_final |= has_ended;
	if (has_ended || !is_measured || !job->is_final)
		job->state = run->state ? run->state : job->state;
	if (has_ended) {
		job->exit_code = run->exit_code;
		job->signal = run->signal;
	}
	if (run->start.is_known)
		job->start_ns = run->start.number;
	else if (!is_measured)
		job->start_ns = run->submit.number;
	if (has_ended)
		job->end_ns = MAX(run->end.number, job->start_ns);
	else if (!is_measured)
		job->end_ns = INT64_MAX; /* it has none yet, and is found whatever time is asked for
					  */
	if (!is_measured) {
		job->elapsed_ns = run->elapsed;
		job->node = run->nodes.number == 1 && run->node_list ? run->node_list : "";
	} else if (run->suspended.is_known) {
		job->elapsed_ns.number -= MIN(run->suspended.number, job->elapsed_ns.number);
	}
	if (run->nodes.is_known && run->start.is_known)
		job->nodes = run->nodes;
}

/* @is_new: it has no mounts and steps yet. */
static void write_job(struct store *s, uint64_t id, const struct folding *f, bool is_new)
{
	_cleanup_(record_freep) struct record *merged = NULL;
	struct record *record = f->records.count ? f->records.items[0] : NULL;
	struct store_job job = { .start_ns = UINT64_MAX };
	struct store_run run = {};
	struct statement *row = store_read_run(s, id, &run);
	char spark[STORE_SPARK_SIZE];
	int r = 0;

	if (!record && !row)
		return store_do(s, "UPDATE jobs SET is_stale = 0 WHERE id = ?1", NUMBER(id));
	if (f->records.count > 1)
		r = record_merge((const struct record *const *)f->records.items, f->records.count,
				 &merged);
	else if (!record && !(merged = record_new()))
		r = -ENOMEM;
	record = merged ? merged : record;
	if (r == 0 && f->records.count) {
		take_records(f, record, &job);
		job.reason = find_reason(s->rules, record, job.is_final);
	}
	if (r == 0 && row) {
		take_run(&run, f->records.count, &job);
		r = store_run_apply(&run, record);
		if (!f->records.count && !job.waits)
			job.reason = "not-measured";
	}
	if (r < 0) {
		if (row)
			store_reset(row);
		return store_fail_at(s, r == -ENOMEM ? r : -EBADMSG,
				     "cannot merge the records of a job");
	}
	job.cluster = cluster_of(row ? record : f->records.items[0]);
	job.manager = record->job.manager;
	job.id = record->job.id;
	job.name = record_name(record);
	job.user = record->job.user;
	job.account = record->job.account;
	job.partition = record->job.partition;
	job.uid = record->job.uid;
	if (f->records.count)
		job.spark = store_spark_of_job(s, id, job.start_ns, job.end_ns, spark);
	(is_new ? delete_row : delete_job)(s, id);
	store_write_job(s, id, &job, record);
	store_roll_job(s, id);
	if (row)
		store_reset(row);
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
	if (!ids.count && !store_number(s, "SELECT count(*) FROM runs WHERE job = ?1", NUMBER(job)))
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
	/* the number is in the text, so that the index of those that wait is used */
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
