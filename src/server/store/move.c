/* SPDX-License-Identifier: MIT */
/* All rows of one database into another, and whether they are the same there. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/fnv.h"
#include "server/store/store_internal.h"

#define BATCH 500 /* rows or keys in one transaction */
#define PAST_NS (UINT64_C(3653) * 86400 * 1000000000) /* ten years: what is older is absurd */

/* Each with a number by which its rows come in portions. */
static const struct moved {
	const char *table, *key;
	bool is_numbered; /* the key is given to new rows */
} moved[] = {
	{ "records", "id", true },     { "jobs", "id", true },
	{ "runs", "id", true },	       { "job_mounts", "job", false },
	{ "job_steps", "job", false }, { "ledger_lines", "id", true },
	{ "ledger", "id", true },      { "events", "id", true },
	{ "tokens", "id", true },      { "predictions", "id", true },
};

struct columns { /* that both have */
	char *names; /* "a", "b" */
	unsigned int types[STORE_ARGS_MAX]; /* ARG_NUMBER... */
	size_t count;
};

struct content {
	uint64_t rows, sum; /* of the rows' hashes, so that their order means nothing */
};

static bool has_column(struct store *s, const char *table, const char *name)
{
	struct statement *names = store_ask(s, s->database->columns, TEXT(table));
	bool is_there = false;

	while (!is_there && store_next(s, names))
		is_there = strcmp(COLUMN_TEXT(names, 0), name) == 0;
	store_reset(names);
	return is_there;
}

static void open_columns(struct store *from, struct store *to, const char *table,
			 struct columns *ret)
{
	struct statement *names = store_ask(to, to->database->columns, TEXT(table));
	size_t size;
	FILE *out = open_memstream(&ret->names, &size);

	if (!out)
		return store_fail_at(to, -ENOMEM, "cannot move the database");
	while (store_next(to, names)) {
		const char *name = COLUMN_TEXT(names, 0);

		if (!has_column(from, table, name))
			continue;
		fprintf(out, "%s\"%s\"", ret->count ? ", " : "", name);
		ret->types[ret->count++] = (unsigned int)COLUMN_NUMBER(names, 1);
	}
	fclose(out);
}

/* The key that ends the portion behind @key; 0: there is none. */
static uint64_t next_key(struct store *s, const struct moved *m, uint64_t key)
{
	char text[256];

	snprintf(
		text, sizeof(text),
		"SELECT MAX(k) FROM (SELECT %s AS k FROM %s WHERE %s > ?1 ORDER BY %s LIMIT ?2) AS b",
		m->key, m->table, m->key, m->key);
	return store_number_once(s, text, ARGS(NUMBER(key), NUMBER(BATCH)));
}

static void ask_rows(struct store *s, const struct moved *m, const struct columns *columns,
		     uint64_t after, uint64_t until, struct statement *ret)
{
	FILE *out = store_write(s, ret, "cannot move the database");

	if (out)
		fprintf(out, "SELECT %s FROM %s WHERE %s > ?1 AND %s <= ?2", columns->names,
			m->table, m->key, m->key);
	store_ask_once(s, ret, ARGS(NUMBER(after), NUMBER(until)));
}

static uint64_t hash_row(const struct statement *row, size_t count)
{
	uint64_t hash = FNV_BEGIN;

	for (size_t i = 0; i < count; i++) {
		const struct cell cell = store_cell(row, (int)i);

		hash = fnv_bytes(hash, &cell.is_known, sizeof(cell.is_known));
		hash = fnv_bytes(hash, &cell.number, sizeof(cell.number));
		hash = fnv_bytes(hash, &cell.length, sizeof(cell.length));
		hash = fnv_bytes(hash, cell.bytes, cell.length);
	}
	return hash;
}

static struct content read_content(struct store *s, const struct moved *m,
				   const struct columns *columns)
{
	struct content content = {};
	uint64_t key = 0, end;

	while ((end = next_key(s, m, key))) {
		struct statement rows = {};

		ask_rows(s, m, columns, key, end, &rows);
		while (store_next(s, &rows)) {
			content.rows++;
			content.sum += hash_row(&rows, columns->count);
		}
		store_release(s, &rows);
		key = end;
	}
	return content;
}

static char *make_insert(const struct moved *m, const struct columns *columns)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "INSERT INTO %s (%s) VALUES (?1", m->table, columns->names);
	for (size_t i = 2; i <= columns->count; i++)
		fprintf(out, ", ?%zu", i);
	fputs(")", out);
	fclose(out);
	return text;
}

