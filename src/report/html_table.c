/* SPDX-License-Identifier: MIT */
#include "html_table.h"

#include <stdarg.h>
#include <string.h>

#include "cleanup.h"

static bool is_same_group(const struct html_column *a, const struct html_column *b)
{
	return a->group && b->group && strcmp(a->group, b->group) == 0;
}

static bool has_groups(const struct html_column *columns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (columns[i].group)
			return true;
	}
	return false;
}

static void put_groups(struct html *h, const struct html_column *columns, size_t count)
{
	html_begin(h, "tr");
	for (size_t i = 0, width; i < count; i += width) {
		for (width = 1;
		     i + width < count && is_same_group(&columns[i], &columns[i + width]);)
			width++;
		if (!columns[i].group) {
			html_element(h, "td", NULL, "%s", "");
			continue;
		}
		html_begin_class(h, "th", "group");
		html_attribute(h, "scope", "colgroup");
		html_attribute(h, "colspan", "%zu", width);
		html_text(h, "%s", columns[i].group);
		html_end(h);
	}
	html_end(h);
}

static void put_heads(struct html *h, const struct html_column *columns, size_t count)
{
	html_begin(h, "tr");
	for (size_t i = 0; i < count; i++) {
		html_begin(h, "th");
		if (i == 0 || columns[i].is_text)
			html_attribute(h, "class", "text");
		html_attribute(h, "scope", "col");
		html_text(h, "%s", columns[i].head);
		html_end(h);
	}
	html_end(h);
}

void html_table_begin(struct html *h, const char *label, const struct html_column *columns,
		      size_t count)
{
	html_begin_class(h, "div", "scroll");
	html_attribute(h, "role", "region");
	html_attribute(h, "tabindex", "0");
	html_attribute(h, "aria-label", "%s", label);
	html_begin(h, "table");
	html_begin(h, "thead");
	if (has_groups(columns, count))
		put_groups(h, columns, count);
	put_heads(h, columns, count);
	html_end(h);
	html_begin(h, "tbody");
}

void html_table_end(struct html *h)
{
	html_end(h);
	html_end(h);
	html_end(h);
}

static void put_text(struct html *h, const char *format, va_list args) PRINTF_LIKE(2, 0);
static void put_text(struct html *h, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL; /* undefined after a failure */
	html_text(h, "%s", text ? text : "");
}

void html_table_begin_row(struct html *h, const char *format, ...)
{
	va_list args;

	html_begin(h, "tr");
	html_begin(h, "th");
	html_attribute(h, "scope", "row");
	va_start(args, format);
	put_text(h, format, args);
	va_end(args);
}

void html_table_end_name(struct html *h)
{
	html_end(h);
}

void html_table_cell(struct html *h, const char *format, ...)
{
	va_list args;

	html_begin(h, "td");
	va_start(args, format);
	put_text(h, format, args);
	va_end(args);
	html_end(h);
}

void html_table_text(struct html *h, const char *format, ...)
{
	va_list args;

	html_begin_class(h, "td", "text");
	va_start(args, format);
	put_text(h, format, args);
	va_end(args);
	html_end(h);
}

void html_table_end_row(struct html *h)
{
	html_end(h);
}
