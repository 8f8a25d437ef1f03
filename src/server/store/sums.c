/* SPDX-License-Identifier: MIT */
/* Sums over jobs, made by the database. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "model/job_row.h"
#include "server/store/store_internal.h"

#define DAY "86400000000000"
#define CORE_NS "\"cpu.allocated_cores\" / 1000.0 * elapsed_ns"
#define LIMIT "?16" /* behind those of the filter */

static const struct key {
	const char *word, *expression;
	bool is_time; /* else it is a text */
} keys[] = {
	{ "user", "COALESCE(user_name, CAST(uid AS TEXT), '')", false },
	{ "account", "COALESCE(account, '')", false },
	{ "partition", "COALESCE(partition_name, '')", false },
	{ "manager", "manager", false },
	{ "cluster", "cluster", false },
	{ "state", "COALESCE(state, '')", false },
	{ "name", "COALESCE(name, '')", false },
	{ "reason", "COALESCE(reason, '')", false },
	{ "day", "start_ns / " DAY " * " DAY, true },
};

#define IF_RATED(what)                                                    \
	"CASE WHEN \"energy.joules\" IS NOT NULL THEN CASE WHEN " CORE_NS \
	" IS NOT NULL THEN " what " END END"
#define RATED "energy.joules cpu.allocated_cores"

/* Numbers of jobs that are added up and are no metric. */
static const struct sum {
	struct store_column column;
	const char *of; /* columns of metrics that it is made of, at most two, by a blank */
	const char *expression; /* NULL: the metric itself */
	unsigned int places; /* as stored */
} made[] = {
	{ { "elapsed_seconds", STORE_NUMBER, "How long they took, added up." },
	  "",
	  "elapsed_ns",
	  9 },
	{ { "core_seconds", STORE_NUMBER, "Their cores, for as long as each took." },
	  "cpu.allocated_cores",
	  CORE_NS,
	  9 },
	{ { STORE_RATED_JOULES, STORE_NUMBER, "Energy of those whose cores are known, too." },
	  RATED,
	  IF_RATED("\"energy.joules\""),
	  6 },
	{ { STORE_RATED_CORE_SECONDS, STORE_NUMBER, "Core time of those with energy." },
	  RATED,
	  IF_RATED(CORE_NS),
	  9 },
};
#define BEFORE_SUMS 2 /* columns: what the row is of, and how many jobs */

/* The @i-th that is added up: those, and the metrics that are counters.  False: no more. */
static bool get_sum(size_t i, struct sum *ret)
{
	if (i < ARRAY_SIZE(made)) {
		*ret = made[i];
		return true;
	}
	i -= ARRAY_SIZE(made);
	for (size_t value = 0; value < store_value_count(); value++) {
		const struct metric *metric = store_value_metric(value);
		const char *name = store_value_name(value);

		if (metric->kind != KIND_COUNTER || i-- > 0)
			continue;
		*ret = (struct sum){ { name, STORE_NUMBER, metric->help },
				     name,
				     NULL,
				     metric_unit_places(metric->unit) };
		return true;
	}
	return false;
}

const char *store_sum_word(size_t i)
{
	return i < ARRAY_SIZE(keys) ? keys[i].word : NULL;
}

const char *store_sum_text(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!keys[i].is_time && strcmp(keys[i].word, word) == 0)
			return keys[i].expression;
	}
	return NULL;
}

static const struct key *find_key(const char *word)
{
	const struct key *key = keys;

	while (key < keys + ARRAY_SIZE(keys) && strcmp(key->word, word) != 0)
		key++;
	return key < keys + ARRAY_SIZE(keys) ? key : NULL;
}

size_t store_sum_columns(const char *by, struct store_column ret[STORE_COLUMNS_MAX])
{
	const struct key *key = find_key(by);
	struct sum sum;
	size_t count = 0;

	ret[count++] = (struct store_column){ key->word, key->is_time ? STORE_TIME : STORE_TEXT,
					      "What the sums of this row are of." };
	ret[count++] = (struct store_column){ "jobs", STORE_NUMBER, "How many jobs." };
	for (size_t i = 0; get_sum(i, &sum); i++)
		ret[count++] = sum.column;
	ret[count++] = (struct store_column){ "first_start", STORE_TIME,
					      "When the first started." };
	ret[count++] = (struct store_column){ "last_seen", STORE_TIME,
					      "When the last ended, or was last seen." };
	return count;
}

