/* SPDX-License-Identifier: MIT */
/* The rows of jobs, their mounts and their steps: columns of their facts, and those that are made
 * of the metric table. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/formula.h"
#include "basic/cleanup.h"
#include "basic/text.h"
#include "model/document.h"
#include "model/job_name.h"
#include "model/job_row.h"
#include "model/metric_json.h"
#include "model/record.h"
#include "model/record_field.h"
#include "server/store/store_internal.h"

#define HEAD_MAX 24 /* columns of a table before those of metrics */
#define JOB_NUMBERS 10 /* before the texts */
#define JOB_COLUMNS                                                                                                                               \
	"final, start_ns, end_ns, elapsed_ns, nodes, uid, exit_code, exit_signal, is_measured, has_begun, cluster, node, manager, job_id, name, " \
	"user_name, account, partition_name, state, reason"

#define AT(member) offsetof(struct store_job, member)
static const struct text { /* in the order of the columns */
	const char *key;
	size_t offset;
	const char *help;
} texts[] = {
	{ "cluster", AT(cluster), "Where it ran, as the nodes' agents have it set." },
	{ "node", AT(node), "Its node; null where it ran on several." },
	{ "manager", AT(manager), "What made the job: slurm, pbs, run..." },
	{ "id", AT(id), "Its id." },
	{ "name", AT(name), "Its name." },
	{ "user", AT(user), "Whose it is." },
	{ "account", AT(account), "What is charged for it." },
	{ "partition", AT(partition), "The partition or queue." },
	{ "state", AT(state), "As its manager says it; RUNNING until it has ended." },
	{ "reason", AT(reason), "The class of job that it is, or what stands out first." },
};

static const char **text_of(const struct store_job *job, size_t i)
{
	return (const char **)(void *)((char *)job + texts[i].offset);
}

/* ---- the columns of facts ---- */

#define PART "part" /* the column of job_name_of_part() */
#define SPARK "spark"
#define BESIDE_FACTS 2 /* these columns */

struct facts {
	size_t count;
	const struct record_field *items[STORE_FACTS_MAX];
};

/* Made at the first call, of a table that never changes. */
static const struct facts *facts_get(void)
{
	static struct facts facts;

	for (size_t i = facts.count ? record_field_count : 0; i < record_field_count; i++) {
		if (!(record_fields[i].fact & FACT_COLUMN))
			continue;
		assert(facts.count < STORE_FACTS_MAX);
		facts.items[facts.count++] = &record_fields[i];
	}
	return &facts;
}

size_t store_fact_count(void)
{
	return facts_get()->count;
}

const struct record_field *store_fact(size_t i)
{
	return facts_get()->items[i];
}

static bool is_text(const struct record_field *fact)
{
	return fact->type == FIELD_STRING;
}

size_t store_add_columns(struct store *s, const char *table, const struct column_def *columns,
			 size_t count, enum store_mode mode, bool *ret_has)
{
	struct statement *names = store_ask(s, s->database->columns, TEXT(table));
	_cleanup_free_ char *text = NULL;
	size_t size, lacks = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out) {
		store_fail_at(s, -ENOMEM, "cannot open the database");
		return 0;
	}
	memset(ret_has, 0, count * sizeof(*ret_has));
	while (store_next(s, names)) {
		for (size_t i = 0; i < count; i++)
			ret_has[i] |= text_is_equal(COLUMN_TEXT(names, 0), columns[i].name);
	}
	for (size_t i = 0; i < count; i++) {
		if (ret_has[i])
			continue;
		fprintf(out, lacks++ && s->database->alters_at_once ? ", " : "; ALTER TABLE %s ",
			table);
		fprintf(out, "ADD COLUMN \"%s\" %s", columns[i].name,
			columns[i].is_text ? "TEXT" : "BIGINT");
	}
	fclose(out);
	if (!lacks || mode == STORE_READ)
		return lacks;
	store_execute(s, text + strlen("; "));
	memset(ret_has, true, count * sizeof(*ret_has));
	return lacks;
}

