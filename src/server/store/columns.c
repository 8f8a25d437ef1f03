/* SPDX-License-Identifier: MIT */
/* What stands in the rows of jobs, their mounts and their steps: columns of who and what, and those
 * that are made of the metric table. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/document.h"
#include "model/job_row.h"
#include "model/metric_json.h"
#include "model/record.h"
#include "server/store/store_internal.h"

#define HEAD_MAX 20 /* columns of a table before those of metrics */
#define JOB_COLUMNS                                                                                 \
	"cluster, node, manager, job_id, name, user_name, account, partition_name, state, reason, " \
	"uid, final, start_ns, end_ns, elapsed_ns, nodes"

/* ---- the columns of metrics ---- */

struct columns {
	size_t count;
	enum metric_id ids[STORE_VALUES_MAX];
	char names[STORE_VALUES_MAX][JOB_ROW_KEY_SIZE];
};

/* Made at the first call, of a table that never changes. */
static const struct columns *columns_get(void)
{
	static struct columns columns;

	for (size_t id = columns.count ? JOB_ROW_VALUES : 0; id < JOB_ROW_VALUES; id++) {
		assert(columns.count < STORE_VALUES_MAX);
		if (job_row_key((enum metric_id)id, columns.names[columns.count]))
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

static const struct table {
	const char *name, *head; /* columns before those of metrics */
	size_t head_count;
	bool has_job, has_mounts, has_sockets; /* metrics of that scope */
} tables[TABLE_COUNT] = {
	[TABLE_JOBS] = { "jobs", "id, is_stale, " JOB_COLUMNS, 18, true, true, true },
	[TABLE_MOUNTS] = { "job_mounts", "job, mount, fstype", 3, .has_mounts = true },
	[TABLE_STEPS] = { "job_steps", "job, step, start_ns, end_ns", 4, .has_job = true },
};

static bool has_value(const struct table *table, size_t i)
{
	enum metric_scope scope = store_value_metric(i)->scope;

	return scope == SCOPE_JOB      ? table->has_job
	       : scope == SCOPE_SOCKET ? table->has_sockets
				       : table->has_mounts;
}

static int find_columns(struct store *s, const struct table *table, bool *is_there,
			struct error *err)
{
	sqlite3_stmt *names = store_prepare(s, "SELECT name FROM pragma_table_info(?1)",
					    ARGS(TEXT(table->name)));
	int r;

	while ((r = store_step(s, names, err)) > 0) {
		for (size_t i = 0; i < store_value_count(); i++)
			is_there[i] |= strcmp(store_column_text(names, 0), store_value_name(i)) ==
				       0;
	}
	sqlite3_finalize(names);
	return r;
}

static int add_columns(struct store *s, const struct table *table, bool *is_there,
		       struct error *err)
{
	for (size_t i = 0; i < store_value_count(); i++) {
		char text[JOB_ROW_KEY_SIZE + 64];

		if (is_there[i] || !has_value(table, i))
			continue;
		snprintf(text, sizeof(text), "ALTER TABLE %s ADD COLUMN \"%s\" BIGINT", table->name,
			 store_value_name(i));
		if (sqlite3_exec(s->db, text, NULL, NULL, NULL) != SQLITE_OK)
			return store_fail(s, err);
		is_there[i] = true;
	}
	return 0;
}

/* "INSERT INTO job_mounts (job, mount, fstype, ...) VALUES (?1, ?2, ?3, ...)" */
static char *make_insert(const struct table *table)
{
	char *text = NULL;
	size_t size, count = table->head_count;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "INSERT INTO %s (%s", table->name, table->head);
	for (size_t i = 0; i < store_value_count(); i++) {
		if (has_value(table, i) && ++count)
			fprintf(out, ", \"%s\"", store_value_name(i));
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
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		bool others[STORE_VALUES_MAX] = {};
		bool *is_there = i == TABLE_JOBS ? s->has_column : others;
		int r = find_columns(s, &tables[i], is_there, err);

		if (r >= 0 && mode == STORE_WRITE)
			r = add_columns(s, &tables[i], is_there, err);
		if (r < 0)
			return r;
		s->inserts[i] = make_insert(&tables[i]);
		if (!s->inserts[i])
			return error_set_errno(err, ENOMEM, "cannot open the database");
	}
	return 0;
}

/* ---- writing ---- */

static struct value known(bool is_known, uint64_t number)
{
	/* a sum of what hostile records say may be more than a column holds */
	return (struct value){ .number = number & VALUE_MAX,
			       .is_known = is_known && number <= VALUE_MAX };
}

/* A row, with the @values of all columns, of which the table has its own. */
static int insert(struct store *s, enum store_table which, const struct arg *head,
		  const struct value *values, struct error *err)
{
	struct arg args[HEAD_MAX + STORE_VALUES_MAX];
	size_t count = tables[which].head_count;

	memcpy(args, head, count * sizeof(*args));
	for (size_t i = 0; i < store_value_count(); i++) {
		if (has_value(&tables[which], i))
			args[count++] = NUMBER_IF(values[i].is_known, values[i].number);
	}
	return store_run(s, store_ask(s, s->inserts[which], args, count), err);
}

static int add_job(struct store *s, uint64_t id, const struct store_job *job, struct error *err)
{
	const struct arg head[] = {
		NUMBER(id),
		NUMBER(0),
		TEXT(job->cluster),
		TEXT(job->node),
		TEXT(job->manager),
		TEXT(job->id),
		TEXT(job->name),
		TEXT(job->user),
		TEXT(job->account),
		TEXT(job->partition),
		TEXT(job->state),
		TEXT(job->reason),
		NUMBER_IF(job->uid >= 0, job->uid),
		NUMBER(job->is_final),
		NUMBER(job->start_ns),
		NUMBER(job->end_ns),
		NUMBER(job->elapsed_ns.number),
		NUMBER(job->nodes.number),
	};

	return insert(s, TABLE_JOBS, head, job->values, err);
}

static int add_mount(struct store *s, uint64_t job, const struct mount_row *row, struct error *err)
{
	const struct arg head[] = { NUMBER(job), TEXT(row->mount), TEXT(row->fstype) };
	struct value values[STORE_VALUES_MAX];

	for (size_t i = 0; i < store_value_count(); i++) {
		enum metric_id id = columns_get()->ids[i];

		if (has_value(&tables[TABLE_MOUNTS], i))
			values[i] = known(mount_row_knows(row, id), mount_row_number(row, id));
	}
	return insert(s, TABLE_MOUNTS, head, values, err);
}

static int add_step(struct store *s, uint64_t job, const struct step *step, struct error *err)
{
	const struct arg head[] = { NUMBER(job), TEXT(step->id),
				    NUMBER_IF(step->start_ns, step->start_ns),
				    NUMBER_IF(step->end_ns, step->end_ns) };
	struct value values[STORE_VALUES_MAX];

	for (size_t i = 0; i < store_value_count(); i++) {
		if (has_value(&tables[TABLE_STEPS], i))
			values[i] = step->values[columns_get()->ids[i]];
	}
	return insert(s, TABLE_STEPS, head, values, err);
}

int store_write_job(struct store *s, uint64_t id, struct store_job *job,
		    const struct record *record, struct error *err)
{
	struct value values[STORE_VALUES_MAX];
	int r;

	for (size_t i = 0; i < store_value_count(); i++) {
		enum metric_id metric = columns_get()->ids[i];
		uint64_t sum = 0;
		bool is_known;

		if (metric < METRIC_JOB_COUNT) {
			values[i] = record->reading.values[metric];
			continue;
		}
		is_known = record_total(record, metric, &sum);
		values[i] = known(is_known, sum);
	}
	job->values = values;
	r = add_job(s, id, job, err);
	for (size_t i = 0; i < record->reading.mount_count && r >= 0; i++)
		r = add_mount(s, id, &record->reading.mounts[i], err);
	for (size_t i = 0; i < record->steps.count && r >= 0; i++)
		r = add_step(s, id, &record->steps.items[i], err);
	return r;
}

/* ---- reading ---- */

void store_print_columns(const struct store *s, FILE *out)
{
	fputs(JOB_COLUMNS, out);
	for (size_t i = 0; i < store_value_count(); i++)
		fprintf(out, s->has_column[i] ? ", \"%s\"" : ", NULL", store_value_name(i));
}

static struct value read_value(sqlite3_stmt *row, int column)
{
	return known(sqlite3_column_type(row, column) == SQLITE_INTEGER,
		     store_column_number(row, column));
}

struct store_job store_read_job(sqlite3_stmt *row, struct value *values)
{
	struct value uid = read_value(row, 10);
	const struct store_job job = {
		.cluster = store_column_text(row, 0),
		.node = store_column_text(row, 1),
		.manager = store_column_text(row, 2),
		.id = store_column_text(row, 3),
		.name = store_column_text(row, 4),
		.user = store_column_text(row, 5),
		.account = store_column_text(row, 6),
		.partition = store_column_text(row, 7),
		.state = store_column_text(row, 8),
		.reason = store_column_text(row, 9),
		.uid = uid.is_known ? (int64_t)uid.number : -1,
		.is_final = store_column_number(row, 11),
		.start_ns = store_column_number(row, 12),
		.end_ns = store_column_number(row, 11) ? store_column_number(row, 13) : 0,
		.elapsed_ns = read_value(row, 14),
		.nodes = read_value(row, 15),
		.values = values,
	};

	for (size_t i = 0; i < store_value_count(); i++)
		values[i] = read_value(row, 16 + (int)i);
	return job;
}

static void put_decimal(struct document *d, const char *key, const struct value *value,
			unsigned int places)
{
	document_key(d, key);
	if (value->is_known)
		document_decimal(d, value->number, places);
	else
		document_null(d);
}

static const char *text_or_null(const char *text)
{
	return text && *text ? text : NULL;
}

void store_job_format(const struct store_job *job, struct document *d)
{
	const struct value uid = known(job->uid >= 0, (uint64_t)job->uid);

	document_begin_map(d);
	document_put_string(d, "cluster", text_or_null(job->cluster));
	document_put_string(d, "node", text_or_null(job->node));
	document_put_string(d, "manager", job->manager);
	document_put_string(d, "id", job->id);
	document_put_string(d, "name", job->name);
	document_put_string(d, "user", job->user);
	put_decimal(d, "uid", &uid, 0);
	document_put_string(d, "account", job->account);
	document_put_string(d, "partition", job->partition);
	document_put_string(d, "state", job->state);
	document_put_boolean(d, "final", job->is_final);
	document_put_time(d, "start", job->start_ns);
	document_put_time(d, "end", job->end_ns);
	put_decimal(d, "elapsed_seconds", &job->elapsed_ns, metric_unit_places(UNIT_SECONDS));
	put_decimal(d, "nodes", &job->nodes, 0);
	document_put_string(d, "reason", job->reason);
	for (size_t i = 0; i < store_value_count(); i++)
		put_decimal(d, store_value_name(i), &job->values[i],
			    metric_unit_places(store_value_metric(i)->unit));
	document_end_map(d);
}