static bool has_metric(const struct store *s, const char *name, size_t length)
{
	for (size_t i = 0; i < store_value_count(); i++) {
		if (strlen(store_value_name(i)) == length &&
		    strncmp(store_value_name(i), name, length) == 0)
			return s->has_column[i];
	}
	return false;
}

bool store_has_metrics(const struct store *s, const char *names)
{
	while (*names) {
		const size_t length = strcspn(names, " ");

		if (!has_metric(s, names, length))
			return false;
		names += length + (names[length] == ' ');
	}
	return true;
}

void store_print_sum(const char *expression, const char *scale, FILE *out)
{
	char total[512];

	snprintf(total, sizeof(total), "sum(CAST(%s AS DOUBLE PRECISION))%s", expression, scale);
	fprintf(out,
		", CASE WHEN %s < 9.0e18 THEN CAST(%s AS BIGINT) ELSE CAST(-%s / 1.0e9 AS BIGINT) END",
		total, total, total);
}

/* False: it is not known, or no number of ours is so large. */
static bool read_sum(const struct cell *cell, unsigned int *places, uint64_t *ret)
{
	const int64_t number = (int64_t)cell->number;
	unsigned int zeros = 9;

	*ret = number < 0 ? 0 - cell->number : cell->number;
	if (number >= 0)
		return cell->is_known;
	for (; zeros && *places; zeros--)
		--*places;
	for (; zeros; zeros--) {
		if (__builtin_mul_overflow(*ret, UINT64_C(10), ret))
			return false;
	}
	return cell->is_known;
}

bool store_put_sum(const struct statement *row, int column, const char *name, unsigned int places,
		   bool is_whole, struct document *d)
{
	const struct cell cell = store_cell(row, column);
	uint64_t number;
	bool is_there = read_sum(&cell, &places, &number);

	if (is_there || is_whole)
		document_key(d, name);
	if (is_there)
		document_decimal(d, number, places);
	else if (is_whole)
		document_null(d);
	return is_there || !cell.is_known;
}

static bool put_sums(const struct statement *row, const bool *wanted, bool is_whole,
		     struct document *d)
{
	bool fits = true;
	struct sum sum;
	int column = 4;

	for (size_t i = 0; get_sum(i, &sum); i++) {
		if (wanted[BEFORE_SUMS + i])
			fits &= store_put_sum(row, column++, sum.column.name, sum.places, is_whole,
					      d);
	}
	return fits;
}

static void put_head(const struct statement *row, const struct key *key, struct document *d)
{
	const char *text = COLUMN_TEXT(row, 0);

	if (key->is_time)
		document_put_time(d, key->word, COLUMN_NUMBER(row, 0));
	else
		document_put_string(d, key->word, text && *text ? text : NULL);
	document_put_unsigned(d, "jobs", COLUMN_NUMBER(row, 1));
}

/* As far as the filter's limit, and one more. */
static void ask_rows(struct store *s, struct statement *rows, const struct job_filter *filter,
		     const struct store_who *who)
{
	struct arg args[STORE_FILTER_ARGS + 1];

	store_put_filter(filter, who, args);
	args[STORE_FILTER_ARGS] = NUMBER(filter->limit + 1);
	store_begin_list(s, rows, args, ARRAY_SIZE(args));
}

