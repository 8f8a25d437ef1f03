/* SPDX-License-Identifier: MIT */
#include "server/store/runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/fnv.h"
#include "model/document.h"
#include "model/record.h"
#include "model/record_field.h"
#include "server/store/store_internal.h"

#define NS_PLACES 9

#define AT(member) offsetof(struct store_run, member)
/* clang-format off */
const struct run_field run_fields[] = {
	{ "sluid", "sluid", RUN_TEXT, AT(sluid), true },
	{ "array_id", "array_id", RUN_TEXT, AT(array_id), true },
	{ "array_index", "array_index", RUN_COUNT, AT(array_index), true },
	{ "array_tasks", "array_tasks", RUN_TEXT, AT(array_tasks) },
	{ "het_offset", "het_offset", RUN_COUNT, AT(het_offset), true },
	{ "state", "state", RUN_TEXT, AT(state), true },
	{ "wait_reason", "wait_reason", RUN_TEXT, AT(wait_reason) },
	{ "exit_code", "exit_code", RUN_COUNT, AT(exit_code), true },
	{ "signal", "exit_signal", RUN_COUNT, AT(signal), true },
	{ "derived_exit_code", "derived_exit_code", RUN_COUNT, AT(derived_exit_code) },
	{ "user", "user_name", RUN_TEXT, AT(user), true },
	{ "uid", "uid", RUN_COUNT, AT(uid), true },
	{ "account", "account", RUN_TEXT, AT(account), true },
	{ "partition", "partition_name", RUN_TEXT, AT(partition), true },
	{ "qos", "qos", RUN_TEXT, AT(qos), true },
	{ "reservation", "reservation", RUN_TEXT, AT(reservation), true },
	{ "name", "name", RUN_TEXT, AT(name), true },
	{ "submit", "submitted_ns", RUN_MOMENT, AT(submit) },
	{ "eligible", "eligible_ns", RUN_MOMENT, AT(eligible) },
	{ "start", "start_ns", RUN_MOMENT, AT(start), true },
	{ "end", "end_ns", RUN_MOMENT, AT(end), true },
	{ "elapsed_seconds", "elapsed_ns", RUN_SECONDS, AT(elapsed), true },
	{ "suspended_seconds", "suspended_ns", RUN_SECONDS, AT(suspended) },
	{ "time_limit_seconds", "time_limit_ns", RUN_SECONDS, AT(time_limit) },
	{ "restarts", "restarts", RUN_COUNT, AT(restarts) },
	{ "nodes", "nodes", RUN_COUNT, AT(nodes), true },
	{ "node_list", "node_list", RUN_TEXT, AT(node_list), true },
	{ "cores", "cores", RUN_COUNT, AT(cores), true },
	{ "gpus", "gpus", RUN_COUNT, AT(gpus), true },
	{ "requested_nodes", "requested_nodes", RUN_COUNT, AT(requested_nodes) },
	{ "requested_cores", "requested_cores", RUN_COUNT, AT(requested_cores) },
	{ "requested_gpus", "requested_gpus", RUN_COUNT, AT(requested_gpus) },
	{ "requested_memory_bytes", "requested_memory", RUN_BYTES, AT(requested_memory) },
	{ "workdir", "workdir", RUN_TEXT, AT(workdir) },
	{ "comment", "comment", RUN_TEXT, AT(comment) },
};
/* clang-format on */
const size_t run_field_count = ARRAY_SIZE(run_fields);
_Static_assert(ARRAY_SIZE(run_fields) <= RUN_FIELDS_MAX, "arguments have room for all");

static const char **text_of(const struct store_run *run, const struct run_field *field)
{
	return (const char **)(void *)((char *)run + field->offset);
}

static struct value *value_of(const struct store_run *run, const struct run_field *field)
{
	return (struct value *)(void *)((char *)run + field->offset);
}

static struct arg arg_of(const struct store_run *run, const struct run_field *field)
{
	if (field->kind == RUN_TEXT)
		return TEXT(*text_of(run, field));
	return NUMBER_IF(value_of(run, field)->is_known, value_of(run, field)->number);
}

void store_run_add(struct store_run *run, const struct store_run *more)
{
	for (size_t i = 0; i < run_field_count; i++) {
		const struct run_field *field = &run_fields[i];
		const char *text = field->kind == RUN_TEXT ? *text_of(more, field) : NULL;

		if (text)
			*text_of(run, field) = text;
		else if (field->kind != RUN_TEXT && value_of(more, field)->is_known)
			*value_of(run, field) = *value_of(more, field);
	}
}

