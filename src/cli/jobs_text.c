/* SPDX-License-Identifier: MIT */
#include "cli/jobs_text.h"

#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/csv.h"
#include "basic/macro.h"
#include "basic/utf8.h"
#include "cli/jobs_columns.h"
#include "report/page.h"

#define GAP 2
#define TEXT_WIDTH_MAX 40 /* what others named may be as long as they like */
#define NAME_WIDTH_MIN 8

struct layout {
	size_t widths[JOBS_COLUMNS_MAX];
	bool is_gone[JOBS_COLUMNS_MAX];
};

static struct layout measure(const struct job_rows *rows, const struct jobs_columns *columns,
			     bool has_head)
{
	char buffer[JOB_ROW_KEY_SIZE];
	struct layout layout = {};

	for (size_t i = 0; i < columns->count; i++) {
		const struct jobs_column *column = &columns->items[i];

		if (has_head)
			layout.widths[i] = utf8_columns(jobs_column_head(column, buffer));
		for (size_t row = 0; row < rows->count; row++) {
			struct jobs_cell cell = jobs_cell(column, &rows->items[row]);
			struct human human;
			size_t width = utf8_columns(jobs_cell_text(column, &cell, &human));

			layout.widths[i] = MAX(layout.widths[i], width);
		}
		layout.widths[i] = MIN(layout.widths[i], (size_t)TEXT_WIDTH_MAX);
	}
	return layout;
}

static size_t total_width(const struct jobs_columns *columns, const struct layout *layout)
{
	size_t total = 0;

	for (size_t i = 0; i < columns->count; i++) {
		if (!layout->is_gone[i])
			total += layout->widths[i] + (total ? GAP : 0);
	}
	return total;
}

/* The column that goes next; columns->count: none may. */
static size_t find_next_to_go(const struct jobs_columns *columns, const struct layout *layout)
{
	size_t found = columns->count;
	unsigned int rank = 0;

	for (size_t i = 0; i < columns->count; i++) {
		if (layout->is_gone[i] || columns->items[i].rank <= rank)
			continue;
		found = i;
		rank = columns->items[i].rank;
	}
	return found;
}

/* The job's name gives way first, then columns go. */
static void fit(const struct jobs_columns *columns, size_t available, struct layout *layout)
{
	size_t next;

	for (size_t i = 0; i < columns->count; i++) {
		size_t total = total_width(columns, layout), *width = &layout->widths[i],
		       excess = total > available ? total - available : 0;

		if (strcmp(columns->items[i].name, "name") == 0 && *width > NAME_WIDTH_MIN)
			*width = MAX(*width - MIN(excess, *width), (size_t)NAME_WIDTH_MIN);
	}
	while (total_width(columns, layout) > available &&
	       (next = find_next_to_go(columns, layout)) < columns->count)
		layout->is_gone[next] = true;
}

static void print_cell(const struct layout *layout, const struct jobs_column *column, size_t i,
		       const char *text, enum page_style style, struct page *page)
{
	size_t width = layout->widths[i], start = page->column;
	_cleanup_free_ char *fitting = NULL;

	if (layout->is_gone[i] || !width)
		return;
	if (start > 0)
		start += GAP;
	fitting = utf8_shorten(text, width);
	if (!fitting)
		return;
	page_pad(page, start + (column->kind == JOBS_TEXT ? 0 : width - utf8_columns(fitting)), 0);
	page_put(page, style, "%s", fitting);
	page_pad(page, start + width, 0);
}

void jobs_text(const struct job_rows *rows, const struct jobs_columns *columns, bool has_head,
	       bool fits, FILE *out)
{
	struct layout layout = measure(rows, columns, has_head);
	struct page page = page_for(out);
	char buffer[JOB_ROW_KEY_SIZE];

	if (fits && isatty(fileno(out)))
		fit(columns, page.width, &layout);
	for (size_t i = 0; has_head && i < columns->count; i++)
		print_cell(&layout, &columns->items[i], i,
			   jobs_column_head(&columns->items[i], buffer), PAGE_DIM, &page);
	if (has_head)
		page_end_line(&page);
	for (size_t row = 0; row < rows->count; row++) {
		for (size_t i = 0; i < columns->count; i++) {
			const struct jobs_column *column = &columns->items[i];
			struct jobs_cell cell = jobs_cell(column, &rows->items[row]);
			struct human human;

			print_cell(&layout, column, i, jobs_cell_text(column, &cell, &human),
				   PAGE_PLAIN, &page);
		}
		page_end_line(&page);
	}
}

void jobs_csv(const struct job_rows *rows, const struct jobs_columns *columns, bool has_head,
	      FILE *out)
{
	char buffer[JOB_ROW_KEY_SIZE];

	for (size_t i = 0; has_head && i < columns->count; i++) {
		fputs(i ? "," : "", out);
		csv_put(jobs_column_name(&columns->items[i], buffer), out);
	}
	if (has_head)
		fputc('\n', out);
	for (size_t row = 0; row < rows->count; row++) {
		for (size_t i = 0; i < columns->count; i++) {
			const struct jobs_column *column = &columns->items[i];
			struct jobs_cell cell = jobs_cell(column, &rows->items[row]);

			fputs(i ? "," : "", out);
			jobs_cell_csv(column, &cell, out);
		}
		fputc('\n', out);
	}
}
