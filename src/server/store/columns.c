/* SPDX-License-Identifier: MIT */
/* Columns that are made of the metric table: of jobs, their mounts and their steps. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/formula.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/record.h"
#include "server/store/store_internal.h"

#define NAME_SIZE 96

static bool is_of_mounts(const struct metric *metric)
{
	return metric->scope == SCOPE_MOUNT || metric->scope == SCOPE_MOUNT_OP;
}

static bool is_scalar(const struct metric *metric)
{
	return metric->kind != KIND_HISTOGRAM &&
	       (metric->scope == SCOPE_JOB || is_of_mounts(metric) ||
		metric->scope == SCOPE_SOCKET);
}

/* ---- the columns of jobs ---- */

struct columns {
	size_t count;
	enum metric_id ids[STORE_VALUES_MAX];
	char names[STORE_VALUES_MAX][NAME_SIZE];
};

/* Made at the first call, of a table that never changes. */
static const struct columns *columns_get(void)
{
	static struct columns columns;

	for (size_t id = columns.count ? METRIC_RECORD_END : 0; id < METRIC_RECORD_END; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);

		if (!is_scalar(metric))
			continue;
		assert(columns.count < STORE_VALUES_MAX);
		snprintf(columns.names[columns.count], NAME_SIZE, "%s%s.%s",
			 is_of_mounts(metric) ? "io." : "", metric->section, metric->key);
		columns.ids[columns.count++] = (enum metric_id)id;
	}
	return &columns;
}

size_t store_value_count(void)
{
	return columns_get()->count;
}

const char *store_value_name(size_t i)
{
	return columns_get()->names[i];
}

const struct metric *store_value_metric(size_t i)
{
	return metric_get(columns_get()->ids[i]);
}

/* ---- tables of them ---- */

struct indexed_table {
	const char *name;
	bool (*has)(const struct metric *metric); /* the columns that it has of those of jobs */
};

static bool is_of_jobs(const struct metric *metric)
{
	return metric->scope == SCOPE_JOB;
}

static const struct indexed_table tables[] = {
	{ "jobs", is_scalar },
	{ "job_mounts", is_of_mounts },
	{ "job_steps", is_of_jobs },
};

static int find_columns(struct store *s, const struct indexed_table *table,
			bool is_there[STORE_VALUES_MAX], struct error *err)
{
	sqlite3_stmt *statement = NULL;
	char text[64];
	int r;

	snprintf(text, sizeof(text), "PRAGMA table_info(%s)", table->name);
	if (sqlite3_prepare_v2(s->db, text, -1, &statement, NULL) != SQLITE_OK)
		return store_fail(s, err);
	while ((r = store_step(s, statement, err)) > 0) {
		const char *name = store_column_text(statement, 1);

		for (size_t i = 0; i < store_value_count(); i++)
			is_there[i] |= name && strcmp(name, store_value_name(i)) == 0;
	}
	sqlite3_finalize(statement);
	return r;
}

static int add_columns(struct store *s, const struct indexed_table *table,
		       bool is_there[STORE_VALUES_MAX], struct error *err)
{
	for (size_t i = 0; i < store_value_count(); i++) {
		char text[NAME_SIZE + 64];

		if (is_there[i] || !table->has(store_value_metric(i)))
			continue;
		snprintf(text, sizeof(text), "ALTER TABLE %s ADD COLUMN \"%s\" BIGINT", table->name,
			 store_value_name(i));
		if (sqlite3_exec(s->db, text, NULL, NULL, NULL) != SQLITE_OK)
			return store_fail(s, err);
		is_there[i] = true;
	}
	return 0;
}

/* ---- statements ---- */

#define JOB_FIELDS 14 /* places before the values in SQL_SET_JOB_VALUES */

