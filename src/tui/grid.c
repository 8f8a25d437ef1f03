/* SPDX-License-Identifier: MIT */
#include "tui/grid.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "basic/utf8.h"

struct grid *grid_new(unsigned int columns, unsigned int rows, bool is_ascii)
{
	_cleanup_(grid_freep) struct grid *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->columns = MIN(columns, GRID_COLUMNS_MAX);
	g->rows = MIN(rows, GRID_ROWS_MAX);
	g->is_ascii = is_ascii;
	g->cells = calloc((size_t)g->columns * g->rows + 1, sizeof(*g->cells));
	if (!g->cells)
		return NULL;
	for (size_t i = 0; i < (size_t)g->columns * g->rows; i++)
		g->cells[i].character = ' ';
	return TAKE_PTR(g);
}

struct grid *grid_free(struct grid *g)
{
	if (g)
		free(g->cells);
	free(g);
	return NULL;
}

void grid_freep(struct grid **g)
{
	grid_free(*g);
}

struct cell *grid_at(const struct grid *g, unsigned int row, unsigned int column)
{
	assert(row < g->rows && column < g->columns);
	return &g->cells[(size_t)row * g->columns + column];
}

/* As it can be shown here. */
static uint32_t shown(const struct grid *g, uint32_t c, unsigned int *ret_width)
{
	*ret_width = 1;
	if (!utf8_is_printable(c))
		return '?';
	if (c >= 0x80 && g->is_ascii)
		return (unsigned char)utf8_ascii(c);
	*ret_width = utf8_width(c);
	return c;
}

unsigned int grid_put(struct grid *g, unsigned int row, unsigned int column, unsigned int width,
		      enum style style, const char *text)
{
	unsigned int end = column < g->columns ? column + MIN(width, g->columns - column) : column;
	uint32_t c;

	if (row >= g->rows)
		return column;
	while ((c = utf8_next(&text))) {
		unsigned int wide;

		c = shown(g, c, &wide);
		if (wide == 0) /* what would join the character before it is left out */
			continue;
		if (column + wide > end)
			break;
		*grid_at(g, row, column) = (struct cell){ c, style };
		if (wide == 2)
			*grid_at(g, row, column + 1) = (struct cell){ 0, style };
		column += wide;
	}
	return column;
}

unsigned int grid_print(struct grid *g, unsigned int row, unsigned int column, enum style style,
			const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL; /* undefined after a failure */
	va_end(args);
	return text ? grid_put(g, row, column, g->columns, style, text) : column;
}

void grid_paint(struct grid *g, unsigned int row, unsigned int column, unsigned int width,
		enum style style)
{
	if (row >= g->rows)
		return;
	for (unsigned int i = column; i < g->columns && i - column < width; i++)
		grid_at(g, row, i)->style = style;
}

void grid_print_text(const struct grid *g, FILE *out)
{
	for (unsigned int row = 0; row < g->rows; row++) {
		unsigned int end = g->columns;

		while (end && grid_at(g, row, end - 1)->character == ' ')
			end--;
		for (unsigned int i = 0; i < end; i++) {
			char bytes[UTF8_MAX];
			uint32_t c = grid_at(g, row, i)->character;

			if (c)
				fwrite(bytes, 1, utf8_encode(c, bytes), out);
		}
		fputc('\n', out);
	}
}
