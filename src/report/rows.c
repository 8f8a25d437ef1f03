/* SPDX-License-Identifier: MIT */
#include "model/rows.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "report/rows_items.h"
#include "report/sentence.h"

struct rows *rows_new(void)
{
	return calloc(1, sizeof(struct rows));
}

static void clear_timeline(struct rows_timeline *t)
{
	for (size_t i = 0; i < t->count; i++) {
		for (size_t k = 0; k < t->plots[i].count; k++)
			free(t->plots[i].layers[k].values);
	}
}

static void free_item(struct rows_item *item)
{
	switch (item->kind) {
	case ITEM_TABLE:
		free(item->table.columns);
		free(item->table.cells);
		free(item->table.row_forms);
		free(item->table.remarks.items);
		break;
	case ITEM_HEAD:
		free(item->head.classes.items);
		free(item->head.facts.items);
		break;
	case ITEM_TIMELINE:
		clear_timeline(&item->timeline);
		break;
	default:
		break;
	}
	free(item);
}

struct rows *rows_free(struct rows *rows)
{
	for (size_t i = 0; rows && i < rows->count; i++)
		free_item(rows->items[i]);
	for (size_t i = 0; rows && i < rows->text_count; i++)
		free(rows->texts[i]);
	if (rows) {
		free(rows->items);
		free(rows->texts);
	}
	free(rows);
	return NULL;
}

void rows_freep(struct rows **rows)
{
	rows_free(*rows);
}

static const char *format_text(struct rows *rows, const char *format, va_list args)
	PRINTF_LIKE(2, 0);
static const char *format_text(struct rows *rows, const char *format, va_list args)
{
	if (!rows ||
	    array_reserve(&rows->texts, &rows->text_room, rows->text_count, sizeof(*rows->texts)) <
		    0 ||
	    vasprintf(&rows->texts[rows->text_count], format, args) < 0)
		return "";
	return rows->texts[rows->text_count++];
}

const char *rows_format(struct rows *rows, const char *format, ...)
{
	const char *text;
	va_list args;

	va_start(args, format);
	text = format_text(rows, format, args);
	va_end(args);
	return text;
}

struct rows_item *rows_add(struct rows *rows, enum rows_item_kind kind, unsigned int forms,
			   const char *label)
{
	struct rows_item *item;

	if (!rows ||
	    array_reserve(&rows->items, &rows->room, rows->count, sizeof(*rows->items)) < 0)
		return NULL;
	item = calloc(1, sizeof(*item));
	if (!item)
		return NULL;
	item->kind = kind;
	item->forms = forms;
	item->label = label ? rows_format(rows, "%s", label) : NULL;
	rows->items[rows->count++] = item;
	return item;
}

void rows_set_bound(struct rows *rows, bool is_bound)
{
	if (rows)
		rows->is_bound = is_bound;
}

const char *rows_bound(const struct rows *rows)
{
	return rows && rows->is_bound ? "≥" : "";
}

void rows_part(struct rows *rows, const char *title)
{
	rows_add(rows, ITEM_PART, ROWS_ALL, title);
}

/* ---- lines ---- */

void rows_gap(struct rows *rows)
{
	rows_add(rows, ITEM_GAP, ROWS_TEXT | ROWS_SCREEN, NULL);
}

/* The line that was added last; NULL: no memory. */
static struct rows_line *last_line(const struct rows *rows)
{
	struct rows_item *last = rows && rows->count ? rows->items[rows->count - 1] : NULL;

	return last && last->kind == ITEM_LINE ? &last->line : NULL;
}

void rows_begin(struct rows *rows, unsigned int forms, const char *label)
{
	rows_add(rows, ITEM_LINE, forms, label);
}

bool rows_has_said(const struct rows *rows)
{
	const struct rows_line *line = last_line(rows);

	return line && line->text && *line->text;
}

static void say(struct rows *rows, const char *between, const char *text)
{
	struct rows_line *line = last_line(rows);

	if (line)
		line->text = line->text && *line->text
				     ? rows_format(rows, "%s%s%s", line->text, between, text)
				     : text;
}

void rows_say(struct rows *rows, const char *between, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(rows, between, format_text(rows, format, args));
	va_end(args);
}

void rows_say_whole(struct rows *rows, const char *text)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	sentence_add_whole(&s, text);
	if (s.text)
		rows_say(rows, " ", "%s", s.text);
}

void rows_line(struct rows *rows, unsigned int forms, const char *label, const char *format, ...)
{
	va_list args;

	rows_begin(rows, forms, label);
	va_start(args, format);
	say(rows, "", format_text(rows, format, args));
	va_end(args);
}