static void put_row(struct store *to, struct statement *insert, const struct statement *row,
		    const struct columns *columns)
{
	struct arg args[STORE_ARGS_MAX];

	for (size_t i = 0; i < columns->count; i++) {
		const struct cell cell = store_cell(row, (int)i);
		bool is_number = columns->types[i] == ARG_NUMBER;

		args[i] = (struct arg){ columns->types[i], cell.is_known, cell.bytes,
					is_number ? cell.number : cell.length };
	}
	store_ask_once(to, insert, args, columns->count);
	store_finish(to, insert);
}

/* How far a table was moved is written, as @mark, in the transaction of its rows. */
static void move_portion(struct store *from, struct store *to, const struct moved *m,
			 const struct columns *columns, const char *text, const char *mark,
			 uint64_t after, uint64_t until)
{
	struct statement insert = { .text = text }, rows = {};

	to->database->begin(to);
	ask_rows(from, m, columns, after, until, &rows);
	while (!to->failure && store_next(from, &rows))
		put_row(to, &insert, &rows, columns);
	store_release(from, &rows);
	store_release(to, &insert);
	store_set_mark(to, mark, until);
	if (!from->failure && !to->failure)
		to->database->commit(to);
	if (from->failure || to->failure)
		to->database->abandon(to);
}

static void move_table(struct store *from, struct store *to, const struct moved *m,
		       const struct columns *columns)
{
	_cleanup_free_ char *text = make_insert(m, columns);
	uint64_t key, end;
	char mark[32];

	if (!text)
		return store_fail_at(to, -ENOMEM, "cannot move the database");
	snprintf(mark, sizeof(mark), "move_%s", m->table);
	key = store_read_mark(to, mark);
	while (!to->failure && (end = next_key(from, m, key))) {
		move_portion(from, to, m, columns, text, mark, key, end);
		key = end;
	}
	if (m->is_numbered && key && to->database->number_from)
		store_do(to, to->database->number_from, TEXT(m->table), NUMBER(key));
}

static int tell_failure(struct store *from, struct store *to, struct error *err)
{
	int r = store_told(from, err);

	return r < 0 ? error_prefix(err, r, "reading") : store_told(to, err);
}

static int move_one(struct store *from, struct store *to, const struct moved *m, FILE *out,
		    struct error *err)
{
	struct columns columns = {};
	struct content here = {}, there = {};
	int r;

	open_columns(from, to, m->table, &columns);
	if (!columns.count) { /* it was written before there was such a table */
		free(columns.names);
		return tell_failure(from, to, err);
	}
	if (!to->failure && !from->failure)
		move_table(from, to, m, &columns);
	if (!to->failure && !from->failure) {
		here = read_content(from, m, &columns);
		there = read_content(to, m, &columns);
	}
	free(columns.names);
	r = tell_failure(from, to, err);
	if (r < 0)
		return r;
	if (here.rows != there.rows || here.sum != there.sum)
		return error_set(
			err, -EBADMSG,
			"%s: %" PRIu64 " rows with hash %016" PRIx64 " became %" PRIu64
			" with %016" PRIx64
			": does a server still write? Stop it, empty the new one, begin anew",
			m->table, here.rows, here.sum, there.rows, there.sum);
	fprintf(out, "%-12s %10" PRIu64 " rows, hash %016" PRIx64 " on both sides\n", m->table,
		here.rows, here.sum);
	return 0;
}

static int begin_move(struct store *from, struct store *to, struct error *err)
{
	uint64_t now_ns = clock_now_ns(CLOCK_REALTIME), first_ns;

	if (!store_read_mark(to, "moving")) {
		if (store_number(to, "SELECT count(*) FROM records") +
		    store_number(to, "SELECT count(*) FROM ledger_lines"))
			return error_set(err, -EEXIST,
					 "where it is to go there are records already");
		store_set_mark(to, "moving", 1);
	}
	first_ns = store_number(from, "SELECT MIN(start_ns) FROM records WHERE start_ns > ?1",
				NUMBER(now_ns - PAST_NS));
	if (to->database->make_months)
		store_do(to, to->database->make_months,
			 NUMBER(first_ns ? MIN(first_ns, now_ns) : now_ns), NUMBER(now_ns));
	return tell_failure(from, to, err);
}

int store_move(struct store *from, struct store *to, FILE *out, struct error *err)
{
	int r = begin_move(from, to, err);

	for (size_t i = 0; i < ARRAY_SIZE(moved) && r >= 0; i++)
		r = move_one(from, to, &moved[i], out, err);
	if (r < 0)
		return r;
	store_do(to, "DELETE FROM meta WHERE name LIKE 'mov%'");
	return store_told(to, err);
}
