/* SPDX-License-Identifier: MIT */
#include "report/rows_text.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "report/page.h"
#include "report/rows_items.h"
#include "report/sentence.h"
#include "report/text_table.h"
#include "report/text_timeline.h"
#include "basic/utf8.h"

#define BAR_COLUMN 30
#define BAR_WIDTH 20
#define NOTE_COLUMN 42
#define NAME_MIN 16
#define GAP 2 /* between the parts of the head */

/* ---- the head ---- */

/* At the end of the line, where there is room. */
static void put_at_end(const char *text, enum page_style style, size_t gap, struct page *page)
{
	size_t columns = utf8_columns(text);

	if (!columns || page->column + gap + columns > page->width)
		return;
	page_pad(page, page->width - columns, gap);
	page_put(page, style, "%s", text);
}

static void print_head(const struct rows_head *head, struct page *page)
{
	size_t behind = utf8_columns(head->outcome) + GAP, extent = utf8_columns(head->extent);
	_cleanup_free_ char *name = NULL, *score = NULL;

	/* a narrow page takes two lines rather than half a name */
	if (behind + GAP + extent + NAME_MIN <= page->width)
		behind += GAP + extent;
	name = utf8_shorten(head->name, page->width - behind);
	page_put(page, PAGE_BOLD, "%s", name ? name : "");
	page_pad(page, 0, GAP);
	page_put(page, head->is_failure ? PAGE_ALERT : PAGE_PLAIN, "%s", head->outcome);
	if (page->column + GAP + extent > page->width)
		page_end_line(page);
	else
		page_pad(page, 0, GAP);
	page_put(page, PAGE_PLAIN, "%s", head->extent);
	if (head->has_score && asprintf(&score, "score %.0f%s", head->score, head->basis) >= 0)
		put_at_end(score, PAGE_BOLD, GAP, page);
	page_end_line(page);
	if (!head->merged)
		return;
	page_put(page, PAGE_DIM, "%s", head->merged);
	page_end_line(page);
}

/* "3.1 of 16 GiB were used. Ask for 4G. (#SBATCH --mem=4G)" */
static void describe(const struct insight *insight, struct sentence *s)
{
	sentence_add(s, "", "%s", insight->text);
	if (insight->advice)
		sentence_add(s, " ", "%s", insight->advice);
	if (insight->directive)
		sentence_add(s, " ", "(%s)", insight->directive);
}

/* Behind its severity, or its number. */
static void print_finding(const struct insight *insight, size_t number, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence s = {};
	_cleanup_free_ char *mark = NULL;

	describe(insight, &s);
	if (!number)
		page_paragraph(page, severity_name(insight->rule->severity), s.text ? s.text : "");
	else if (asprintf(&mark, "%zu.", number) >= 0)
		page_item(page, mark, s.text ? s.text : "");
}

static void print_findings(const struct rows_findings *findings, struct page *page)
{
	const struct insights *insights = &findings->analysis->insights;
	const struct insight *first[INSIGHTS_FIRST];
	size_t count = findings->is_whole ? 0 : insights_first(insights, first);

	for (size_t i = 0; i < count; i++)
		print_finding(first[i], i + 1, page);
	for (size_t i = 0; findings->is_whole && i < insights->count; i++)
		print_finding(&insights->items[i], 0, page);
	if (findings->is_whole && !insights->count)
		page_paragraph(page, NULL, "No rule speaks.");
}

/* ---- lines ---- */

static void print_line(const char *label, const struct rows_line *line, struct page *page)
{
	page_label(page, label);
	page_words(page, line->is_alert ? PAGE_ALERT : PAGE_PLAIN, PAGE_INDENT, line->text);
	if (line->path) {
		_cleanup_free_ char *path = text_path(line->path, page->width - PAGE_INDENT),
				    *word = NULL;

		if (path && asprintf(&word, " %s", path) >= 0)
			page_words(page, PAGE_PLAIN, PAGE_INDENT, word);
	}
	if (line->has_bar) {
		page_pad(page, BAR_COLUMN, 2);
		page_bar(page, line->share, BAR_WIDTH);
		page_pad(page, 0, 2);
		page_put(page, PAGE_PLAIN, "%5s", humanize_percent(line->share).text);
	}
	if (line->note) {
		page_pad(page, NOTE_COLUMN, 2);
		if (page->column + utf8_columns(line->note) > page->width) {
			page_end_line(page);
			page_label(page, NULL);
		}
		page_put(page, PAGE_PLAIN, "%s", line->note);
	}
	page_end_line(page);
}

