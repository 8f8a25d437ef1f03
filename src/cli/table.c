/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include "cleanup.h"
#include "utf8.h"

#define GAP 2

struct table {
	const struct table_column *columns;
	size_t column_count;
	char **cells; /* row by row */
	size_t cell_count, capacity;
};

struct layout {
	size_t widths[TABLE_COLUMNS_MAX];
	bool is_gone[TABLE_COLUMNS_MAX];
};

struct table *table_new(const struct table_column *columns, size_t count)
{
	struct table *t = calloc(1, sizeof(*t));

	assert(count > 0 && count <= TABLE_COLUMNS_MAX);
	if (!t)
		return NULL;
	t->columns = columns;
	t->column_count = count;
	return t;
}

struct table *table_free(struct table *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < t->cell_count; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t);
	return NULL;
}

void table_freep(struct table **t)
{
	table_free(*t);
}

void table_cell(struct table *t, const char *format, ...)
{
	va_list args;
	char *text;
	int r;

	if (t->cell_count == t->capacity) {
		size_t capacity = MAX(t->capacity * 2, (size_t)64);
		char **larger = reallocarray(t->cells, capacity, sizeof(*larger));

		if (!larger)
			return;
		t->cells = larger;
		t->capacity = capacity;
	}
	va_start(args, format);
	r = vasprintf(&text, format, args);
	va_end(args);
	if (r >= 0)
		t->cells[t->cell_count++] = text;
}

static size_t total_width(const struct table *t, const struct layout *layout)
{
	size_t total = 0;

	for (size_t i = 0; i < t->column_count; i++) {
		if (!layout->is_gone[i])
			total += layout->widths[i] + (i ? GAP : 0);
	}
	return total;
}

/* The column that goes next; 0: none may. */
static size_t find_next_to_go(const struct table *t, const struct layout *layout)
{
	size_t found = 0;

	for (size_t i = 1; i < t->column_count; i++) {
		if (!layout->is_gone[i] &&
		    t->columns[i].rank > (found ? t->columns[found].rank : 0))
			found = i;
	}
	return found;
}

/* Every column as wide as its widest cell. */
static void measure(const struct table *t, struct layout *ret)
{
	assert(t->column_count > 0);
	*ret = (struct layout){};
	for (size_t i = 0; i < t->column_count; i++)
		ret->widths[i] = utf8_columns(t->columns[i].head);
	for (size_t i = 0; i < t->cell_count; i++) {
		size_t *width = &ret->widths[i % t->column_count];

		*width = MAX(*width, utf8_columns(t->cells[i]));
	}
}

size_t table_width(const struct table *t, size_t first_max)
{
	struct layout layout;

	measure(t, &layout);
	layout.widths[0] = MIN(layout.widths[0], first_max);
	return total_width(t, &layout);
}

static void lay_out(const struct table *t, size_t available, struct layout *ret)
{
	size_t first, others, next;

	measure(t, ret);
	first = ret->widths[0];
	ret->widths[0] = MIN(first, (size_t)TABLE_FIRST_MIN);
	while (total_width(t, ret) > available && (next = find_next_to_go(t, ret)) != 0)
		ret->is_gone[next] = true;
	others = total_width(t, ret) - ret->widths[0];
	if (others < available)
		ret->widths[0] = MIN(first, MAX(available - others, (size_t)1));
}

static void print_cell(const struct table *t, const struct layout *layout, size_t column,
		       const char *text, enum page_style style, struct page *page)
{
	_cleanup_free_ char *fitting = utf8_shorten(text, layout->widths[column]);
	size_t start = page->column, blanks;

	if (!fitting || layout->is_gone[column])
		return;
	if (column > 0)
		start += GAP;
	blanks = layout->widths[column] - utf8_columns(fitting);
	if (column > 0 && !t->columns[column].is_left)
		page_pad(page, start + blanks, 0);
	else
		page_pad(page, start, 0);
	page_put(page, style, "%s", fitting);
	page_pad(page, start + layout->widths[column], 0);
}

static void print_row(const struct table *t, const struct layout *layout, char *const *cells,
		      struct page *page)
{
	page_label(page, NULL);
	for (size_t i = 0; i < t->column_count; i++)
		print_cell(t, layout, i, cells[i], PAGE_PLAIN, page);
	page_end_line(page);
}

void table_print(const struct table *t, const char *label, struct page *page)
{
	struct layout layout;

	if (t->cell_count < t->column_count)
		return;
	lay_out(t, page->width - PAGE_INDENT, &layout);
	page_label(page, label);
	for (size_t i = 0; i < t->column_count; i++)
		print_cell(t, &layout, i, t->columns[i].head, PAGE_DIM, page);
	page_end_line(page);
	for (size_t i = 0; i + t->column_count <= t->cell_count; i += t->column_count)
		print_row(t, &layout, &t->cells[i], page);
}