/* Facts of jobs, and the indexes for the filters. */
static void open_facts(struct store *s, enum store_mode mode)
{
	struct column_def columns[BESIDE_FACTS + STORE_FACTS_MAX] = { { PART, true },
								      { SPARK, true } };
	bool has[BESIDE_FACTS + STORE_FACTS_MAX];
	size_t lacks;

	for (size_t i = 0; i < store_fact_count(); i++)
		columns[BESIDE_FACTS + i] = (struct column_def){ store_fact(i)->key,
								 is_text(store_fact(i)) };
	lacks = store_add_columns(s, "jobs", columns, BESIDE_FACTS + store_fact_count(), mode, has);
	(void)store_add_columns(s, "records", &columns[1], 1, mode, has);
	s->has_facts = !lacks || mode != STORE_READ;
	if (lacks && mode != STORE_READ)
		store_execute(s,
			      "CREATE INDEX IF NOT EXISTS jobs_part ON jobs (" PART ") WHERE " PART
			      " IS NOT NULL; CREATE INDEX IF NOT EXISTS jobs_sluid ON jobs (sluid) "
			      "WHERE sluid IS NOT NULL");
}

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

#define OF_MOUNTS (1U << SCOPE_MOUNT | 1U << SCOPE_MOUNT_OP)
static const struct table {
	const char *name, *head; /* columns before those of metrics */
	size_t head_count;
	unsigned int scopes; /* of its metrics */
} tables[TABLE_COUNT] = {
	[TABLE_JOBS] = { "jobs", "id, is_stale, " JOB_COLUMNS, 22, ~0U },
	[TABLE_MOUNTS] = { "job_mounts", "job, mount, fstype", 3, OF_MOUNTS },
	[TABLE_STEPS] = { "job_steps", "job, step, start_ns, end_ns", 4, 1U << SCOPE_JOB },
};

static bool has_value(const struct table *table, size_t i)
{
	return table->scopes >> store_value_metric(i)->scope & 1;
}

static void open_table(struct store *s, const struct table *table, enum store_mode mode)
{
	struct column_def columns[STORE_VALUES_MAX];
	bool has[STORE_VALUES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < store_value_count(); i++) {
		if (has_value(table, i))
			columns[count++] = (struct column_def){ store_value_name(i), false };
	}
	(void)store_add_columns(s, table->name, columns, count, mode, has);
	if (table == &tables[TABLE_JOBS]) /* has all of them */
		memcpy(s->has_column, has, sizeof(has));
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
	for (size_t i = 0; table == &tables[TABLE_JOBS] && i < store_fact_count(); i++, count++)
		fprintf(out, ", %s", store_fact(i)->key);
	if (table == &tables[TABLE_JOBS]) {
		fputs(", " PART ", " SPARK, out);
		store_print_run_columns(true, out);
		count += BESIDE_FACTS + store_put_run_facts(NULL, (struct arg[RUN_FIELDS_MAX]){});
	}
	fputs(") VALUES (?1", out);
	for (size_t i = 2; i <= count; i++)
		fprintf(out, ", ?%zu", i);
	fputs(")", out);
	fclose(out);
	return text;
}

void store_open_columns(struct store *s, enum store_mode mode)
{
	static const struct column_def lacks = { "lacks", true };
	bool unused;

	open_facts(s, mode);
	store_open_runs(s, mode);
	(void)store_add_columns(s, "nodes", &lacks, 1, mode, &unused);
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		open_table(s, &tables[i], mode);
		s->inserts[i] = make_insert(&tables[i]);
		if (!s->inserts[i])
			store_fail_at(s, -ENOMEM, "cannot open the database");
	}
}

/* ---- columns that are made of others ---- */

static struct value known(bool is_known, uint64_t number)
{
	/* a sum of what hostile records say may be more than a column holds */
	return (struct value){ .number = number & VALUE_MAX,
			       .is_known = is_known && number <= VALUE_MAX };
}

#define CPU_NS "(CAST(\"cpu.user_seconds\" AS DOUBLE PRECISION) + \"cpu.system_seconds\")"
#define CORE_NS "(CAST(\"cpu.allocated_cores\" AS DOUBLE PRECISION) * elapsed_ns / 1000)"

#define OF_CORES "cpu.user_seconds cpu.system_seconds cpu.allocated_cores"

