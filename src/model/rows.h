/* SPDX-License-Identifier: MIT */
/*
 * rows - what is told of a record, before it is known how it is printed: headed parts, in order, of
 * lines and tables. Text, Markdown and HTML print them (src/report).
 *
 * Texts are copied.  Whatever there is no memory for is left out.  "and 3 more" is a sentence, in
 * small letters and without its full stop: a printer gives it both where they belong.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "basic/macro.h"

enum rows_form { /* bits: who prints it */
		 ROWS_NONE = 8,
		 ROWS_TEXT = 1,
		 ROWS_MARKDOWN = 2,
		 ROWS_HTML = 4,
		 ROWS_SCREEN = 16, /* the first screen of a terminal; ROWS_TEXT is all of it */
		 ROWS_SHORT = ROWS_TEXT | ROWS_MARKDOWN,
		 ROWS_FULL = ROWS_TEXT | ROWS_HTML,
		 ROWS_LONG = ROWS_MARKDOWN | ROWS_HTML,
		 ROWS_ALL = ROWS_SHORT | ROWS_HTML,
		 ROWS_FIRST = ROWS_ALL | ROWS_SCREEN,
};

struct rows; /* opaque here */
struct rows_table; /* the rows' */

struct rows *rows_new(void); /* NULL: no memory; then all below does nothing */
struct rows *rows_free(struct rows *rows); /* NULL is fine; returns NULL */
void rows_freep(struct rows **rows);

/* Whether what was counted is a lower bound, from here on; then "≥", else "". */
void rows_set_bound(struct rows *rows, bool is_bound);
const char *rows_bound(const struct rows *rows);

/* A text that lives as long as the rows; "": no memory. */
const char *rows_format(struct rows *rows, const char *format, ...) PRINTF_LIKE(2, 3);

/* What follows stands under this heading: "Files".  Parts without an item are not printed. */
void rows_part(struct rows *rows, const char *title);

/* An empty line before what follows, on a terminal; none at the end, and never two. */
void rows_gap(struct rows *rows);

/* @label NULL: the line before goes on, or it is a remark.  Text breaks it where the page ends. */
void rows_line(struct rows *rows, unsigned int forms, const char *label, const char *format, ...)
	PRINTF_LIKE(4, 5);
/* The same, for what went wrong. */
void rows_alert(struct rows *rows, unsigned int forms, const char *label, const char *format, ...)
	PRINTF_LIKE(4, 5);
/* A line that is said part by part, with @between them; it is not there if nothing is. */
void rows_begin(struct rows *rows, unsigned int forms, const char *label);
bool rows_has_said(const struct rows *rows);
void rows_say(struct rows *rows, const char *between, const char *format, ...) PRINTF_LIKE(3, 4);
/* The same as a sentence of its own, with a capital and a full stop; nothing of "". */
void rows_say_whole(struct rows *rows, const char *text);
/* Of the line before: a share of 1 that stands before its text, with a bar ("-": not known); and a
 * path at its end, which loses its beginning where a page is narrow. */
void rows_share(struct rows *rows, bool is_known, double share);
void rows_path(struct rows *rows, const char *path);

/* ---- tables ---- */

enum rows_kind {
	ROWS_WORDS,
	ROWS_BYTES,
	ROWS_SIZE,
	ROWS_COUNT,
	ROWS_TIME,
	ROWS_SHARE
}; /* no bytes are "0", a size is "0 B" */

struct rows_column {
	const char *head;
	bool is_left; /* words; the first always is */
	unsigned int rank; /* where a page is too narrow the highest goes first; 0: never */
	unsigned int forms; /* 0: all that the table is in */
	const char *group, *under; /* where there is room for two heads: "read" above "calls"; NULL:
				      @head alone */
	bool is_path; /* loses its beginning, not its middle; the first column only */
	unsigned int most; /* columns: what is wider loses its middle; 0: any */
	unsigned int least; /* where a page is too narrow it is shortened to so many before others
			       go; 0: it is not */
};

#define ROWS_COLUMNS_MAX 32

/* One behind the other, row by row, also those of columns that a form has not. */
struct rows_cell {
	enum rows_kind kind;
	bool is_known; /* else "-" */
	bool is_bound; /* "≥", but for 0 */
	bool is_least; /* the same where the rows' numbers are */
	uint64_t number; /* bytes, a size, a count, nanoseconds */
	double share; /* 0 to 1 */
	const char *text; /* of words; copied */
	const char *aside[2]; /* small below it, where there is room; copied; or NULL */
};

static inline struct rows_cell cell_words(const char *text)
{
	return (struct rows_cell){ .kind = ROWS_WORDS, .is_known = text, .text = text };
}

static inline struct rows_cell cell_number(enum rows_kind kind, uint64_t number)
{
	return (struct rows_cell){ .kind = kind, .is_known = true, .number = number };
}

/* One that may be a lower bound, as rows_set_bound() said. */
static inline struct rows_cell cell_least(enum rows_kind kind, uint64_t number)
{
	return (struct rows_cell){
		.kind = kind, .is_known = true, .is_least = true, .number = number
	};
}

static inline struct rows_cell cell_share(double share)
{
	return (struct rows_cell){ .kind = ROWS_SHARE, .is_known = true, .share = share };
}

/* The same, or "-". */
static inline struct rows_cell cell_if(bool is_known, struct rows_cell cell)
{
	cell.is_known &= is_known;
	return cell;
}

static inline struct rows_cell cell_bound(bool is_bound, struct rows_cell cell)
{
	cell.is_bound = is_bound;
	return cell;
}

/* @columns are copied; their texts must outlive the rows.  A table without rows is not printed. */
struct rows_table *rows_table(struct rows *rows, unsigned int forms, const char *label,
			      const struct rows_column *columns, size_t count);
/* Cells that follow are of a row that only these forms have, until the next is begun. */
void rows_row(struct rows_table *table, unsigned int forms);
void rows_cell(struct rows_table *table, struct rows_cell cell);
void rows_words(struct rows_table *table, const char *format, ...) PRINTF_LIKE(2, 3);
/* A sentence below the table. */
void rows_remark(struct rows_table *table, unsigned int forms, const char *format, ...)
	PRINTF_LIKE(3, 4);
