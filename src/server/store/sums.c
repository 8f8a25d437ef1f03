/* SPDX-License-Identifier: MIT */
/* Sums over jobs, made by the database. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "model/job_row.h"
#include "server/store/store_internal.h"

#define DAY "86400000000000"
#define CORE_NS "\"cpu.allocated_cores\" / 1000.0 * elapsed_ns"
#define LIMIT "?14" /* behind those of the filter */

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

/* Numbers of jobs that are added up: a column, or what is made of some.  @places: as stored. */
static const struct sum {
	struct store_column column;
	const char *of; /* columns of metrics that it is made of, at most two, by a blank */
	const char *expression;
	unsigned int places;
} sums[] = {
	{ { "elapsed_seconds", STORE_NUMBER, "How long they took, added up." },
	  "",
	  "elapsed_ns",
	  9 },
	{ { "core_seconds", STORE_NUMBER, "Their cores, for as long as each took." },
	  "cpu.allocated_cores",
	  CORE_NS,
	  9 },
	{ { "cpu.user_seconds", STORE_NUMBER, "Their user time." },
	  "cpu.user_seconds",
	  "\"cpu.user_seconds\"",
	  9 },
	{ { "cpu.system_seconds", STORE_NUMBER, "Their system time." },
	  "cpu.system_seconds",
	  "\"cpu.system_seconds\"",
	  9 },
	{ { "energy.joules", STORE_NUMBER, "Their energy, of those of which it is known." },
	  "energy.joules",
	  "\"energy.joules\"",
	  6 },
	{ { "io.read.bytes", STORE_NUMBER, "What they read." },
	  "io.read.bytes",
	  "\"io.read.bytes\"",
	  0 },
	{ { "io.write.bytes", STORE_NUMBER, "What they wrote." },
	  "io.write.bytes",
	  "\"io.write.bytes\"",
	  0 },
};

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

	while (strcmp(key->word, word) != 0)
		key++;
	return key;
}

size_t store_sum_columns(const char *by, struct store_column ret[STORE_COLUMNS_MAX])
{
	const struct key *key = find_key(by);
	size_t count = 0;

	ret[count++] = (struct store_column){ key->word, key->is_time ? STORE_TIME : STORE_TEXT,
					      "What the sums of this row are of." };
	ret[count++] = (struct store_column){ "jobs", STORE_NUMBER, "How many jobs." };
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		ret[count++] = sums[i].column;
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

/* All of those. */
static bool has_metrics(const struct store *s, const char *names)
{
	while (*names) {
		const size_t length = strcspn(names, " ");

		if (!has_metric(s, names, length))
			return false;
		names += length + (names[length] == ' ');
	}
	return true;
}

#define SUM_MAX UINT64_C(9000000000000000000)
/* In doubles, which any number of jobs adds up in, and no more than a column holds: SUM_MAX. */
static void print_sum(const char *expression, FILE *out)
{
	fprintf(out,
		", CAST(CASE WHEN sum(CAST(%s AS DOUBLE PRECISION)) > 9.0e18 THEN 9.0e18 "
		"ELSE sum(CAST(%s AS DOUBLE PRECISION)) END AS BIGINT)",
		expression, expression);
}

static char *make_sums_text(const struct store *s, const struct key *key,
			    const struct job_filter *filter, const struct store_who *who)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "SELECT %s, count(*)", key->expression);
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		print_sum(has_metrics(s, sums[i].of) ? sums[i].expression : "NULL", out);
	fputs(", min(start_ns), max(end_ns) FROM jobs", out);
	store_print_filter(s, filter, who, out);
	fprintf(out, " GROUP BY 1 ORDER BY %s LIMIT " LIMIT, key->is_time ? "1" : "2 DESC, 1");
	fclose(out);
	return text;
}

static void put_key(const struct statement *row, const struct key *key, const char *name,
		    struct document *d)
{
	const char *text = COLUMN_TEXT(row, 0);

	if (key->is_time)
		document_put_time(d, name, COLUMN_NUMBER(row, 0));
	else
		document_put_string(d, name, text && *text ? text : NULL);
}

static void put_row(const struct statement *row, const struct key *key, const char *name,
		    struct document *d)
{
	int column = 1;

	document_begin_map(d);
	put_key(row, key, name, d);
	document_put_unsigned(d, "jobs", COLUMN_NUMBER(row, column));
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
		const struct cell cell = store_cell(row, ++column);

		document_key(d, sums[i].column.name);
		if (cell.is_known)
			document_decimal(d, cell.number, sums[i].places);
		else
			document_null(d);
	}
	document_put_time(d, "first_start", COLUMN_NUMBER(row, ++column));
	document_put_time(d, "last_seen", COLUMN_NUMBER(row, ++column));
	document_end_map(d);
}

static void ask_rows(struct store *s, struct statement *rows, const struct job_filter *filter,
		     const struct store_who *who)
{
	struct arg args[STORE_FILTER_ARGS + 1];

	store_put_filter(filter, who, args);
	args[STORE_FILTER_ARGS] = NUMBER(filter->limit + 1);
	store_ask_once(s, rows, args, ARRAY_SIZE(args));
	s->deadline_ns = clock_now_ns(CLOCK_MONOTONIC) + STORE_LIST_NS;
}

