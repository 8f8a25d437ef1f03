/* SPDX-License-Identifier: MIT */
/*
 * database - what the store asks of SQLite and of PostgreSQL alike, and what each does its own way.
 *
 * Statements are written once, in SQL that both understand, with ?1, ?2... for values; the tables
 * of both are made of sql/schema.sql.  What fails is remembered by the store (store_fail_at()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/store/store.h"

struct sqlite3_stmt;
struct pg_result;

/* A value in the place of ?1, ?2...; its type is known where it is NULL, too. */
struct arg {
	enum { ARG_NUMBER, ARG_TEXT, ARG_BYTES } type;
	bool is_known; /* else it is NULL */
	const void *bytes; /* stay until the statement is asked */
	uint64_t number; /* or how many bytes: of a text without its NUL */
};

/* Begins as {} but for its text, which outlives it. */
struct statement {
	const char *text;
	const struct database *database; /* NULL: it has not been asked */
	union {
		struct sqlite3_stmt *sqlite;
		struct {
			struct pg_result *result; /* the rows; NULL: they have not come */
			int row;
			unsigned int connection; /* on which it was prepared; 0: none */
			size_t count; /* of its values */
		} pg;
	};
};

struct cell { /* holds until the next row */
	bool is_known; /* else it is NULL */
	uint64_t number;
	const void *bytes; /* of a text: NUL-ended */
	size_t length; /* without its NUL */
};

struct database {
	const char *columns; /* asks for the names of the columns of table ?1, and for the type of
				each as struct arg has it */
	const char *bytes; /* asks for the size of the database */
	const char *make_months; /* makes ready for times from ?1 to ?2; NULL: it is anyway */
	const char *number_from; /* new rows of table ?1 have numbers behind ?2; NULL: anyway */
	const char *position; /* function: where in a text another one stands; 0: nowhere */
	const char *truncate; /* function: of a number that is cast to a whole one; "": casts do it
			       */

	const char *month; /* the beginning of that of day_ns */

	bool alters_at_once; /* several columns by one statement */

	/* Makes what is missing, by @mode.  Sets s->handle even where it fails. */
	int (*open)(struct store *s, const char *where, enum store_mode mode, struct error *err);
	void (*close)(struct store *s);

	/* Prepared at the first time.  It is run when its rows are read, or by finish(). */
	void (*ask)(struct store *s, struct statement *st, const struct arg *args, size_t count);
	bool (*next)(struct store *s, struct statement *st); /* whether there is a row */
	struct cell (*cell)(const struct statement *row, int column);
	/* Have it done, whatever it gives; of PostgreSQL within a transaction it is not waited for.
	 */
	void (*finish)(struct store *s, struct statement *st);
	void (*reset)(struct statement *st); /* its rows are not wanted any more */
	void (*release)(struct store *s, struct statement *st); /* of one that is not kept */
	void (*execute)(struct store *s, const char *text); /* outside of transactions */

	/* One writes at a time; the others wait for 10 s. */
	void (*begin)(struct store *s);
	void (*commit)(struct store *s);
	void (*abandon)(struct store *s); /* also where nothing was begun */

	bool (*may_work)(struct store *s, uint64_t now_ns); /* whether the upkeep is ours */
	void (*tidy)(struct store *s); /* when nothing is left to do: give space back */
	void (*wipe)(struct store *s); /* what was deleted is to be gone from the disk */
	int (*backup)(struct store *s, const char *path, struct error *err);
};

extern const struct database database_sqlite;
