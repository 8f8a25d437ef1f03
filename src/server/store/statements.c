/* SPDX-License-Identifier: MIT */
/* Statements, whichever database runs them, and the store around them. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rules.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "model/document.h"
#include "server/store/store_internal.h"

void store_fail(struct store *s, int code, const char *words)
{
	if (s->failure)
		return;
	s->failure = error_set(&s->error, code, "%s%s",
			       code == -ENOSPC || code == -ETIME ? "" : "the database: ",
			       code == -ENOSPC ? "there is no space left for the database"
			       : code == -ETIME
				       ? "that takes too long: ask for less at once (since, until)"
				       : words);
}

void store_fail_at(struct store *s, int code, const char *what)
{
	if (!s->failure)
		s->failure = error_set_errno(&s->error, code, "%s", what);
}

int store_told(struct store *s, struct error *err)
{
	int r = s->failure;

	s->failure = 0;
	return r < 0 ? error_set(err, r, "%s", s->error.text) : 0;
}

struct arg store_text(const char *text)
{
	return (struct arg){ ARG_TEXT, text != NULL, text, text ? strlen(text) : 0 };
}

void store_ask_once(struct store *s, struct statement *st, const struct arg *args, size_t count)
{
	st->database = s->database;
	if (st->out && fclose(TAKE_PTR(st->out)) != 0)
		store_fail_at(s, -ENOMEM, "cannot ask the database");
	st->text = st->written ? st->written : st->text;
	if (!s->failure)
		s->database->ask(s, st, args, count);
}

FILE *store_write(struct store *s, struct statement *st, const char *what)
{
	st->database = s->database;
	st->out = open_memstream(&st->written, &st->size);
	if (!st->out)
		store_fail_at(s, -ENOMEM, what);
	return st->out;
}

void store_begin_list(struct store *s, struct statement *rows, const struct arg *args, size_t count)
{
	store_ask_once(s, rows, args, count);
	s->deadline_ns = clock_now_ns(CLOCK_MONOTONIC) + STORE_LIST_NS;
}

int store_end_list(struct store *s, struct statement *rows, struct error *err)
{
	s->deadline_ns = 0;
	store_release(s, rows);
	return store_told(s, err);
}

int store_format_list(struct store *s, struct statement *rows, const char *name, size_t limit,
		      void (*put)(const void *context, const struct statement *row,
				  struct document *d),
		      const void *context, struct document *d, struct error *err)
{
	size_t count = 0;

	document_begin_list_of(d, name);
	while (store_next(s, rows) && ++count <= limit) {
		document_begin_map(d);
		put(context, rows, d);
		document_end_map(d);
	}
	document_end_list(d);
	document_put_boolean(d, "more", count > limit);
	return store_end_list(s, rows, err);
}

struct statement *store_ask_with(struct store *s, const char *text, const struct arg *args,
				 size_t count)
{
	struct statement *kept = s->statements;

	while (kept->text && kept->text != text)
		kept++;
	assert(kept < &s->statements[STORE_STATEMENTS_MAX - 1]); /* the last one stays free */
	kept->text = text;
	store_ask_once(s, kept, args, count);
	return kept;
}

void store_release(struct store *s, struct statement *st)
{
	if (st->database)
		st->database->release(s, st);
	free(TAKE_PTR(st->written));
}

bool store_next(struct store *s, struct statement *row)
{
	if (!s->failure && s->database->next(s, row))
		return true;
	store_reset(row);
	return false;
}

void store_reset(struct statement *row)
{
	row->database->reset(row);
}

uint64_t store_get(struct store *s, struct statement *row)
{
	uint64_t number = store_next(s, row) ? COLUMN_NUMBER(row, 0) : 0;

	store_reset(row);
	return number;
}

uint64_t store_number_once(struct store *s, const char *text, const struct arg *args, size_t count)
{
	struct statement st = { .text = text };
	uint64_t number;

	store_ask_once(s, &st, args, count);
	number = store_get(s, &st);
	store_release(s, &st);
	return number;
}

void store_finish(struct store *s, struct statement *st)
{
	if (!s->failure)
		s->database->finish(s, st);
}

void store_collect(struct store *s, struct statement *row, struct id_list *ret)
{
	while (store_next(s, row)) {
		if (id_list_add(ret, COLUMN_NUMBER(row, 0)) < 0)
			store_fail_at(s, -ENOMEM, "cannot read the database");
	}
}