/* Made by the database. */
static const struct made {
	struct store_column column;
	unsigned int places;
	const char *of; /* metrics that it needs; NULL: what a manager says */
	const char *expression; /* in stored units, in doubles; NULL: not known */
} made[STORE_MADE] = {
	{ { "cpu_efficiency", STORE_NUMBER, "CPU time over elapsed time times allocated cores." },
	  4,
	  OF_CORES,
	  CPU_NS " / NULLIF(" CORE_NS ", 0) * 10000" },
	{ { "memory_efficiency", STORE_NUMBER,
	    "The peak of memory over its limit, of jobs on one node." },
	  4,
	  "memory.peak_bytes memory.limit_bytes",
	  "CASE WHEN nodes = 1 THEN CAST(\"memory.peak_bytes\" AS DOUBLE PRECISION) / "
	  "NULLIF(\"memory.limit_bytes\", 0) * 10000 END" },
	{ { "unused_core_seconds", STORE_NUMBER,
	    "Allocated cores for as long as it took, without its CPU time." },
	  0,
	  OF_CORES,
	  "CASE WHEN " CORE_NS " < " CPU_NS " THEN 0.0 ELSE (" CORE_NS " - " CPU_NS ") / 1e9 END" },
	{ { "wait_seconds", STORE_NUMBER,
	    "How long it waited in the queue, since it could have started." },
	  3,
	  NULL,
	  "CASE WHEN has_begun <> 0 AND start_ns >= eligible_ns THEN "
	  "CAST(start_ns - eligible_ns AS DOUBLE PRECISION) / 1e6 END" },
};

static bool has_all(const struct store *s, const char *metrics)
{
	return metrics ? store_has_metrics(s, metrics) : s->has_runs;
}

/* -1: not known. */
static void print_made(const struct store *s, const struct made *m, FILE *out)
{
	if (has_all(s, m->of))
		fprintf(out,
			"COALESCE(CAST(%s(CASE WHEN %s > 1e15 THEN 1e15 ELSE %s END) AS BIGINT), -1)",
			s->database->truncate, m->expression, m->expression);
	else
		fputs("COALESCE(NULL, -1)", out);
}

/* clang-format off */
static const struct number {
	const struct made *made; /* NULL: an expression */
	const char *of, *expression; /* of: metrics that it needs */
	uint64_t unit; /* in stored units */
} chosen_by[JOB_NUMBER_COUNT] = {
	[JOB_CPU_PERCENT] = { &made[0], .unit = 100 },
	[JOB_MEMORY_PERCENT] = { &made[1], .unit = 100 },
	[JOB_WAIT_S] = { &made[3], .unit = 1000 },
	[JOB_CORES] = { .of = "cpu.allocated_cores", .expression = "\"cpu.allocated_cores\"", .unit = 1000 },
	[JOB_ELAPSED_S] = { .of = "", .expression = "elapsed_ns", .unit = 1000000000 },
};
/* clang-format on */

/* -1: not known. */
static void print_number(const struct store *s, const struct number *n, FILE *out)
{
	if (n->made)
		return print_made(s, n->made, out);
	fprintf(out, "COALESCE(%s, -1)", has_all(s, n->of) ? n->expression : "NULL");
}

void store_print_range(const struct store *s, enum job_number number, const struct job_range *range,
		       FILE *out)
{
	const struct number *n = &chosen_by[number];

	if (!range->above && !range->most)
		return;
	fputs(" AND ", out);
	print_number(s, n, out);
	fprintf(out, " BETWEEN %" PRIu64 " AND %" PRIu64,
		range->above ? MIN(range->above, INT64_MAX / n->unit - 1) * n->unit + 1 : 0,
		range->most ? MIN(range->most, INT64_MAX / n->unit) * n->unit : INT64_MAX);
}

void store_print_place(const struct store *s, enum job_number number, const uint64_t *bounds,
		       size_t count, FILE *out)
{
	fputs("CASE WHEN ", out);
	print_number(s, &chosen_by[number], out);
	fputs(" < 0 THEN -1", out);
	for (size_t i = 0; i < count; i++) {
		fputs(" WHEN ", out);
		print_number(s, &chosen_by[number], out);
		fprintf(out, " <= %" PRIu64 " THEN %zu", bounds[i] * chosen_by[number].unit, i);
	}
	fprintf(out, " ELSE %zu END", count);
}

struct value store_job_number(const struct store_job *job, const char *name)
{
	for (size_t i = 0; i < store_value_count(); i++) {
		if (strcmp(store_value_name(i), name) == 0)
			return job->values[i];
	}
	for (size_t i = 0; i < STORE_MADE; i++) {
		if (strcmp(made[i].column.name, name) == 0)
			return job->made[i];
	}
	return (struct value){};
}

/* ---- writing ---- */

/* @of: the record, its mount_row or its step. */
static struct value value_of(enum store_table which, const void *of, enum metric_id id)
{
	uint64_t sum = 0;
	bool is_known;