/* @wanted: columns of store_sum_columns(). */
static void ask_sums(struct store *s, struct statement *rows, const struct key *key,
		     const bool *wanted, const struct job_filter *filter,
		     const struct store_who *who)
{
	FILE *out = store_write(s, rows, "cannot add up the jobs");
	char quoted[JOB_ROW_KEY_SIZE + 2];
	struct sum sum;

	if (!out)
		return;
	fprintf(out, "SELECT %s, count(*), min(start_ns), max(end_ns)", key->expression);
	for (size_t i = 0; get_sum(i, &sum); i++) {
		snprintf(quoted, sizeof(quoted), "\"%s\"", sum.column.name);
		if (wanted[BEFORE_SUMS + i] && store_has_metrics(s, sum.of))
			store_print_sum(sum.expression ? sum.expression : quoted, "", out);
		else if (wanted[BEFORE_SUMS + i])
			fputs(", CAST(NULL AS BIGINT)", out);
	}
	fputs(" FROM jobs", out);
	store_print_filter(s, filter, who, out);
	fprintf(out, " GROUP BY 1 ORDER BY %s LIMIT " LIMIT, key->is_time ? "1" : "2 DESC, 1");
	ask_rows(s, rows, filter, who);
}

struct sums_format {
	const struct key *key;
	const bool *wanted;
};

static void put_row(const void *context, const struct statement *row, struct document *d)
{
	const struct sums_format *f = context;

	put_head(row, f->key, d);
	(void)put_sums(row, f->wanted, true, d);
	document_put_time(d, "first_start", COLUMN_NUMBER(row, 2));
	document_put_time(d, "last_seen", COLUMN_NUMBER(row, 3));
}

int store_format_sums(struct store *s, const char *by, const char *name, const bool *wanted,
		      const struct job_filter *filter, const struct store_who *who,
		      struct document *d, struct error *err)
{
	const struct sums_format format = { find_key(by), wanted };
	struct statement rows = {};

	ask_sums(s, &rows, format.key, wanted, filter, who);
	return store_format_list(s, &rows, name, filter->limit, put_row, &format, d, err);
}

int store_list_sums(struct store *s, const char *by, const char *const *names, size_t count,
		    const struct job_filter *filter, const struct store_who *who,
		    int (*take)(void *context, const struct store_sums *row), void *context,
		    struct error *err)
{
	const struct key *key = find_key(by);
	bool wanted[STORE_COLUMNS_MAX] = {};
	struct statement rows = {};
	const struct statement *cells = &rows;
	struct asked { /* in the order of the columns, which begin behind four others */
		size_t name;
		unsigned int places;
	} asked[STORE_COLUMNS_MAX];
	size_t asked_count = 0;
	struct sum sum;
	int r = 0, told;

	for (size_t i = 0; get_sum(i, &sum); i++) {
		for (size_t j = 0; j < count && !wanted[BEFORE_SUMS + i]; j++) {
			if (strcmp(names[j], sum.column.name) != 0)
				continue;
			wanted[BEFORE_SUMS + i] = true;
			asked[asked_count++] = (struct asked){ j, sum.places };
		}
	}
	ask_sums(s, &rows, key, wanted, filter, who);
	for (size_t i = 0; r >= 0 && i < filter->limit && store_next(s, &rows); i++) {
		const char *of = key->is_time ? NULL : COLUMN_TEXT(cells, 0);
		struct store_sums row = {
			.key = of && *of ? of : NULL,
			.time_ns = key->is_time ? COLUMN_NUMBER(cells, 0) : 0,
			.jobs = COLUMN_NUMBER(cells, 1),
		};

		for (size_t j = 0; j < count; j++)
			row.values[j] = NAN;
		for (size_t j = 0; j < asked_count; j++) {
			const struct cell cell = store_cell(cells, 4 + (int)j);
			unsigned int places = asked[j].places;
			uint64_t number;

			if (read_sum(&cell, &places, &number))
				row.values[asked[j].name] = (double)number / pow(10, places);
		}
		r = take(context, &row);
	}
	told = store_end_list(s, &rows, err);
	return r < 0 ? r : told;
}