/* "UPDATE jobs SET start_ns = ?2, ..., "cpu.user_seconds" = ?15, ... WHERE id = ?1" */
static char *make_update(void)
{
	static const char *const fields[] = { "node",  "start_ns",  "end_ns",  "elapsed_ns",
					      "nodes", "final",	    "state",   "name",
					      "uid",   "user_name", "account", "partition_name",
					      "reason" };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	_Static_assert(ARRAY_SIZE(fields) == JOB_FIELDS - 1, "they begin behind the job's number");
	if (!out)
		return NULL;
	fputs("UPDATE jobs SET is_stale = 0", out);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		fprintf(out, ", %s = ?%zu", fields[i], i + 2);
	for (size_t i = 0; i < store_value_count(); i++)
		fprintf(out, ", \"%s\" = ?%zu", store_value_name(i), JOB_FIELDS + 1 + i);
	fputs(" WHERE id = ?1", out);
	fclose(out);
	return text;
}

/* "INSERT INTO job_mounts (job, mount, fstype, ...) VALUES (?1, ?2, ?3, ...)" */
static char *make_insert(const struct indexed_table *table, const char *fields, size_t count)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "INSERT INTO %s (%s", table->name, fields);
	for (size_t i = 0; i < store_value_count(); i++) {
		if (!table->has(store_value_metric(i)))
			continue;
		fprintf(out, ", \"%s\"", store_value_name(i));
		count++;
	}
	fputs(") VALUES (?1", out);
	for (size_t i = 2; i <= count; i++)
		fprintf(out, ", ?%zu", i);
	fputs(")", out);
	fclose(out);
	return text;
}

int store_open_columns(struct store *s, enum store_mode mode, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && r >= 0; i++) {
		bool others[STORE_VALUES_MAX] = {}, *is_there = i == 0 ? s->has_column : others;

		r = find_columns(s, &tables[i], is_there, err);
		if (r >= 0 && mode == STORE_WRITE)
			r = add_columns(s, &tables[i], is_there, err);
	}
	if (r < 0 || mode == STORE_READ)
		return r;
	s->made[SQL_SET_JOB_VALUES] = make_update();
	s->made[SQL_ADD_MOUNT] = make_insert(&tables[1], "job, mount, fstype", 3);
	s->made[SQL_ADD_STEP] = make_insert(&tables[2], "job, step, start_ns, end_ns", 4);
	if (!s->made[SQL_SET_JOB_VALUES] || !s->made[SQL_ADD_MOUNT] || !s->made[SQL_ADD_STEP])
		return error_set_errno(err, ENOMEM, "cannot open the database");
	return 0;
}

char *store_columns_to_read(const struct store *s)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < store_value_count(); i++)
		fprintf(out, "%s%s%s%s", i ? ", " : "", s->has_column[i] ? "\"" : "",
			s->has_column[i] ? store_value_name(i) : "NULL",
			s->has_column[i] ? "\"" : "");
	fclose(out);
	return text;
}

/* ---- values ---- */

static struct value known(bool is_known, uint64_t number)
{
	/* a sum of what hostile records say may be more than a column holds */
	return (struct value){ .number = number & VALUE_MAX,
			       .is_known = is_known && number <= VALUE_MAX };
}

static struct value value_of_job(const struct record *record, enum metric_id id)
{
	uint64_t sum = 0;
	bool is_known;

	if (metric_get(id)->scope == SCOPE_JOB)
		return record->reading.values[id];
	is_known = is_of_mounts(metric_get(id)) ? formula_data_total(record, id, &sum)
						: record_total(record, id, &sum);
	return known(is_known, sum);
}

void store_bind_job(sqlite3_stmt *statement, int place, const struct record *record)
{
	for (size_t i = 0; i < store_value_count(); i++) {
		struct value value = value_of_job(record, columns_get()->ids[i]);

		store_bind_value(statement, place++, &value);
	}
}

void store_bind_mount(sqlite3_stmt *statement, int place, const struct mount_row *row)
{
	for (size_t i = 0; i < store_value_count(); i++) {
		enum metric_id id = columns_get()->ids[i];
		struct value value;

		if (!is_of_mounts(metric_get(id)))
			continue;
		value = known(mount_row_knows(row, id), mount_row_number(row, id));
		store_bind_value(statement, place++, &value);
	}
}

void store_bind_step(sqlite3_stmt *statement, int place, const struct value *values)
{
	for (size_t i = 0; i < store_value_count(); i++) {
		enum metric_id id = columns_get()->ids[i];

		if (is_of_jobs(metric_get(id)))
			store_bind_value(statement, place++, &values[id]);
	}
}
