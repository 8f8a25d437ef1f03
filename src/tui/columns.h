/* SPDX-License-Identifier: MIT */
/* columns - the columns of top: one table for drawing, sorting, help and the mouse. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct top;
struct top_row;

#define COLUMN_TEXT_MAX 512

#define COLUMNS_MAX 32

struct column {
	const char *name; /* that options have: "cores" */
	const char *title;
	char key; /* sorts by it; 0: only the menu does */
	unsigned int least, most; /* columns that it takes */
	unsigned int rank; /* 0: always shown; the highest is left out first */
	bool is_left; /* a text */
	const char *help;
	/* Writes at most @width columns of text; false: not known.  NULL: put() writes the number.
	 */
	bool (*format)(const struct top *t, const struct top_row *row, unsigned int width,
		       char *ret, size_t size);
	bool (*put)(char *ret, size_t size, double number);
	/* To sort by, the largest first: a double's place in struct numbers; 0: by the text.  NAN:
	 * unknown, always last. */
	size_t number;
	bool (*is_alarming)(const struct top_row *row); /* NULL: never */
	bool is_of_gpus; /* shown only if the node has some, or it is wanted */
};

extern const struct column top_columns[];
extern const size_t column_count;

#define COLUMN_DEFAULT 4 /* cores */

/* By its key; column_count: none has it. */
size_t column_find(char key);

/* The cell's text, in at most @width columns; false: not known. */
bool column_format(const struct top *t, size_t column, const struct top_row *row,
		   unsigned int width, char *ret, size_t size);

/* < 0: @a comes before @b. */
int column_compare(const struct top *t, size_t column, const struct top_row *a,
		   const struct top_row *b);

struct columns_wanted { /* begins as {}: those that there is room for, in the table's order */
	size_t items[COLUMNS_MAX];
	size_t count;
	bool has_gpus; /* the node */
};

/* "id,cores,memory".  -EINVAL: no such column; *err lists them. */
int columns_parse(const char *text, struct columns_wanted *ret, struct error *err);

struct columns_layout { /* from left to right */
	struct {
		size_t column;
		unsigned int width;
	} items[COLUMNS_MAX];
	size_t count;
};

/* The columns that fit into @width, with one blank between them, and their widths. Of wanted ones
 * the last are left out first. */
void columns_fit(const struct columns_wanted *wanted, unsigned int width,
		 struct columns_layout *ret);

/* The least width that has all of the wanted ones. */
unsigned int columns_width(const struct columns_wanted *wanted);