/* ---- tables ---- */

static void print_table(const char *label, const struct rows_table *t, struct page *page)
{
	text_table(t, label, page);
	for (size_t i = 0; i < t->remarks.count; i++) {
		if (t->remarks.items[i].forms & ROWS_TEXT)
			page_paragraph(page, NULL, t->remarks.items[i].text);
	}
}

static bool is_too_wide(const struct rows_table *t, const struct page *page)
{
	return t->is_else_next && text_table_width(t, t->first_max) > page->width - PAGE_INDENT;
}

/* ---- parts of a whole ---- */

#define SHARES_NAME 7 /* columns: "on CPU " */
#define SHARES_BAR 38 /* columns of the whole */
#define SHARES_MIN 0.01 /* less is one of the others */
#define SHARES_GAP 3

struct named_share {
	const char *name;
	double share;
};

static int compare_shares(const void *a, const void *b)
{
	const struct named_share *x = a, *y = b;

	return (x->share < y->share) - (x->share > y->share);
}

/* Those between the first and the last, the most first, then what is too little to be named, then
 * the last. */
static size_t list_shares(const struct rows_shares *shares, struct named_share *ret)
{
	double little = 0;
	size_t count = 0;

	for (size_t i = 1; i + 1 < shares->count; i++) {
		const struct rows_share_part *part = &shares->items[i];

		if (part->share >= SHARES_MIN)
			ret[count++] = (struct named_share){ part->shade->word, part->share };
		else
			little += part->share;
	}
	qsort(ret, count, sizeof(*ret), compare_shares);
	if (little >= SHARES_MIN)
		ret[count++] = (struct named_share){ "other waits", little };
	if (shares->items[shares->count - 1].share >= SHARES_MIN)
		ret[count++] = (struct named_share){ shares->items[shares->count - 1].shade->word,
						     shares->items[shares->count - 1].share };
	return count;
}

static void print_share(const struct named_share *s, struct page *page)
{
	size_t begin = page->column;

	page_put(page, PAGE_PLAIN, "%s", s->name);
	page_pad(page, begin == PAGE_INDENT ? PAGE_INDENT + SHARES_NAME : 0, 1);
	page_block(page, fmin(s->share, 1) * SHARES_BAR); /* more than all is told, and not drawn
							     over the line */
	page_pad(page, 0, 1);
	page_put(page, PAGE_PLAIN, "%s", humanize_percent(s->share).text);
}

static void print_shares(const char *label, const struct rows_shares *shares, struct page *page)
{
	const struct named_share first = { shares->items[0].shade->word, shares->items[0].share };
	struct named_share others[ARRAY_SIZE(shares->items) + 1];
	size_t count = list_shares(shares, others);

	page_label(page, label);
	print_share(&first, page);
	put_at_end(shares->whole, PAGE_DIM, SHARES_GAP, page);
	for (size_t i = 0; i < count; i++) {
		size_t width = utf8_columns(others[i].name) +
			       (size_t)(others[i].share * SHARES_BAR + 1) + 6;

		if (i && page->column + SHARES_GAP + width <= page->width) {
			page_pad(page, 0, SHARES_GAP);
		} else {
			page_end_line(page);
			page_label(page, NULL);
		}
		print_share(&others[i], page);
	}
	page_end_line(page);
}

static void print_item(const struct rows_item *item, struct page *page)
{
	switch (item->kind) {
	case ITEM_LINE:
		return print_line(item->label, &item->line, page);
	case ITEM_GAP:
		return page_end_line(page);
	case ITEM_TABLE:
		return print_table(item->label, &item->table, page);
	case ITEM_HEAD:
		return print_head(&item->head, page);
	case ITEM_FINDINGS:
		return print_findings(&item->findings, page);
	case ITEM_SHARES:
		return print_shares(item->label, &item->shares, page);
	case ITEM_TIMELINE:
		return text_timeline(&item->timeline, item->label, page);
	default:
		return; /* no form of text */
	}
}

void rows_text(const struct rows *rows, struct page *page)
{
	for (size_t i = 0; rows && i < rows->count; i++) {
		const struct rows_item *item = rows->items[i];

		if (!rows_item_is_in(item, ROWS_TEXT))
			continue;
		if (item->kind == ITEM_TABLE && is_too_wide(&item->table, page))
			continue;
		print_item(item, page);
		/* the first of them that fits */
		while (rows->items[i]->kind == ITEM_TABLE && rows->items[i]->table.is_else_next &&
		       i + 1 < rows->count)
			i++;
	}
}