void store_execute(struct store *s, const char *text)
{
	if (!s->failure)
		s->database->execute(s, text);
}

struct cell store_cell(const struct statement *row, int column)
{
	return row->database->cell(row, column);
}

int store_begin(struct store *s, struct error *err)
{
	s->database->begin(s);
	return store_told(s, err);
}

int store_commit(struct store *s, struct error *err)
{
	_cleanup_(id_list_clear) struct id_list jobs = {};

	store_close_older_boots(s);
	store_fold(s, STALE_NOW, INT32_MAX, &jobs);
	store_drop_empty_rollups(s);
	if (!s->failure)
		s->database->commit(s);
	return store_told(s, err);
}

void store_fold_later(struct store *s)
{
	s->folds_later = true;
}

void store_abandon(struct store *s)
{
	s->database->abandon(s);
	s->boot.arrived_ns = 0;
	s->folds_later = s->has_unrolled = false;
	s->failure = 0;
}

int store_check_version(const char *where, uint64_t version, enum store_mode mode,
			struct error *err)
{
	if (version > STORE_VERSION)
		return error_set(err, -EINVAL,
				 "'%s' was written by a newer jobmeter-server (its tables are "
				 "version %" PRIu64 ", these are %d)",
				 where, version, STORE_VERSION);
	if (version < STORE_VERSION && mode == STORE_READ)
		return error_set(err, -EINVAL,
				 "'%s' was written by an older jobmeter-server: start this one "
				 "with it, or run 'jobmeter-server reindex'",
				 where);
	return 0;
}

void store_update(struct store *s, uint64_t version)
{
	static const char *const steps[STORE_VERSION] = {
		[1] = STORE_FROM_1, [2] = STORE_FROM_2, [3] = STORE_FROM_3
	};

	for (; version && version < STORE_VERSION; version++)
		store_execute(s, steps[version]);
}

int store_open_with(const struct database *database, const char *where, enum store_mode mode,
		    struct store **ret, struct error *err)
{
	_cleanup_(store_closep) struct store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_set_errno(err, ENOMEM, "cannot open the database");
	s->database = database;
	r = database->open(s, where, mode, err);
	if (r >= 0 && mode == STORE_WRITE && store_read_mark(s, "moving"))
		return error_set(
			err, -EINVAL,
			"'%s': a move into it was broken off; 'jobmeter-server move' goes on "
			"with it",
			where);
	if (r >= 0 && mode == STORE_WRITE)
		r = rules_load_built_in(&s->rules, err);
	if (r >= 0 && mode == STORE_WRITE) { /* this version may be able to make them */
		store_execute(s,
			      "UPDATE jobs SET is_stale = 2 WHERE is_stale = 3 AND is_stale > 0");
		store_open_rollups(s, mode);
		r = store_told(s, err);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

int store_open(const char *path, enum store_mode mode, struct store **ret, struct error *err)
{
	return store_open_with(&database_sqlite, path, mode, ret, err);
}

struct store *store_close(struct store *s)
{
	if (!s)
		return NULL;
	for (struct statement *kept = s->statements; kept->text; kept++)
		store_release(s, kept);
	for (size_t i = 0; i < TABLE_COUNT; i++)
		free(s->inserts[i]);
	free(s->put_run);
	free(s->select_run);
	free(s->roll);
	s->database->close(s);
	rules_free(s->rules);
	free(s);
	return NULL;
}

void store_closep(struct store **s)
{
	store_close(*s);
}

int store_backup(struct store *s, const char *path, struct error *err)
{
	return s->database->backup(s, path, err);
}

const struct store_facts *store_counted(const struct store *s)
{
	return &s->facts;
}

int store_read_facts(struct store *s, bool counts_rows, struct store_facts *ret, struct error *err)
{
	*ret = s->facts;
	ret->bytes = store_number(s, s->database->bytes);
	if (counts_rows) {
		ret->records = store_number(s, "SELECT count(*) FROM records");
		ret->jobs = store_number(s, "SELECT count(*) FROM jobs");
	}
	return store_told(s, err);
}

int store_check(struct store *s, struct error *err)
{
	(void)store_number(s, "SELECT value FROM meta WHERE name = 'reindex_at'");
	/* a database that was restored in part may lack what the next record wants */
	(void)store_number(s, "EXPLAIN INSERT INTO records (cluster) "
			      "SELECT cluster FROM records WHERE 1 = 0 " STORE_ON_CONFLICT
			      " DO NOTHING");
	return store_told(s, err);
}