	if (which == TABLE_STEPS)
		return ((const struct step *)of)->values[id];
	if (which == TABLE_MOUNTS)
		return known(mount_row_knows(of, id), mount_row_number(of, id));
	if (id < METRIC_JOB_COUNT)
		return ((const struct record *)of)->reading.values[id];
	if (metric_get(id)->scope == SCOPE_SOCKET)
		is_known = record_total(of, id, &sum);
	else
		is_known = formula_data_total(of, id, &sum);
	return known(is_known, sum);
}

static size_t put_facts(const struct record *record, const char *part, struct arg *args)
{
	size_t count = 0;

	for (size_t i = 0; i < store_fact_count(); i++) {
		const void *at = record_field_get(store_fact(i), record);
		int64_t number = -1;
		bool is_known;

		if (is_text(store_fact(i))) {
			args[count++] = TEXT(*(char *const *)at);
			continue;
		}
		is_known = record_field_number(store_fact(i), record, &number);
		args[count++] = NUMBER_IF(is_known, number);
	}
	args[count++] = TEXT(part);
	return count;
}

/* @job: of jobs; else NULL. */
static void insert(struct store *s, enum store_table which, const struct arg *head, const void *of,
		   const struct store_job *job)
{
	struct arg
		args[HEAD_MAX + STORE_VALUES_MAX + STORE_FACTS_MAX + BESIDE_FACTS + RUN_FIELDS_MAX];
	_cleanup_free_ char *part = NULL;
	size_t count = tables[which].head_count;

	memcpy(args, head, count * sizeof(*args));
	for (size_t i = 0; i < store_value_count(); i++) {
		struct value value;

		if (!has_value(&tables[which], i))
			continue;
		value = value_of(which, of, columns_get()->ids[i]);
		args[count++] = NUMBER_IF(value.is_known, value.number);
	}
	if (job) {
		const struct record *record = of;

		part = job_name_of_part(record->job.id, record->job.array_id,
					record->job.array_index, record->job.het_offset);
		count += put_facts(record, part, args + count);
		args[count++] = TEXT(job->spark);
		count += store_put_run_facts(job->is_known ? &job->run : NULL, args + count);
	}
	store_finish(s, store_ask_with(s, s->inserts[which], args, count));
}

void store_write_job(struct store *s, uint64_t id, const struct store_job *job,
		     const struct record *record)
{
	const uint64_t numbers[] = { job->is_final, job->start_ns, job->end_ns };
	struct arg head[HEAD_MAX] = { NUMBER(id), NUMBER(0) };
	size_t count = 2;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		head[count++] = NUMBER(numbers[i]);
	head[count++] = NUMBER_IF(job->elapsed_ns.is_known, job->elapsed_ns.number);
	head[count++] = NUMBER_IF(job->nodes.is_known, job->nodes.number);
	head[count++] = NUMBER_IF(job->uid >= 0, job->uid);
	head[count++] = NUMBER_IF(job->exit_code.is_known, job->exit_code.number);
	head[count++] = NUMBER_IF(job->signal.is_known, job->signal.number);
	head[count++] = NUMBER_IF(job->is_known, !job->is_unmeasured);
	head[count++] = NUMBER(!job->waits);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		head[count++] = TEXT(*text_of(job, i));
	insert(s, TABLE_JOBS, head, record, job);
	for (size_t i = 0; i < record->reading.mount_count; i++) {
		const struct mount_row *row = &record->reading.mounts[i];

		insert(s, TABLE_MOUNTS,
		       (struct arg[]){ NUMBER(id), TEXT(row->mount), TEXT(row->fstype) }, row,
		       NULL);
	}
	for (size_t i = 0; i < record->steps.count; i++) {
		const struct step *step = &record->steps.items[i];
		const struct arg of_step[] = { NUMBER(id), TEXT(step->id),
					       NUMBER_IF(step->start_ns, step->start_ns),
					       NUMBER_IF(step->end_ns, step->end_ns) };

		insert(s, TABLE_STEPS, of_step, step, NULL);
	}
}

void store_print_columns(const struct store *s, const bool *wanted, FILE *out)
{
	size_t first = store_column_count() - store_value_count() - STORE_MADE;

	fputs(JOB_COLUMNS, out);
	for (size_t i = 0; i < store_value_count(); i++)
		fprintf(out,
			s->has_column[i] && (!wanted || wanted[first + i]) ? ", \"%s\"" : ", NULL",
			store_value_name(i));
	for (size_t i = 0; i < store_fact_count(); i++)
		fprintf(out, ", %s", s->has_facts ? store_fact(i)->key : "NULL");
	fputs(s->has_facts ? ", " SPARK : ", NULL", out);
	store_print_run_columns(s->has_runs, out);
	for (size_t i = 0; i < STORE_MADE; i++) {
		fputs(", ", out);
		if (!wanted || wanted[first + store_value_count() + i])
			print_made(s, &made[i], out);
		else
			fputs("NULL", out);
	}
}

