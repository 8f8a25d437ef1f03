/* SPDX-License-Identifier: MIT */
#include "report/text_table.h"

#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "report/page.h"
#include "report/rows_items.h"
#include "basic/utf8.h"

#define GAP 2
#define TABLE_FIRST_MIN                                                                           \
	12 /* the first column is not shortened below this while others can go, unless it says so \
	    */

struct layout {
	size_t widths[ROWS_COLUMNS_MAX];
	bool is_gone[ROWS_COLUMNS_MAX];
};

static size_t total_width(const struct rows_table *t, const struct layout *layout)
{
	size_t total = 0;

	for (size_t i = 0; i < t->column_count; i++) {
		if (!layout->is_gone[i])
			total += layout->widths[i] + (i ? GAP : 0);
	}
	return total;
}

/* The column that goes next; 0: none may. */
static size_t find_next_to_go(const struct rows_table *t, const struct layout *layout)
{
	size_t found = 0;

	for (size_t i = 1; i < t->column_count; i++) {
		if (!layout->is_gone[i] &&
		    t->columns[i].rank > (found ? t->columns[found].rank : 0))
			found = i;
	}
	return found;
}

static const char *cell_at(const struct rows_table *t, size_t row, size_t column,
			   struct human *buffer)
{
	return rows_cell_text(&t->cells[row * t->column_count + column], buffer);
}

static bool has_row(const struct rows_table *t, size_t row)
{
	return t->row_forms[row] & ROWS_TEXT && (row + 1) * t->column_count <= t->cell_count;
}

static bool is_dashes(const struct rows_table *t, size_t column)
{
	struct human buffer;

	for (size_t row = 0; row < t->row_count; row++) {
		if (has_row(t, row) && strcmp(cell_at(t, row, column, &buffer), "-") != 0)
			return false;
	}
	return true;
}

/* Every column as wide as its widest cell. */
static struct layout measure(const struct rows_table *t, size_t first_max)
{
	struct layout layout = {};
	struct human buffer;

	for (size_t i = 0; i < t->column_count; i++) {
		layout.is_gone[i] = !rows_column_is_in(t, i, ROWS_TEXT) ||
				    (t->lacks_dashes && is_dashes(t, i));
		layout.widths[i] = utf8_columns(t->columns[i].head);
	}
	for (size_t row = 0; row < t->row_count; row++) {
		for (size_t i = 0; has_row(t, row) && i < t->column_count; i++)
			layout.widths[i] = MAX(layout.widths[i],
					       utf8_columns(cell_at(t, row, i, &buffer)));
	}
	for (size_t i = 0; i < t->column_count; i++) {
		if (t->columns[i].most)
			layout.widths[i] = MIN(layout.widths[i], (size_t)t->columns[i].most);
	}
	layout.widths[0] = MIN(layout.widths[0], first_max);
	return layout;
}

/* How long a path may be beside all other columns. */
static size_t path_room(const struct rows_table *t, size_t available)
{
	struct layout layout = measure(t, 0);
	size_t others = total_width(t, &layout);

	return available > others + TABLE_FIRST_MIN ? available - others : TABLE_FIRST_MIN;
}

/* Of those that may be shortened. */
static void shorten(const struct rows_table *t, size_t available, struct layout *layout)
{
	for (size_t i = 0; i < t->column_count; i++) {
		size_t total = total_width(t, layout), *width = &layout->widths[i],
		       least = t->columns[i].least;

		if (least && *width > least && total > available)
			*width -= MIN(*width - least, total - available);
	}
}

static struct layout lay_out(const struct rows_table *t, size_t available)
{
	struct layout layout = measure(t,
				       t->columns[0].is_path ? path_room(t, available) : SIZE_MAX);
	size_t first = layout.widths[0], others, next;

	layout.widths[0] = MIN(first, (size_t)(t->columns[0].least ?: TABLE_FIRST_MIN));
	shorten(t, available, &layout);
	while (total_width(t, &layout) > available && (next = find_next_to_go(t, &layout)) != 0)
		layout.is_gone[next] = true;
	others = total_width(t, &layout) - layout.widths[0];
	if (others < available)
		layout.widths[0] = MIN(first, MAX(available - others, (size_t)1));
	return layout;
}

char *text_path(const char *path, size_t columns)
{
	const char *p = path;
	char *text;

	while (utf8_columns(p) > columns - 1 && *p)
		utf8_next(&p);
	if (utf8_columns(path) <= columns)
		p = path;
	return asprintf(&text, "%s%s", p == path ? "" : "…", p) < 0 ? NULL : text;
}

static void print_cell(const struct rows_table *t, const struct layout *layout, size_t column,
		       const char *text, enum page_style style, struct page *page)
{
	size_t width = layout->widths[column], start = page->column + (column ? GAP : 0), blanks;
	_cleanup_free_ char *fitting = NULL;

	if (layout->is_gone[column])
		return;
	fitting = !column && t->columns[0].is_path ? text_path(text, width)
						   : utf8_shorten(text, width);
	if (!fitting)
		return;
	blanks = column && !t->columns[column].is_left ? width - utf8_columns(fitting) : 0;
	page_pad(page, start + blanks, 0);
	page_put(page, style, "%s", fitting);
	page_pad(page, start + width, 0);
}

static bool has_heads(const struct rows_table *t)
{
	bool has = false;

	for (size_t i = 0; i < t->column_count; i++)
		has |= *t->columns[i].head != '\0';
	return has;
}

/* A label that is too wide has a line of its own. */
static void print_row(const struct rows_table *t, const struct layout *layout, size_t row,
		      struct page *page)
{
	struct human buffer;
	const char *label = cell_at(t, row, 0, &buffer);
	const bool is_wide = !t->columns[0].is_path && !t->columns[0].most &&
			     utf8_columns(label) > layout->widths[0];

	page_label(page, NULL);
	if (is_wide) {
		page_words(page, PAGE_PLAIN, page_indent(page), label);
		page_end_line(page);
		page_label(page, NULL);
	}
	for (size_t i = 0; i < t->column_count; i++)
		print_cell(t, layout, i, i || !is_wide ? cell_at(t, row, i, &buffer) : "",
			   PAGE_PLAIN, page);
	page_end_line(page);
}

void text_table(const struct rows_table *t, const char *label, struct page *page)
{
	const struct layout layout = lay_out(t, page->width - page_indent(page));

	if (has_heads(t)) {
		page_label(page, label);
		for (size_t i = 0; i < t->column_count; i++)
			print_cell(t, &layout, i, t->columns[i].head, PAGE_DIM, page);
		page_end_line(page);
	}
	for (size_t row = 0; row < t->row_count; row++) {
		if (!has_row(t, row))
			continue;
		print_row(t, &layout, row, page);
	}
}
