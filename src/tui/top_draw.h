/* SPDX-License-Identifier: MIT */
/* top_draw - top as a grid of cells, whatever the size: for a terminal, for text, for tests. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct grid;
struct top;
struct top_job;

/* The least that something is drawn at. */
#define TOP_COLUMNS_MIN 20
#define TOP_ROWS_MIN 4

/* All of the screen; what does not fit is left out, and the list scrolled so that the selected row
 * is in it. */
void top_draw(struct top *t, struct grid *g);

/* The head and all rows, and nothing that is for a person at keys: on a grid of top_text_rows()
 * rows, and as wide as @columns, or as the wanted columns take. */
void top_draw_text(struct top *t, struct grid *g);
unsigned int top_text_rows(const struct top *t, unsigned int columns);
unsigned int top_text_columns(const struct top *t, unsigned int columns);

/* What is under the mouse.  False: nothing that can be clicked. */
bool top_find_row(const struct top *t, const struct grid *g, unsigned int row, size_t *ret);
bool top_find_column(const struct top *t, const struct grid *g, unsigned int row,
		     unsigned int column, size_t *ret);

/* The details of one job (core time, findings, mounts, and curves over time), in the rows from
 * @first to before @end.  Returns the row behind the last that was drawn. */
unsigned int top_detail_draw(const struct top *t, const struct top_job *job, struct grid *g,
			     unsigned int first, unsigned int end);