struct value store_value(const struct statement *row, int column)
{
	const struct cell cell = store_cell(row, column);

	return known(cell.is_known, cell.number);
}

struct store_job store_read_job(const struct statement *row, struct value *values)
{
	struct value uid = store_value(row, 5);
	int column = JOB_NUMBERS;
	struct store_job job = {
		.is_final = COLUMN_NUMBER(row, 0),
		.start_ns = COLUMN_NUMBER(row, 1),
		.end_ns = COLUMN_NUMBER(row, 0) ? COLUMN_NUMBER(row, 2) : 0,
		.elapsed_ns = store_value(row, 3),
		.nodes = store_value(row, 4),
		.exit_code = store_value(row, 6),
		.signal = store_value(row, 7),
		.is_known = store_cell(row, 8).is_known,
		.is_unmeasured = store_cell(row, 8).is_known && !COLUMN_NUMBER(row, 8),
		.waits = store_cell(row, 9).is_known && !COLUMN_NUMBER(row, 9),
		.uid = uid.is_known ? (int64_t)uid.number : -1,
		.values = values,
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		*text_of(&job, i) = COLUMN_TEXT(row, column++);
	for (size_t i = 0; i < store_value_count(); i++)
		values[i] = store_value(row, column++);
	for (size_t i = 0; i < store_fact_count(); i++) {
		if (is_text(store_fact(i)))
			job.facts[i].text = COLUMN_TEXT(row, column++);
		else
			job.facts[i].number = store_value(row, column++);
	}
	job.spark = COLUMN_TEXT(row, column++);
	column = store_read_run_facts(row, column, &job.run);
	for (size_t i = 0; i < STORE_MADE; i++)
		job.made[i] = store_value(row, column++);
	return job;
}

void store_put_value(struct document *d, const char *key, struct value value, unsigned int places)
{
	document_key(d, key);
	if (value.is_known)
		document_decimal(d, value.number, places);
	else
		document_null(d);
}

/* ---- as a list shows them ---- */

/* The columns between the facts and the metrics. */
enum { UID, FINAL, MEASURED, START, END, ELAPSED, NODES, EXIT_CODE, SIGNAL, FIXED_COUNT };
/* clang-format off */
static const struct fixed {
	struct store_column column;
	const char *order; /* what it is ordered by, as SQL: a text of ours, and none of a request; NULL: nothing */
	size_t value; /* in struct store_job; 0: it is none there */
} fixed[FIXED_COUNT] = {
	[UID] = { { "uid", STORE_NUMBER, "The user's number." } },
	[FINAL] = { { "final", STORE_BOOLEAN, "The job has ended, and all its nodes have said so." } },
	[MEASURED] = { { "measured", STORE_BOOLEAN, "A node sent a record of it; else the manager alone knows it." } },
	[START] = { { "start", STORE_TIME, "When it started." }, "start_ns" },
	[END] = { { "end", STORE_TIME, "When it ended; null while it runs." }, "CASE WHEN final <> 0 THEN end_ns ELSE 0 END" },
	[ELAPSED] = { { "elapsed_seconds", STORE_NUMBER, "How long it took, or has taken so far." }, "COALESCE(elapsed_ns, -1)", AT(elapsed_ns) },
	[NODES] = { { "nodes", STORE_NUMBER, "How many nodes sent a record of it." }, "COALESCE(nodes, -1)", AT(nodes) },
	[EXIT_CODE] = { { "exit_code", STORE_NUMBER, "Of its command, where that is known." }, NULL, AT(exit_code) },
	[SIGNAL] = { { "signal", STORE_NUMBER, "The signal that ended its command." }, NULL, AT(signal) },
};
/* clang-format on */

static struct value fixed_value(const struct store_job *job, size_t i)
{
	return *(const struct value *)(const void *)((const char *)job + fixed[i].value);
}

size_t store_column_count(void)
{
	return ARRAY_SIZE(texts) + store_fact_count() + FIXED_COUNT + store_run_count() +
	       store_value_count() + STORE_MADE;
}

struct store_column store_column(size_t i)
{
	if (i < ARRAY_SIZE(texts))
		return (struct store_column){ texts[i].key, STORE_TEXT, texts[i].help };
	i -= ARRAY_SIZE(texts);
	if (i < store_fact_count())
		return (struct store_column){ store_fact(i)->key,
					      is_text(store_fact(i)) ? STORE_TEXT : STORE_NUMBER,
					      store_fact(i)->help };
	i -= store_fact_count();
	if (i < FIXED_COUNT)
		return fixed[i].column;
	i -= FIXED_COUNT;
	if (i < store_run_count())
		return store_run_column(i);
	i -= store_run_count();
	if (i >= store_value_count())
		return made[i - store_value_count()].column;
	return (struct store_column){ store_value_name(i), STORE_NUMBER,
				      store_value_metric(i)->help };
}

/* Behind the texts and facts; those are as far as can be. */
static size_t place_of(size_t column)
{
	return column - ARRAY_SIZE(texts) - store_fact_count();
}

bool store_can_order(size_t column)
{
	size_t i = place_of(column);

	return column < store_column_count() && i < store_column_count() &&
	       (i < FIXED_COUNT ? fixed[i].order != NULL : i >= FIXED_COUNT + store_run_count());
}

void store_print_order(const struct store *s, size_t column, FILE *out)
{
	size_t i = place_of(column), value = i - FIXED_COUNT - store_run_count();

	if (i < FIXED_COUNT)
		fputs(fixed[i].order, out);
	else if (value >= store_value_count())
		print_made(s, &made[value - store_value_count()], out);
	else if (s->has_column[value])
		fprintf(out, "COALESCE(\"%s\", -1)", store_value_name(value));
	else
		fputs("COALESCE(NULL, -1)", out);
}

int64_t store_job_order(const struct store_job *job, size_t column)
{
	size_t i = place_of(column), behind = i - FIXED_COUNT - store_run_count();
	const struct value value = i == START	     ? known(true, job->start_ns)
				   : i == END	     ? known(true, job->end_ns)
				   : i < FIXED_COUNT ? fixed_value(job, i)
				   : behind < store_value_count()
					   ? job->values[behind]
					   : job->made[behind - store_value_count()];

	return value.is_known ? (int64_t)value.number : -1;
}

static void put_fixed(const struct store_job *job, size_t i, struct document *d)
{
	const char *name = fixed[i].column.name;

	if (i == FINAL || i == MEASURED)
		document_put_boolean(d, name, i == FINAL ? job->is_final : !job->is_unmeasured);
	else if (i == START || i == END)
		document_put_time(d, name, i == END ? job->end_ns : job->waits ? 0 : job->start_ns);
	else
		store_put_value(d, name,
				i == UID ? known(job->uid >= 0, (uint64_t)job->uid)
					 : fixed_value(job, i),
				i == ELAPSED ? metric_unit_places(UNIT_SECONDS) : 0);
}

void store_job_put(const struct store_job *job, size_t i, struct document *d)
{
	const char *text = i < ARRAY_SIZE(texts) ? *text_of(job, i) : NULL;

	if (i < ARRAY_SIZE(texts))
		return document_put_string(d, texts[i].key, text && *text ? text : NULL);
	i -= ARRAY_SIZE(texts);
	if (i < store_fact_count() && is_text(store_fact(i)))
		return document_put_string(d, store_fact(i)->key, job->facts[i].text);
	if (i < store_fact_count())
		return store_put_value(d, store_fact(i)->key, job->facts[i].number, 0);
	i -= store_fact_count();
	if (i < FIXED_COUNT)
		return put_fixed(job, i, d);
	i -= FIXED_COUNT;
	if (i < store_run_count())
		return store_run_put(&job->run, i, d);
	i -= store_run_count();
	if (i >= store_value_count()) {
		const struct made *m = &made[i - store_value_count()];

		return store_put_value(d, m->column.name, job->made[m - made], m->places);
	}
	store_put_value(d, store_value_name(i), job->values[i],
			metric_unit_places(store_value_metric(i)->unit));
}

/* Where no manager was asked, a whole row has none of what only a manager says. */
static bool is_absent_of_run(const struct store_job *job, size_t column)
{
	size_t i = place_of(column) - FIXED_COUNT;

	return i < store_run_count() && !store_run_knows(&job->run, i);
}

void store_job_format(const struct store_job *job, struct document *d)
{
	document_begin_map(d);
	for (size_t i = 0; i < store_column_count(); i++) {
		if (!is_absent_of_run(job, i))
			store_job_put(job, i, d);
	}
	document_end_map(d);
}