int store_format_sums(struct store *s, const char *by, const char *name,
		      const struct job_filter *filter, const struct store_who *who,
		      struct document *d, bool *ret_more, struct error *err)
{
	const struct key *key = find_key(by);
	_cleanup_free_ char *text = make_sums_text(s, key, filter, who);
	struct statement rows = { .text = text };
	size_t count = 0;

	if (!text)
		return error_set_errno(err, ENOMEM, "cannot add up the jobs");
	ask_rows(s, &rows, filter, who);
	while (store_next(s, &rows) && ++count <= filter->limit)
		put_row(&rows, key, name, d);
	s->deadline_ns = 0;
	store_release(s, &rows);
	*ret_more = count > filter->limit;
	return store_told(s, err);
}

/* ---- all counters ---- */

#define IF_RATED(what)                                                    \
	"CASE WHEN \"energy.joules\" IS NOT NULL THEN CASE WHEN " CORE_NS \
	" IS NOT NULL THEN " what " END END"

#define RATED "energy.joules cpu.allocated_cores"
/* Numbers that are no metric, behind the first two of sums[]. */
#define SUMS_MADE 2
static const struct sum rated[] = {
	{ { STORE_RATED_JOULES, STORE_NUMBER, "" }, RATED, IF_RATED("\"energy.joules\""), 6 },
	{ { STORE_RATED_CORE_SECONDS, STORE_NUMBER, "" }, RATED, IF_RATED(CORE_NS), 9 },
};

static const struct sum *made_at(size_t i)
{
	return i < SUMS_MADE ? &sums[i] : &rated[i - SUMS_MADE];
}

static bool is_counter(const struct store *s, size_t i)
{
	return store_value_metric(i)->kind == KIND_COUNTER && s->has_column[i];
}

static char *make_counters_text(const struct store *s, const struct key *key,
				const struct job_filter *filter, const struct store_who *who)
{
	char *text = NULL, name[JOB_ROW_KEY_SIZE + 2];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "SELECT %s, count(*)", key->expression);
	for (size_t i = 0; i < SUMS_MADE + ARRAY_SIZE(rated); i++)
		print_sum(has_metrics(s, made_at(i)->of) ? made_at(i)->expression : "NULL", out);
	for (size_t i = 0; i < store_value_count(); i++) {
		snprintf(name, sizeof(name), "\"%s\"", store_value_name(i));
		if (is_counter(s, i))
			print_sum(name, out);
	}
	fputs(" FROM jobs", out);
	store_print_filter(s, filter, who, out);
	fputs(" GROUP BY 1 LIMIT " LIMIT, out);
	fclose(out);
	return text;
}

/* What no job knows is left out.  False: it is more than a column holds. */
static bool put_sum(const char *name, const struct cell *cell, unsigned int places,
		    struct document *d)
{
	if (!cell->is_known)
		return true;
	document_key(d, name);
	document_decimal(d, cell->number, places);
	return cell->number < SUM_MAX;
}

static bool put_counters(const struct store *s, const struct statement *row, const struct key *key,
			 struct document *d)
{
	struct cell cell;
	bool is_whole = true;
	int column = 1;

	document_begin_map(d);
	put_key(row, key, key->word, d);
	document_put_unsigned(d, "jobs", COLUMN_NUMBER(row, column));
	for (size_t i = 0; i < SUMS_MADE + ARRAY_SIZE(rated); i++) {
		const struct sum *sum = made_at(i);

		cell = store_cell(row, ++column);
		is_whole &= put_sum(sum->column.name, &cell, sum->places, d);
	}
	for (size_t i = 0; i < store_value_count(); i++) {
		if (!is_counter(s, i))
			continue;
		cell = store_cell(row, ++column);
		is_whole &= put_sum(store_value_name(i), &cell,
				    metric_unit_places(store_value_metric(i)->unit), d);
	}
	document_end_map(d);
	return is_whole;
}