static void take_cell(struct store_run *run, const struct run_field *field,
		      const struct statement *row, int column)
{
	if (field->kind == RUN_TEXT)
		*text_of(run, field) = COLUMN_TEXT(row, column);
	else
		*value_of(run, field) = store_value(row, column);
}

/* ---- columns ---- */

/* Whether all are there, or were made. */
static bool add_missing(struct store *s, const char *table, bool is_jobs, enum store_mode mode)
{
	struct column_def columns[RUN_FIELDS_MAX];
	bool has[RUN_FIELDS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < run_field_count; i++) {
		if (!is_jobs || !run_fields[i].is_in_run_alone)
			columns[count++] = (struct column_def){ run_fields[i].column,
								run_fields[i].kind == RUN_TEXT };
	}
	return !store_add_columns(s, table, columns, count, mode, has) || mode != STORE_READ;
}

static void print_set(FILE *out, const char *before, const char *between, bool has_number)
{
	fputs(before, out);
	for (size_t i = 0; i < run_field_count; i++) {
		if (has_number)
			fprintf(out, between, run_fields[i].column, i + 8);
		else
			fprintf(out, between, run_fields[i].column);
	}
}

void store_open_runs(struct store *s, enum store_mode mode)
{
	size_t size;
	FILE *out = open_memstream(&s->put_run, &size);

	if (!out)
		return store_fail_at(s, -ENOMEM, "cannot open the database");
	(void)add_missing(s, "runs", false, mode); /* lists read those of jobs */
	s->has_runs = add_missing(s, "jobs", true, mode);
	print_set(out,
		  "INSERT INTO runs (cluster, manager, job_id, submit_ns, digest, changed_ns, job",
		  ", %s", false);
	fputs(") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7", out);
	for (size_t i = 0; i < run_field_count; i++)
		fprintf(out, ", ?%zu", i + 8);
	print_set(out,
		  ") ON CONFLICT (cluster, manager, job_id, submit_ns) DO UPDATE SET digest = ?5, "
		  "changed_ns = ?6, job = ?7",
		  ", %s = ?%zu", true);
	fputs(" RETURNING id", out);
	fclose(out);
}

size_t store_put_run_facts(const struct store_run *run, struct arg *args)
{
	static const struct store_run none;
	size_t count = 0;

	for (size_t i = 0; i < run_field_count; i++) {
		if (!run_fields[i].is_in_run_alone)
			args[count++] = arg_of(run ? run : &none, &run_fields[i]);
	}
	return count;
}

void store_print_run_columns(bool has_them, FILE *out)
{
	for (size_t i = 0; i < run_field_count; i++) {
		if (!run_fields[i].is_in_run_alone)
			fprintf(out, ", %s", has_them ? run_fields[i].column : "NULL");
	}
}

int store_read_run_facts(const struct statement *row, int column, struct store_run *ret)
{
	for (size_t i = 0; i < run_field_count; i++) {
		if (!run_fields[i].is_in_run_alone)
			take_cell(ret, &run_fields[i], row, column++);
	}
	return column;
}

/* ---- columns of a list ---- */

static const struct run_field *field_at(size_t i)
{
	const struct run_field *field = run_fields;

	for (;; field++) {
		if (!field->is_in_run_alone && i-- == 0)
			return field;
	}
}

size_t store_run_count(void)
{
	return store_put_run_facts(NULL, (struct arg[RUN_FIELDS_MAX]){});
}

struct store_column store_run_column(size_t i)
{
	const struct run_field *field = field_at(i);

	return (struct store_column){
		field->key,
		field->kind == RUN_TEXT	    ? STORE_TEXT
		: field->kind == RUN_MOMENT ? STORE_TIME
					    : STORE_NUMBER,
		"As the resource manager's database has it; absent where none is asked."
	};
}

bool store_run_knows(const struct store_run *run, size_t i)
{
	const struct run_field *field = field_at(i);

	return field->kind == RUN_TEXT ? *text_of(run, field) != NULL
				       : value_of(run, field)->is_known;
}