int store_format_counters(struct store *s, const char *by, const struct job_filter *filter,
			  const struct store_who *who, struct document *d, struct error *err)
{
	const struct key *key = find_key(by);
	struct job_filter all = *filter;
	bool wanted[STORE_COLUMNS_MAX], fits = true;
	struct statement rows = {};
	size_t count = 0;
	int r;

	if (!key)
		return error_set(err, -ENOTSUP, "nothing is added up by '%.64s'", by);
	all.limit = STORE_LIMIT_MAX;
	memset(wanted, true, sizeof(wanted));
	document_begin_list_of(d, "sums");
	ask_sums(s, &rows, key, wanted, &all, who);
	while (store_next(s, &rows) && ++count <= all.limit) {
		document_begin_map(d);
		put_head(&rows, key, d);
		fits &= put_sums(&rows, wanted, false, d);
		document_end_map(d);
	}
	document_end_list(d);
	r = store_end_list(s, &rows, err);
	if (r == 0 && (count > all.limit || !fits))
		r = error_set(err, -ENOTSUP, "there are more than %d rows, or a sum is too large",
			      STORE_LIMIT_MAX);
	return r;
}

/* ---- how many ---- */

int store_count_jobs(struct store *s, enum job_number number, const uint64_t *bounds, size_t count,
		     const struct job_filter *filter, const struct store_who *who, uint64_t *ret,
		     struct error *err)
{
	struct arg args[STORE_FILTER_ARGS];
	struct statement rows = {};
	FILE *out = store_write(s, &rows, "cannot count the jobs");

	if (!out)
		return store_told(s, err);
	fputs("SELECT ", out);
	store_print_place(s, number, bounds, count, out);
	fputs(", count(*) FROM jobs", out);
	store_print_filter(s, filter, who, out);
	fputs(" GROUP BY 1", out);
	memset(ret, 0, (count + 2) * sizeof(*ret));
	store_put_filter(filter, who, args);
	store_begin_list(s, &rows, args, ARRAY_SIZE(args));
	while (store_next(s, &rows)) {
		const int64_t place = (int64_t)COLUMN_NUMBER(&rows, 0);

		ret[place < 0 ? count + 1 : MIN((size_t)place, count)] = COLUMN_NUMBER(&rows, 1);
	}
	return store_end_list(s, &rows, err);
}

/* ---- nodes ---- */

size_t store_node_columns(struct store_column ret[STORE_COLUMNS_MAX])
{
	size_t count = 0;

	ret[count++] = (struct store_column){ "cluster", STORE_TEXT, "The node's cluster." };
	ret[count++] = (struct store_column){ "node", STORE_TEXT, "The node." };
	ret[count++] = (struct store_column){ "jobs", STORE_NUMBER, "How many jobs ran on it." };
	ret[count++] = (struct store_column){ "last_record", STORE_TIME,
					      "When the last record of one of them came." };
	return count;
}

static void put_node(const void *context UNUSED, const struct statement *row, struct document *d)
{
	const char *cluster = COLUMN_TEXT(row, 0);

	document_put_string(d, "cluster", *cluster ? cluster : NULL);
	document_put_string(d, "node", COLUMN_TEXT(row, 1));
	document_put_unsigned(d, "jobs", COLUMN_NUMBER(row, 2));
	document_put_time(d, "last_record", COLUMN_NUMBER(row, 3));
}

int store_format_nodes(struct store *s, const struct job_filter *filter,
		       const struct store_who *who, struct document *d, struct error *err)
{
#define NODES_OF(who)                                                                      \
	"SELECT cluster, node, count(DISTINCT job), max(arrived_ns) FROM records "         \
	"WHERE end_ns >= ?1 AND start_ns < ?2" who " GROUP BY cluster, node ORDER BY 1, 2" \
	" LIMIT " LIMIT
	static const char *const texts[SIGHT_COUNT] = {
		[SEES_ALL] = NODES_OF(""),
		[SEES_OWN] = NODES_OF(" AND uid = ?3"),
		[SEES_ACCOUNTS] = NODES_OF(
			" AND (uid = ?3 OR job IN (SELECT id FROM jobs WHERE " SQL_OF_ACCOUNTS(
				"?14") "))"),
	};
	struct statement rows = { .text = texts[store_sight_of(s, who)] };

	ask_rows(s, &rows, filter, who);
	return store_format_list(s, &rows, "nodes", filter->limit, put_node, NULL, d, err);
}