int store_format_counters(struct store *s, const char *by, const struct job_filter *filter,
			  const struct store_who *who, struct document *d, struct error *err)
{
	struct job_filter all = *filter;
	_cleanup_free_ char *text = NULL;
	struct statement rows = {};
	size_t i = 0, count = 0;
	bool is_whole = true;
	int r;

	while (store_sum_word(i) && strcmp(store_sum_word(i), by) != 0)
		i++;
	if (!store_sum_word(i))
		return error_set(err, -ENOTSUP, "nothing is added up by '%.64s'", by);
	all.limit = STORE_LIMIT_MAX;
	text = make_counters_text(s, &keys[i], &all, who);
	if (!text)
		return error_set_errno(err, ENOMEM, "cannot add up the jobs");
	rows.text = text;
	document_begin_list_of(d, "sums");
	ask_rows(s, &rows, &all, who);
	while (store_next(s, &rows) && ++count <= all.limit)
		is_whole &= put_counters(s, &rows, &keys[i], d);
	s->deadline_ns = 0;
	store_release(s, &rows);
	document_end_list(d);
	r = store_told(s, err);
	if (r == 0 && (count > all.limit || !is_whole))
		r = error_set(err, -ENOTSUP, "there are more than %d rows, or a sum is too large",
			      STORE_LIMIT_MAX);
	return r;
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

int store_format_nodes(struct store *s, const struct job_filter *filter,
		       const struct store_who *who, struct document *d, bool *ret_more,
		       struct error *err)
{
#define NODES_OF(who)                                                                      \
	"SELECT cluster, node, count(DISTINCT job), max(arrived_ns) FROM records "         \
	"WHERE end_ns >= ?1 AND start_ns < ?2" who " GROUP BY cluster, node ORDER BY 1, 2" \
	" LIMIT " LIMIT
	struct statement rows = { .text = who->sees_all ? NODES_OF("")
							: NODES_OF(" AND uid = ?3") };
	size_t count = 0;

	ask_rows(s, &rows, filter, who);
	while (store_next(s, &rows) && ++count <= filter->limit) {
		const char *cluster = COLUMN_TEXT(&rows, 0);

		document_begin_map(d);
		document_put_string(d, "cluster", *cluster ? cluster : NULL);
		document_put_string(d, "node", COLUMN_TEXT(&rows, 1));
		document_put_unsigned(d, "jobs", COLUMN_NUMBER(&rows, 2));
		document_put_time(d, "last_record", COLUMN_NUMBER(&rows, 3));
		document_end_map(d);
	}
	s->deadline_ns = 0;
	store_release(s, &rows);
	*ret_more = count > filter->limit;
	return store_told(s, err);
}

/* ---- mounts ---- */

#define OF_JOB "j.job_id, j.manager, j.cluster, j.user_name, j.name, j.start_ns"

static char *make_mounts_text(const struct store *s, const struct job_filter *filter,
			      const struct store_who *who, bool is_of_one)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("SELECT m.mount, m.fstype, count(*)", out);
	print_sum("m.\"io.read.bytes\"", out);
	print_sum("m.\"io.write.bytes\"", out);
	print_sum("m.\"io.meta.calls\"", out);
	fprintf(out,
		"%s FROM (SELECT id, job_id, manager, cluster, user_name, name, start_ns FROM jobs",
		is_of_one ? ", " OF_JOB : "");
	store_print_filter(s, filter, who, out);
	/* what is no mount is in brackets */
	fprintf(out,
		") j JOIN job_mounts m ON m.job = j.id WHERE %s GROUP BY m.mount, m.fstype%s "
		"ORDER BY COALESCE(sum(CAST(m.\"io.read.bytes\" AS DOUBLE PRECISION) + "
		"m.\"io.write.bytes\"), 0) DESC, 1 LIMIT " LIMIT,
		is_of_one ? "m.mount = ?15" : "m.mount NOT LIKE '(%'",
		is_of_one ? ", j.id, " OF_JOB : "");
	fclose(out);
	return text;
}

int store_list_mounts(struct store *s, const struct job_filter *filter, const struct store_who *who,
		      const char *mount, void (*take)(void *context, const struct store_mount *row),
		      void *context, struct error *err)
{
	_cleanup_free_ char *text = make_mounts_text(s, filter, who, mount);
	struct statement rows = { .text = text };
	const struct statement *cells = &rows;
	struct arg args[STORE_FILTER_ARGS + 2];

	if (!text)
		return error_set_errno(err, ENOMEM, "cannot add up the jobs");
	store_put_filter(filter, who, args);
	args[STORE_FILTER_ARGS] = NUMBER(filter->limit);
	args[STORE_FILTER_ARGS + 1] = TEXT(mount);
	store_ask_once(s, &rows, args, STORE_FILTER_ARGS + 1 + (mount != NULL));
	s->deadline_ns = clock_now_ns(CLOCK_MONOTONIC) + STORE_LIST_NS;
	while (store_next(s, &rows)) {
		struct store_mount row = { .mount = COLUMN_TEXT(cells, 0),
					   .fstype = COLUMN_TEXT(cells, 1),
					   .jobs = COLUMN_NUMBER(cells, 2),
					   .read_bytes = COLUMN_NUMBER(cells, 3),
					   .write_bytes = COLUMN_NUMBER(cells, 4),
					   .meta_calls = COLUMN_NUMBER(cells, 5) };

		if (mount)
			row.job = (struct store_job){ .id = COLUMN_TEXT(cells, 6),
						      .manager = COLUMN_TEXT(cells, 7),
						      .cluster = COLUMN_TEXT(cells, 8),
						      .user = COLUMN_TEXT(cells, 9),
						      .name = COLUMN_TEXT(cells, 10),
						      .start_ns = COLUMN_NUMBER(cells, 11) };
		take(context, &row);
	}
	s->deadline_ns = 0;
	store_release(s, &rows);
	return store_told(s, err);
}