void store_run_put(const struct store_run *run, size_t i, struct document *d)
{
	const struct run_field *field = field_at(i);
	const struct value *value = value_of(run, field);

	if (field->kind == RUN_TEXT)
		document_put_string(d, field->key, *text_of(run, field));
	else if (field->kind == RUN_MOMENT)
		document_put_time(d, field->key, value->is_known ? value->number : 0);
	else
		store_put_value(d, field->key, *value, field->kind == RUN_SECONDS ? NS_PLACES : 0);
}

/* ---- the run of a job ---- */

/* Texts hold until the row is reset, which is the caller's. */
struct statement *store_read_run(struct store *s, uint64_t job, struct store_run *ret)
{
	struct statement *row;
	int column = 3;

	if (!s->select_run) {
		size_t size;
		FILE *out = open_memstream(&s->select_run, &size);

		if (!out) {
			store_fail_at(s, -ENOMEM, "cannot read the database");
			return NULL;
		}
		print_set(out, "SELECT cluster, manager, job_id", ", %s", false);
		fputs(" FROM runs WHERE job = ?1 ORDER BY submit_ns DESC LIMIT 1", out);
		fclose(out);
	}
	*ret = (struct store_run){};
	row = store_ask(s, s->select_run, NUMBER(job));
	if (!store_next(s, row))
		return NULL;
	ret->cluster = COLUMN_TEXT(row, 0);
	ret->manager = COLUMN_TEXT(row, 1);
	ret->id = COLUMN_TEXT(row, 2);
	for (size_t i = 0; i < run_field_count; i++)
		take_cell(ret, &run_fields[i], row, column++);
	return row;
}

static int set_text(const char *text, char **to)
{
	char *copy = text ? strdup(text) : NULL;

	if (!copy)
		return text ? -ENOMEM : 0;
	free(*to);
	*to = copy;
	return 0;
}

/* A fact of the job, where a record has it: by its key. */
static int apply_field(const struct store_run *run, const struct run_field *field,
		       struct record *record)
{
	for (size_t i = 0; i < record_field_count; i++) {
		const struct record_field *fact = &record_fields[i];

		if (!fact->in_job || strcmp(fact->key, field->key) != 0)
			continue;
		if (fact->type == FIELD_STRING)
			return set_text(*text_of(run, field), record_field_ref(fact, record));
		if (value_of(run, field)->is_known)
			*(int64_t *)record_field_ref(fact, record) =
				(int64_t)value_of(run, field)->number;
	}
	return 0;
}

/* What the manager says wins. */
int store_run_apply(const struct store_run *run, struct record *record)
{
	if (set_text(run->cluster, &record->cluster) < 0 ||
	    set_text(run->manager, &record->job.manager) < 0 ||
	    set_text(run->id, &record->job.id) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < run_field_count; i++) {
		if (apply_field(run, &run_fields[i], record) < 0)
			return -ENOMEM;
	}
	if (run->cores.is_known && !record->reading.values[METRIC_CPU_ALLOCATED].is_known)
		reading_set(&record->reading, METRIC_CPU_ALLOCATED, run->cores.number * 1000);
	return 0;
}

/* ---- which run a record is of ---- */

uint64_t store_find_run_job(struct store *s, const struct run_question *q)
{
	uint64_t job = store_number(
		s,
		"SELECT job FROM runs WHERE sluid IN (?1, ?2) AND manager = ?3 "
		"AND (cluster = ?4 OR ?4 = '') AND job IS NOT NULL ORDER BY id DESC LIMIT 1",
		TEXT(q->sluid), TEXT(q->id), TEXT(q->manager), TEXT(q->cluster));

	if (job)
		return job;
	return store_number(
		s,
		"SELECT job FROM runs WHERE job_id = ?2 AND manager = ?3 "
		"AND (cluster = ?4 OR ?4 = '') AND job IS NOT NULL "
		"AND (sluid IS NULL OR ?1 IS NULL) AND start_ns - " STORE_NEAR_NS
		" <= ?6 AND COALESCE(end_ns, ?6) >= ?5 - " STORE_NEAR_NS
		" ORDER BY CASE WHEN COALESCE(end_ns, ?6) < ?6 THEN end_ns ELSE ?6 END - "
		"CASE WHEN start_ns > ?5 THEN start_ns ELSE ?5 END DESC, id LIMIT 1",
		TEXT(q->sluid), TEXT(q->id), TEXT(q->manager), TEXT(q->cluster),
		NUMBER(q->start_ns), NUMBER(q->end_ns));
}

