/* SPDX-License-Identifier: MIT */
#include "cli/compare_text.h"

#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "analysis/comparison.h"
#include "basic/csv.h"
#include "report/headline.h"
#include "basic/macro.h"
#include "report/page.h"
#include "report/report_compare.h"
#include "model/record.h"
#include "model/rows.h"
#include "report/rows_markdown.h"
#include "report/rows_text.h"

#define CHANGES_MAX 12 /* beside those that are always shown, unless all are asked for */

static bool is_same_text(struct amount a, struct amount b, struct dimension d)
{
	return strcmp(amount_format(a, d).text, amount_format(b, d).text) == 0;
}

/* A mount did all of it, and the number of the whole job says so already. */
static bool is_said(const struct comparison *c, const struct change *change)
{
	const char *name = change->variable->name + strlen(MOUNT_PREFIX);

	for (size_t i = 0; change->variable->is_mount && i < c->count; i++) {
		const struct change *other = &c->items[i];

		if (!other->variable->is_mount && strcmp(other->variable->name, name) == 0)
			return is_same_text(other->before, change->before,
					    other->variable->dimension) &&
			       is_same_text(other->after, change->after,
					    other->variable->dimension);
	}
	return false;
}

/* @shown and @hidden count the large changes that are and that are not. */
static bool is_shown(const struct compared *all, const struct comparison *c,
		     const struct change *change, size_t *shown, size_t *hidden)
{
	if (all->is_all || change->place)
		return true;
	if (!change->is_large || is_said(c, change))
		return false;
	if (*shown < CHANGES_MAX) {
		(*shown)++;
		return true;
	}
	(*hidden)++;
	return false;
}

/* "elapsed", "blocked sleep seconds", "read calls /scratch" */
static char *name_change(const struct change *change)
{
	const char *name = change->variable->name;
	char *text;

	if (change->place)
		return strdup(first_numbers[change->place - 1].label);
	if (change->variable->is_mount)
		name += strlen(MOUNT_PREFIX);
	if (asprintf(&text, "%s%s%s", name, change->mount ? " " : "",
		     change->mount ? change->mount : "") < 0)
		return NULL;
	for (size_t i = 0; name[i]; i++)
		text[i] = text[i] == '_' ? ' ' : text[i];
	return text;
}

/* "+12 %", "x 3.1", "same", "new", "gone". */
static struct human tell_ratio(const struct change *change)
{
	struct amount ratio = change_ratio(change);
	struct human h;

	if (change->before.number == change->after.number)
		return (struct human){ "same" };
	if (change->before.number == 0)
		return (struct human){ "new" };
	if (change->after.number == 0)
		return (struct human){ "gone" };
	if (ratio.number >= 2)
		snprintf(h.text, sizeof(h.text), "x %.24s",
			 amount_format(ratio, DIMENSION_NUMBER).text);
	else
		snprintf(h.text, sizeof(h.text), "%s%.24s", ratio.number < 1 ? "-" : "+",
			 humanize_percent(ratio.number < 1 ? 1 - ratio.number : ratio.number - 1)
				 .text);
	return h;
}

static struct human tell(struct amount a, const struct change *change)
{
	return amount_format(a, change->variable->dimension);
}

/* Of shares the points of a hundred between them: a percent of a percent is another thing. */
static struct human tell_difference(const struct change *change)
{
	struct amount difference = change_difference(change);
	struct human h;

	if (change->variable->dimension.is_share)
		snprintf(h.text, sizeof(h.text), "%+.1f points", difference.number * 100);
	else
		snprintf(h.text, sizeof(h.text), "%s%.28s", difference.number > 0 ? "+" : "",
			 tell(difference, change).text);
	return h;
}

static struct rows *rows_of(const struct compared *all, size_t at)
{
	static const struct rows_column columns[] = {
		{ "what" }, { "before" }, { "after" }, { "difference", .rank = 1 }, { "change" },
	};
	const struct comparison *c = &all->comparisons[at];
	struct rows *rows = rows_new();
	struct rows_table *table = rows_table(rows, ROWS_FIRST, NULL, columns, ARRAY_SIZE(columns));
	_cleanup_free_ char *words = NULL;
	size_t shown = 0, hidden = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (is_shown(all, c, &c->items[i], &shown, &hidden)) {
			const struct change *change = &c->items[i];
			_cleanup_free_ char *name = name_change(change);

			rows_row(table, ROWS_FIRST);
			rows_cell(table, cell_words(name ? name : ""));
			rows_cell(table, cell_words(tell(change->before, change).text));
			rows_cell(table, cell_words(tell(change->after, change).text));
			rows_cell(table, cell_words(tell_difference(change).text));
			rows_cell(table, cell_words(tell_ratio(change).text));
		}
	}
	if (hidden)
		rows_line(rows, ROWS_FIRST, NULL, "%zu more number%s changed; --all shows %s.",
			  hidden, hidden == 1 ? "" : "s", hidden == 1 ? "it" : "them");
	words = report_compare(all->records[0], all->records[at]);
	rows_line(rows, ROWS_FIRST, NULL, "In short: %s.", words ? words : "about the same");
	return rows;
}

void compare_text(const struct compared *all, struct page *page)
{
	for (size_t i = 1; i < all->count; i++) {
		_cleanup_(rows_freep) struct rows *rows = rows_of(all, i);

		if (i > 1)
			page_end_line(page);
		page_put(page, PAGE_BOLD, "%s", headline_name(all->records[i]));
		page_put(page, PAGE_PLAIN, "  %s, compared with %s", all->names[i], all->names[0]);
		page_end_line(page);
		rows_text(rows, ROWS_TEXT, page);
	}
}

void compare_markdown(const struct compared *all, FILE *out)
{
	for (size_t i = 1; i < all->count; i++) {
		_cleanup_(rows_freep) struct rows *rows = rows_of(all, i);

		fputs(i > 1 ? "\n## " : "## ", out);
		markdown_put(all->names[i], out);
		fputs(", compared with ", out);
		markdown_put(all->names[0], out);
		fputc('\n', out);
		rows_markdown(rows, out);
	}
}

/* ---- CSV ---- */

static void put_number(struct amount a, FILE *out)
{
	fputc(',', out);
	if (a.is_known)
		fprintf(out, "%.15g", a.number);
}

void compare_csv(const struct compared *all, FILE *out)
{
	fputs("record,name,mount,before,after,difference,ratio\n", out);
	for (size_t at = 1; at < all->count; at++) {
		const struct comparison *c = &all->comparisons[at];

		for (size_t i = 0; i < c->count; i++) {
			const struct change *change = &c->items[i];

			csv_put(all->names[at], out);
			fprintf(out, ",%s,", change->variable->name);
			csv_put(change->mount, out);
			put_number(change->before, out);
			put_number(change->after, out);
			put_number(change_difference(change), out);
			put_number(change_ratio(change), out);
			fputc('\n', out);
		}
	}
}