void rows_alert(struct rows *rows, unsigned int forms, const char *label, const char *format, ...)
{
	va_list args;

	rows_begin(rows, forms, label);
	va_start(args, format);
	say(rows, "", format_text(rows, format, args));
	va_end(args);
	if (last_line(rows))
		last_line(rows)->is_alert = true;
}

void rows_share(struct rows *rows, bool is_known, double share)
{
	struct rows_line *line = last_line(rows);

	if (!line)
		return;
	line->has_share = true;
	line->is_share_known = is_known;
	line->share = share;
}

void rows_path(struct rows *rows, const char *path)
{
	struct rows_line *line = last_line(rows);

	if (line)
		line->path = rows_format(rows, "%s", path);
}

void rows_entries_add(struct rows_entries *entries, unsigned int forms, const char *text)
{
	if (array_reserve(&entries->items, &entries->room, entries->count,
			  sizeof(*entries->items)) == 0)
		entries->items[entries->count++] = (struct rows_entry){ forms, text };
}

/* ---- tables ---- */

struct rows_table *rows_table(struct rows *rows, unsigned int forms, const char *label,
			      const struct rows_column *columns, size_t count)
{
	struct rows_item *item = rows_add(rows, ITEM_TABLE, forms, label);

	struct rows_column *copy = item ? calloc(count, sizeof(*copy)) : NULL;

	assert(count > 0 && count <= ROWS_COLUMNS_MAX);
	if (!copy)
		return NULL; /* an item without columns is a table without rows */
	memcpy(copy, columns, count * sizeof(*copy));
	item->table.rows = rows;
	item->table.columns = copy;
	item->table.column_count = count;
	return &item->table;
}

void rows_row(struct rows_table *t, unsigned int forms)
{
	if (t &&
	    array_reserve(&t->row_forms, &t->row_room, t->row_count, sizeof(*t->row_forms)) == 0)
		t->row_forms[t->row_count++] = forms;
}

void rows_cell(struct rows_table *t, struct rows_cell cell)
{
	if (!t || array_reserve(&t->cells, &t->cell_room, t->cell_count, sizeof(*t->cells)) < 0)
		return;
	if (cell.text)
		cell.text = rows_format(t->rows, "%s", cell.text);
	for (size_t i = 0; i < ARRAY_SIZE(cell.aside); i++) {
		if (cell.aside[i])
			cell.aside[i] = rows_format(t->rows, "%s", cell.aside[i]);
	}
	cell.is_bound |= cell.is_least && t->rows->is_bound;
	t->cells[t->cell_count++] = cell;
}

void rows_words(struct rows_table *t, const char *format, ...)
{
	va_list args;

	if (!t)
		return;
	va_start(args, format);
	rows_cell(t, cell_words(format_text(t->rows, format, args)));
	va_end(args);
}

void rows_remark(struct rows_table *t, unsigned int forms, const char *format, ...)
{
	va_list args;

	if (!t)
		return;
	va_start(args, format);
	rows_entries_add(&t->remarks, forms, format_text(t->rows, format, args));
	va_end(args);
}

/* ---- for printers ---- */

static struct human number_text(const struct rows_cell *cell)
{
	switch (cell->kind) {
	case ROWS_BYTES:
		return cell->number ? humanize_bytes(cell->number) : (struct human){ "0" };
	case ROWS_SIZE:
		return humanize_bytes(cell->number);
	case ROWS_COUNT:
		return humanize_count(cell->number);
	case ROWS_TIME:
		return humanize_duration(cell->number);
	default:
		return humanize_percent(cell->share);
	}
}

const char *rows_cell_text(const struct rows_cell *cell, struct human *buffer)
{
	if (!cell->is_known)
		return "-";
	if (cell->kind == ROWS_WORDS)
		return cell->text;
	snprintf(buffer->text, sizeof(buffer->text), "%s%.24s",
		 cell->is_bound && cell->number ? "≥" : "", number_text(cell).text);
	return buffer->text;
}

/* Without memory the last row may lack cells. */
static bool has_rows(const struct rows_table *t, unsigned int form)
{
	for (size_t i = 0; i < t->row_count && (i + 1) * t->column_count <= t->cell_count; i++) {
		if (t->row_forms[i] & form)
			return true;
	}
	return false;
}

bool rows_item_is_in(const struct rows_item *item, unsigned int form)
{
	if (!(item->forms & form))
		return false;
	if (item->kind == ITEM_TABLE) /* its rows know no first screen */
		return has_rows(&item->table, form == ROWS_SCREEN ? ROWS_TEXT : form);
	return item->kind != ITEM_LINE || item->line.has_share ||
	       (item->line.text && *item->line.text);
}

bool rows_column_is_in(const struct rows_table *t, size_t column, unsigned int form)
{
	return !t->columns[column].forms || t->columns[column].forms & form;
}