static void make_stale(struct store *s, uint64_t job)
{
	store_do(s, "UPDATE jobs SET is_stale = 1 WHERE id = ?1", NUMBER(job));
}

/* Records of @job that are another run's go to that run's job. */
static void sort_records(struct store *s, uint64_t job)
{
	_cleanup_(id_list_clear) struct id_list records = {};

	store_find(s, &records, "SELECT id FROM records WHERE job = ?1 ORDER BY id", NUMBER(job));
	for (size_t i = 0; i < records.count && !s->failure; i++) {
		struct statement *row = store_ask(
			s,
			"SELECT cluster, manager, job_id, sluid, start_ns - clock_offset_ns, end_ns "
			"FROM records WHERE id = ?1",
			NUMBER(records.items[i]));
		uint64_t other = 0;

		if (store_next(s, row))
			other = store_find_run_job(
				s, &(struct run_question){ .cluster = COLUMN_TEXT(row, 0),
							   .manager = COLUMN_TEXT(row, 1),
							   .id = COLUMN_TEXT(row, 2),
							   .sluid = COLUMN_TEXT(row, 3),
							   .start_ns = COLUMN_NUMBER(row, 4),
							   .end_ns = COLUMN_NUMBER(row, 5) });
		store_reset(row);
		if (!other || other == job)
			continue;
		store_do(s, "UPDATE records SET job = ?2 WHERE id = ?1", NUMBER(records.items[i]),
			 NUMBER(other));
		make_stale(s, other);
		make_stale(s, job);
	}
}

/* Jobs that have records of this run, or may have. */
static void find_candidates(struct store *s, const struct store_run *run, struct id_list *ret)
{
	const uint64_t end_ns = run->end.is_known ? run->end.number : INT64_MAX;

	store_find(s, ret,
		   "SELECT id FROM jobs WHERE sluid = ?1 AND manager = ?2 AND cluster IN (?3, '') "
		   "UNION SELECT id FROM jobs WHERE job_id = ?1 AND manager = ?2 "
		   "AND cluster IN (?3, '') "
		   "UNION SELECT id FROM jobs WHERE job_id = ?4 AND manager = ?2 "
		   "AND cluster IN (?3, '') AND (sluid IS NULL OR ?1 IS NULL) "
		   "AND start_ns <= ?6 AND end_ns >= ?5 - " STORE_NEAR_NS " ORDER BY 1",
		   TEXT(run->sluid), TEXT(run->manager), TEXT(run->cluster), TEXT(run->id),
		   NUMBER(run->start.number),
		   NUMBER(MIN(end_ns, INT64_MAX - UINT64_C(60000000000)) + UINT64_C(60000000000)));
}

static uint64_t choose_job(struct store *s, const struct store_run *run,
			   const struct id_list *candidates)
{
	for (size_t i = 0; i < candidates->count; i++) {
		if (!store_number(s, "SELECT count(*) FROM runs WHERE job = ?1",
				  NUMBER(candidates->items[i])))
			return candidates->items[i];
	}
	return store_number(
		s,
		"INSERT INTO jobs (cluster, node, manager, job_id, start_ns, end_ns, is_stale) "
		"VALUES (?1, '', ?2, ?3, ?4, ?4, 1) RETURNING id",
		TEXT(run->cluster), TEXT(run->manager), TEXT(run->id), NUMBER(run->submit.number));
}

/* Of all that is said of it. */
static uint64_t digest_of(const struct store_run *run)
{
	uint64_t hash = FNV_BEGIN;

	for (size_t i = 0; i < run_field_count; i++) {
		const struct arg arg = arg_of(run, &run_fields[i]);

		hash = fnv_bytes(hash, &arg.is_known, sizeof(arg.is_known));
		hash = fnv_bytes(hash, &arg.number, sizeof(arg.number));
		if (arg.is_known && arg.type == ARG_TEXT)
			hash = fnv_bytes(hash, arg.bytes, arg.number);
	}
	return hash;
}

static void write_run(struct store *s, const struct store_run *run, uint64_t digest, uint64_t job,
		      uint64_t now_ns)
{
	struct arg args[7 + RUN_FIELDS_MAX] = {
		TEXT(run->cluster), TEXT(run->manager), TEXT(run->id), NUMBER(run->submit.number),
		NUMBER(digest),	    NUMBER(now_ns),	NUMBER(job),
	};

	for (size_t i = 0; i < run_field_count; i++)
		args[7 + i] = arg_of(run, &run_fields[i]);
	(void)store_get(s, store_ask_with(s, s->put_run, args, 7 + run_field_count));
}