/* @of: what of an interval of the ledger is added up. */
#define POWER(of)                                                                                  \
	"CAST(sum(" of " CAST(e.microjoules AS DOUBLE PRECISION) / (e.end_ns - e.start_ns) * 1e6 " \
	"END) AS BIGINT)"

/* clang-format off */
/* @of: "", or which of them, so that an index finds it. */
#define SAID(of) \
	"SELECT cluster, node, count(DISTINCT job) AS jobs, sum(goes_on) AS running, " \
	"max(came_ns) AS last_ns FROM (SELECT cluster, node, job, CASE WHEN final = 0 AND " \
	"closed IS NULL THEN 1 ELSE 0 END AS goes_on, arrived_ns AS came_ns FROM records " \
	"WHERE arrived_ns >= ?1" of " UNION ALL SELECT cluster, node, NULL, 0, told_ns FROM nodes " \
	"WHERE told_ns >= ?1" of ") said GROUP BY cluster, node"
#define POWERS(of) \
	"SELECT l.cluster, l.node, " POWER("CASE WHEN 1 = 1 THEN") " AS power, " POWER( \
		"CASE WHEN e.owner = 'unattributed' THEN") " AS rest FROM (SELECT max(id) " \
	"AS id FROM ledger_lines WHERE arrived_ns >= ?2" of " GROUP BY cluster, node) newest " \
	"JOIN ledger_lines l ON l.id = newest.id JOIN ledger e ON e.line = l.id AND " \
	"e.end_ns > e.start_ns GROUP BY l.cluster, l.node"
#define LIST_NODES(of) \
	"SELECT n.cluster, n.node, n.jobs, n.running, n.last_ns, p.power, p.rest, v.cpus, " \
	"v.load, v.memory, v.available, v.missing, v.lost, v.lacks FROM (" SAID(of) ") n " \
	"LEFT JOIN nodes v ON v.cluster = n.cluster AND v.node = n.node LEFT JOIN " \
	"(" POWERS(of) ") p ON p.cluster = n.cluster AND p.node = n.node " \
	"ORDER BY CASE WHEN n.running > 0 THEN n.last_ns ELSE ?3 END, 1, 2 LIMIT ?5"
/* clang-format on */

int store_list_nodes(struct store *s, const char *name, uint64_t since_ns, uint64_t power_ns,
		     size_t limit, void (*take)(void *context, const struct store_node *node),
		     void *context, struct error *err)
{
	struct statement rows = { .text = name ? LIST_NODES(" AND node = ?4") : LIST_NODES("") };
	const struct statement *cells = &rows;

	store_begin_list(s, &rows,
			 ARGS(NUMBER(since_ns), NUMBER(power_ns), NUMBER(INT64_MAX), TEXT(name),
			      NUMBER(limit)));
	while (store_next(s, &rows)) {
		struct store_node node = {
			.cluster = COLUMN_TEXT(cells, 0),
			.node = COLUMN_TEXT(cells, 1),
			.jobs = COLUMN_NUMBER(cells, 2),
			.running = COLUMN_NUMBER(cells, 3),
			.last_ns = COLUMN_NUMBER(cells, 4),
			.power_mw = store_value(cells, 5),
			.unattributed_mw = store_value(cells, 6),
		};

		for (int i = 0; i < STORE_NODE_VALUES; i++)
			node.values[i] = store_value(cells, 7 + i);
		node.lacks = COLUMN_TEXT(cells, 7 + STORE_NODE_VALUES);
		/* of a known power nothing may be unattributed */
		node.unattributed_mw.is_known = node.power_mw.is_known;
		take(context, &node);
	}
	return store_end_list(s, &rows, err);
}

/* ---- mounts ---- */

#define OF_JOB "j.job_id, j.manager, j.cluster, j.user_name, j.name, j.start_ns"
#define OF_USER "COALESCE(j.user_name, CAST(j.uid AS TEXT), '')"
#define BYTES_OF_BOTH                                       \
	"(CAST(m.\"io.read.bytes\" AS DOUBLE PRECISION) + " \
	"m.\"io.write.bytes\")"
