/* SPDX-License-Identifier: MIT */
/*
 * grid - a screen of cells, each a character and a style, that is drawn into and then shown: by
 * curses, or as text.
 *
 * Control characters and escapes are replaced, because names of jobs may contain anything. Text
 * outside is cut off.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "basic/macro.h"

#define GRID_COLUMNS_MAX 1024u
#define GRID_ROWS_MAX 70000u /* of text; a terminal has fewer */

enum style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_HEAD, /* of a table */
	STYLE_SELECTED, /* the selected row */
	STYLE_TAGGED,
	STYLE_ALERT,
	STYLE_ON_CPU, /* parts of core time, as reports colour them */
	STYLE_WAIT,
	STYLE_IDLE,
	STYLE_COUNT,
};

struct cell {
	uint32_t character; /* 0: the right half of a wide one */
	enum style style;
};

struct grid {
	unsigned int columns, rows;
	bool is_ascii; /* bars and lines become ASCII, other characters '?' */
	struct cell *cells; /* row by row */
};

/* Blank.  NULL: no memory.  Over the bounds it is cut to them. */
struct grid *grid_new(unsigned int columns, unsigned int rows, bool is_ascii);
struct grid *grid_free(struct grid *g); /* NULL is fine; returns NULL */
void grid_freep(struct grid **g);

/* The cell; it must be inside. */
struct cell *grid_at(const struct grid *g, unsigned int row, unsigned int column);

/* At most @width columns of it.  Returns the column behind it. */
unsigned int grid_put(struct grid *g, unsigned int row, unsigned int column, unsigned int width,
		      enum style style, const char *text);
/* The same to the end of the row. */
unsigned int grid_print(struct grid *g, unsigned int row, unsigned int column, enum style style,
			const char *format, ...) PRINTF_LIKE(5, 6);

/* Another style for @width columns of what is there. */
void grid_paint(struct grid *g, unsigned int row, unsigned int column, unsigned int width,
		enum style style);

/* As lines of text without styles and without blanks at their ends. */
void grid_print_text(const struct grid *g, FILE *out);