static int add_to_last_run(struct store *s, const struct store_run *more, bool *ret_is_news,
			   struct error *err)
{
	const uint64_t job = store_number(
		s,
		"SELECT job FROM (SELECT job, end_ns FROM runs WHERE cluster = ?1 "
		"AND manager = ?2 AND job_id = ?3 AND submit_ns <= ?4 "
		"ORDER BY submit_ns DESC LIMIT 1) AS latest WHERE end_ns IS NULL",
		TEXT(more->cluster), TEXT(more->manager), TEXT(more->id), NUMBER(more->end.number));
	struct store_run run;
	struct statement *row = job ? store_read_run(s, job, &run) : NULL;
	int r;

	*ret_is_news = false;
	if (!row)
		return store_told(s, err);
	store_run_add(&run, more);
	r = run.submit.is_known ? store_put_run(s, &run, ret_is_news, err) : 0;
	store_reset(row);
	return r;
}

int store_put_run(struct store *s, const struct store_run *run, bool *ret_is_news,
		  struct error *err)
{
	_cleanup_(id_list_clear) struct id_list candidates = {};
	const uint64_t digest = digest_of(run);
	bool is_there, is_known;
	struct statement *row;
	uint64_t job;

	if (!run->submit.is_known)
		return add_to_last_run(s, run, ret_is_news, err);
	row = store_ask(s,
			"SELECT digest, job FROM runs WHERE cluster = ?1 "
			"AND manager = ?2 AND job_id = ?3 AND submit_ns = ?4",
			TEXT(run->cluster), TEXT(run->manager), TEXT(run->id),
			NUMBER(run->submit.number));
	is_there = store_next(s, row);
	is_known = is_there && COLUMN_NUMBER(row, 0) == digest;
	job = is_there ? COLUMN_NUMBER(row, 1) : 0;
	store_reset(row);
	*ret_is_news = !is_known;
	if (is_known || s->failure)
		return store_told(s, err);
	if (run->start.is_known)
		find_candidates(s, run, &candidates);
	if (!job)
		job = choose_job(s, run, &candidates);
	write_run(s, run, digest, job, clock_now_ns(CLOCK_REALTIME));
	make_stale(s, job);
	for (size_t i = 0; i < candidates.count && !s->failure; i++)
		sort_records(s, candidates.items[i]);
	return store_told(s, err);
}

/* ---- the sync's own ---- */

bool store_may_sync(struct store *s, uint64_t now_ns)
{
	bool may = s->database->may_work(s, now_ns);

	return store_told(s, NULL) == 0 && may;
}

uint64_t store_read_mark(struct store *s, const char *name)
{
	return store_number(s, "SELECT value FROM meta WHERE name = ?1", TEXT(name));
}

void store_set_mark(struct store *s, const char *name, uint64_t number)
{
	store_do(s,
		 "INSERT INTO meta (name, value) VALUES (?1, ?2) "
		 "ON CONFLICT (name) DO UPDATE SET value = ?2",
		 TEXT(name), NUMBER(number));
}

void store_clear_coordinators(struct store *s, const char *manager)
{
	store_do(s, "DELETE FROM coordinators WHERE manager = ?1", TEXT(manager));
}

void store_add_coordinator(struct store *s, const char *manager, const char *account,
			   const char *user)
{
	store_do(s,
		 "INSERT INTO coordinators (manager, account, user_name) VALUES (?1, ?2, ?3) "
		 "ON CONFLICT DO NOTHING",
		 TEXT(manager), TEXT(account), TEXT(user));
}

void store_count_unmeasured(struct store *s, uint64_t since_ns, uint64_t *ret_jobs,
			    uint64_t *ret_unmeasured)
{
	struct statement *row =
		store_ask(s,
			  "SELECT count(*), count(CASE WHEN is_measured = 0 THEN 1 END) FROM jobs "
			  "WHERE start_ns >= ?1 AND is_measured IS NOT NULL AND has_begun = 1",
			  NUMBER(since_ns));
	bool is_there = store_next(s, row);

	*ret_jobs = is_there ? COLUMN_NUMBER(row, 0) : 0;
	*ret_unmeasured = is_there ? COLUMN_NUMBER(row, 1) : 0;
	store_reset(row);
	(void)store_told(s, NULL);
}
