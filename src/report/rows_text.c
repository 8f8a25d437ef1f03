/* SPDX-License-Identifier: MIT */
#include "report/rows_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "report/page.h"
#include "report/rows_items.h"
#include "report/sentence.h"
#include "report/text_table.h"
#include "report/text_timeline.h"
#include "basic/utf8.h"

#define FIRST_INDENT 2 /* of the first screen */
#define FIRST_LABEL 17 /* columns: "Memory efficiency" */
#define BAR_WIDTH 6
#define BAR_WIDE 20
#define BAR_WIDE_MIN 92 /* columns of a page that has room for it */
#define NAME_MIN 16
#define GAP 3 /* between the parts of the head */

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

/* "train.sh   OK, 2 m 14 s   node17, 4 cores" */
static void print_head(const struct rows_head *head, struct page *page)
{
	size_t behind = GAP + utf8_columns(head->outcome) + 2 + utf8_columns(head->elapsed);
	size_t place = head->place ? GAP + utf8_columns(head->place) : 0;
	_cleanup_free_ char *name = NULL;

	/* a narrow page takes two lines rather than half a name */
	if (behind + place + NAME_MIN <= page->width)
		behind += place;
	name = utf8_shorten(head->name, page->width - behind);
	page_put(page, PAGE_BOLD, "%s", name ? name : "");
	page_pad(page, 0, GAP);
	page_put(page, head->is_failure ? PAGE_ALERT : PAGE_GOOD, "%s", head->outcome);
	page_put(page, PAGE_PLAIN, ", %s", head->elapsed);
	if (page->column + place > page->width)
		page_end_line(page);
	else
		page_pad(page, 0, GAP);
	page_put(page, PAGE_PLAIN, "%s", head->place ? head->place : "");
	if (head->score)
		put_at_end(head->score, PAGE_PLAIN, GAP, page);
	page_end_line(page);
	if (!head->merged)
		return;
	page_put(page, PAGE_DIM, "%s", head->merged);
	page_end_line(page);
}

/* ---- findings ---- */

/* What is so, and below it what to do. */
static void print_finding(const struct insight *insight, struct page *page)
{
	bool is_critical = insight->rule->severity == SEVERITY_CRITICAL;
	const char *action = finding_action(insight);

	page_label(page, NULL);
	page_words(page, is_critical ? PAGE_ALERT : PAGE_PLAIN, page->indent, insight->text);
	page_end_line(page);
	if (!action)
		return;
	page_label(page, NULL);
	page_put(page, PAGE_BOLD, "-> ");
	page_words(page, PAGE_BOLD, page->indent + strlen("-> "), action);
	page_end_line(page);
}

/* Behind its severity, in one paragraph: "3.1 of 16 GiB were used. Ask for 4G. (--mem=4G)" */
static void print_whole(const struct insight *insight, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	sentence_add(&s, "", "%s", insight->text);
	if (insight->advice)
		sentence_add(&s, " ", "%s", insight->advice);
	if (insight->directive)
		sentence_add(&s, " ", "(%s)", insight->directive);
	page_paragraph(page, severity_name(insight->rule->severity), s.text ? s.text : "");
}

static void print_findings(const struct rows_findings *findings, unsigned int form,
			   struct page *page)
{
	const struct insights *insights = &findings->analysis->insights;
	const struct insight *first[FINDINGS_FIRST];
	size_t count = findings_first(insights, first);

	if (!count)
		page_paragraph(page, NULL, findings->verdict);
	for (size_t i = 0; form == ROWS_SCREEN && i < count; i++)
		print_finding(first[i], page);
	for (size_t i = 0; form == ROWS_TEXT && i < insights->count; i++) {
		if (findings->is_whole)
			print_whole(&insights->items[i], page);
		else
			print_finding(&insights->items[i], page);
	}
}

/* ---- lines ---- */

static void print_share(const struct rows_line *line, struct page *page)
{
	const unsigned int width = page->width < BAR_WIDE_MIN ? BAR_WIDTH : BAR_WIDE;

	if (!line->is_share_known) {
		page_put(page, PAGE_PLAIN, " -");
		page_pad(page, 0, GAP);
		return;
	}
	page_put(page, PAGE_BOLD, "%5s", humanize_percent(line->share).text);
	page_pad(page, 0, 1);
	page_bar(page, line->share, width);
	page_pad(page, 0, 1);
}

/* Of the first screen, where labels are wider and shares have a bar. */
static void print_first(const char *label, const struct rows_line *line, struct page *page)
{
	page_pad(page, FIRST_INDENT, 0);
	if (label) {
		page_put(page, PAGE_DIM, "%s", label);
		page->indent = FIRST_INDENT + FIRST_LABEL + 2;
		page_pad(page, page->indent - line->has_share, 0);
	}
	if (line->has_share)
		print_share(line, page);
	if (line->text)
		page_words(page, line->is_alert ? PAGE_ALERT : PAGE_PLAIN,
			   line->has_share ? page->column : page->indent, line->text);
	page_end_line(page);
}

static void print_line(const char *label, const struct rows_line *line, struct page *page)
{
	page_label(page, label);
	page_words(page, line->is_alert ? PAGE_ALERT : PAGE_PLAIN, page_indent(page), line->text);
	if (line->path) {
		_cleanup_free_ char *path = text_path(line->path, page->width - page_indent(page)),
				    *word = NULL;

		if (path && asprintf(&word, " %s", path) >= 0)
			page_words(page, PAGE_PLAIN, page_indent(page), word);
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

static void print_part(const struct named_share *s, struct page *page)
{
	size_t begin = page->column;

	page_put(page, PAGE_PLAIN, "%s", s->name);
	page_pad(page, begin == page_indent(page) ? begin + SHARES_NAME : 0, 1);
	page_block(page, fmin(s->share, 1) * SHARES_BAR); /* more than all is said, and not drawn
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
	print_part(&first, page);
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
		print_part(&others[i], page);
	}
	page_end_line(page);
}

static void print_item(const struct rows_item *item, unsigned int form, struct page *page)
{
	bool is_first = item->forms & ROWS_SCREEN;
	const char *label = is_first ? NULL : item->label; /* there is no column of labels there */

	page->indent = is_first ? FIRST_INDENT : PAGE_INDENT;
	switch (item->kind) {
	case ITEM_LINE:
		if (is_first)
			return print_first(item->label, &item->line, page);
		return print_line(label, &item->line, page);
	case ITEM_GAP:
		return page_gap(page);
	case ITEM_TABLE:
		return print_table(label, &item->table, page);
	case ITEM_HEAD:
		return print_head(&item->head, page);
	case ITEM_FINDINGS:
		return print_findings(&item->findings, form, page);
	case ITEM_SHARES:
		return print_shares(label, &item->shares, page);
	case ITEM_TIMELINE:
		return text_timeline(&item->timeline, label, form == ROWS_TEXT, page);
	default:
		return; /* no form of text */
	}
}

void rows_text(const struct rows *rows, unsigned int form, struct page *page)
{
	for (size_t i = 0; rows && i < rows->count; i++) {
		const struct rows_item *item = rows->items[i];

		if (rows_item_is_in(item, form))
			print_item(item, form, page);
	}
	page->indent = 0;
	page->has_gap = false;
}