/* clang-format off */
static const struct loads {
	const char *columns, *group, *condition;
} loads[] = {
	/* what is no mount is in brackets */
	[LOADS_OF_MOUNTS] = { "", "", "m.mount NOT LIKE '(%'" },
	[LOADS_OF_USERS] = { ", " OF_USER, ", " OF_USER, "m.mount = ?17" },
	[LOADS_OF_JOBS] = { ", " OF_JOB, ", j.id, " OF_JOB, "m.mount = ?17" },
};
/* clang-format on */

static void print_mounts(struct store *s, enum store_loads of, const struct job_filter *filter,
			 const struct store_who *who, FILE *out)
{
	fputs("SELECT m.mount, m.fstype, count(*)", out);
	store_print_sum("m.\"io.read.bytes\"", "", out);
	store_print_sum("m.\"io.write.bytes\"", "", out);
	store_print_sum("m.\"io.meta.calls\"", "", out);
	store_print_sum("CASE WHEN j.final = 0 AND j.elapsed_ns > 0 THEN " BYTES_OF_BOTH
			" * 1e9 / j.elapsed_ns END",
			"", out);
	fprintf(out,
		"%s FROM (SELECT id, job_id, manager, cluster, user_name, uid, name, start_ns, "
		"final, elapsed_ns FROM jobs",
		loads[of].columns);
	store_print_filter(s, filter, who, out);
	fprintf(out,
		") j JOIN job_mounts m ON m.job = j.id WHERE %s GROUP BY m.mount, m.fstype%s "
		"ORDER BY COALESCE(sum(CASE WHEN j.final = 0 AND j.elapsed_ns > 0 THEN " BYTES_OF_BOTH
		" * 1e9 / j.elapsed_ns END), 0) DESC, COALESCE(sum(" BYTES_OF_BOTH
		"), 0) DESC, 1 LIMIT " LIMIT,
		loads[of].condition, loads[of].group);
}

/* One that no number holds is as large as a number gets. */
static uint64_t mount_sum(const struct statement *row, int column)
{
	const struct cell cell = store_cell(row, column);
	unsigned int places = 0;
	uint64_t number;

	return read_sum(&cell, &places, &number) || !cell.is_known ? number : INT64_MAX;
}

int store_list_mounts(struct store *s, enum store_loads of, const struct job_filter *filter,
		      const struct store_who *who, const char *mount,
		      void (*take)(void *context, const struct store_mount *row), void *context,
		      struct error *err)
{
	struct statement rows = {};
	FILE *out = store_write(s, &rows, "cannot add up the jobs");
	const struct statement *cells = &rows;
	struct arg args[STORE_FILTER_ARGS + 2];

	if (out)
		print_mounts(s, of, filter, who, out);
	store_put_filter(filter, who, args);
	args[STORE_FILTER_ARGS] = NUMBER(filter->limit);
	args[STORE_FILTER_ARGS + 1] = TEXT(mount);
	store_begin_list(s, &rows, args, STORE_FILTER_ARGS + 1 + (of != LOADS_OF_MOUNTS));
	while (store_next(s, &rows)) {
		struct store_mount row = { .mount = COLUMN_TEXT(cells, 0),
					   .fstype = COLUMN_TEXT(cells, 1),
					   .jobs = COLUMN_NUMBER(cells, 2),
					   .read_bytes = mount_sum(cells, 3),
					   .write_bytes = mount_sum(cells, 4),
					   .meta_calls = mount_sum(cells, 5),
					   .now = { mount_sum(cells, 6) & VALUE_MAX,
						    store_cell(cells, 6).is_known } };

		if (of == LOADS_OF_USERS)
			row.job.user = COLUMN_TEXT(cells, 7);
		else if (of == LOADS_OF_JOBS)
			row.job = (struct store_job){ .id = COLUMN_TEXT(cells, 7),
						      .manager = COLUMN_TEXT(cells, 8),
						      .cluster = COLUMN_TEXT(cells, 9),
						      .user = COLUMN_TEXT(cells, 10),
						      .name = COLUMN_TEXT(cells, 11),
						      .start_ns = COLUMN_NUMBER(cells, 12) };
		take(context, &row);
	}
	return store_end_list(s, &rows, err);
}
