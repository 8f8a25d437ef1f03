/* SPDX-License-Identifier: MIT */
#include "report/rows_html.h"

#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "report/html.h"
#include "report/rows_items.h"
#include "report/sentence.h"
#include "report/shade.h"
#include "basic/humanize.h"
#include "basic/macro.h"

/* ---- how large and how long single reads and writes were ---- */

#define HISTOGRAM_HEIGHT 44.0
#define COLUMNS_MIN 6 /* a single bar is not as wide as the page */

struct range {
	size_t first, last;
};

/* The buckets that hold anything, and some more if they are few. */
static struct range range_of(const struct histogram *histogram)
{
	struct range range = { HISTOGRAM_BUCKETS - 1, 0 };

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (!histogram->counts[i])
			continue;
		range.first = MIN(range.first, i);
		range.last = MAX(range.last, i);
	}
	while (range.last - range.first + 1 < COLUMNS_MIN) {
		if (range.last + 1 < HISTOGRAM_BUCKETS)
			range.last++;
		else
			range.first--;
	}
	return range;
}

static uint64_t most_of(const struct histogram *histogram)
{
	uint64_t most = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		most = MAX(most, histogram->counts[i]);
	return most;
}

static struct human tell(enum histogram_kind kind, uint64_t number)
{
	return kind == HISTOGRAM_SIZE ? humanize_bytes(number) : humanize_duration(number);
}

static struct human bound_of(enum histogram_kind kind, size_t i)
{
	return tell(kind, histogram_lower_bound(kind, i));
}

static void put_histogram_bar(const struct rows_histogram *shown, const struct range *range,
			      size_t i, struct html *h)
{
	double width = 100.0 / (double)(range->last - range->first + 1);
	double share = (double)shown->histogram->counts[i] / (double)most_of(shown->histogram);
	double height = share * HISTOGRAM_HEIGHT < 1 ? 1 : share * HISTOGRAM_HEIGHT; /* a few are
											not none */

	html_begin(h, "rect");
	shade_put_fill(shown->shade, h);
	html_attribute(h, "x", "%.2f%%", width * (double)(i - range->first) + width * 0.05);
	html_attribute(h, "width", "%.2f%%", width * 0.9);
	html_attribute(h, "y", "%.1f", HISTOGRAM_HEIGHT - height);
	html_attribute(h, "height", "%.1f", height);
	html_element(h, "title", NULL, "from %s: %s", bound_of(shown->kind, i).text,
		     humanize_count(shown->histogram->counts[i]).text);
	html_end(h);
}

/* Half of them lie below the one, and 99 of 100 below the other. */
static void put_histogram_words(const struct rows_histogram *shown, struct html *h)
{
	double half = 0, most = 0;

	if (histogram_quantile(shown->kind, shown->histogram, 0.5, &half) < 0 ||
	    histogram_quantile(shown->kind, shown->histogram, 0.99, &most) < 0)
		return;
	html_text(h, "%s: half below %s, 99 %% below %s", shown->title,
		  tell(shown->kind, (uint64_t)half).text, tell(shown->kind, (uint64_t)most).text);
}

/* It must not be empty. */
static void html_put_histogram(const struct rows_histogram *shown, struct html *h)
{
	struct range range = range_of(shown->histogram);
	size_t beyond = MIN(range.last + 1, (size_t)HISTOGRAM_BUCKETS - 1);

	html_begin_class(h, "figure", "histogram");
	html_begin_class(h, "svg", "bars");
	html_attribute(h, "role", "img");
	html_attribute(h, "height", "%.0f", HISTOGRAM_HEIGHT);
	html_begin(h, "title");
	put_histogram_words(shown, h);
	html_end(h);
	for (size_t i = range.first; i <= range.last; i++) {
		if (shown->histogram->counts[i])
			put_histogram_bar(shown, &range, i, h);
	}
	html_end(h);
	html_begin_class(h, "p", "ends");
	html_element(h, "span", NULL, "%s", bound_of(shown->kind, range.first).text);
	html_element(h, "span", NULL, "%s%s", range.last + 1 < HISTOGRAM_BUCKETS ? "" : "over ",
		     bound_of(shown->kind, beyond).text);
	html_end(h);
	html_begin(h, "figcaption");
	put_histogram_words(shown, h);
	html_end(h);
	html_end(h);
}

#define FINDINGS_SHOWN 32

static void put_sentence(const char *element, const char *class, const char *text, struct html *h)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	sentence_add_whole(&s, text);
	html_element(h, element, class, "%s", s.text ? s.text : "");
}

/* ---- the head ---- */

static void put_classes(const struct rows_entries *classes, struct html *h)
{
	if (!classes->count)
		return;
	html_begin_class(h, "p", "classes");
	for (size_t i = 0; i < classes->count; i++) {
		html_element(h, "span", "class", "%s", classes->items[i].text);
		html_text(h, " ");
	}
	html_end(h);
}

static void put_head(const struct rows_head *head, struct html *h)
{
	html_begin(h, "header");
	html_element(h, "h1", NULL, "%s", head->command ? head->command : head->name);
	html_begin_class(h, "p", "outcome");
	html_element(h, "span", head->is_failure ? "alert" : "well", "%s", head->outcome);
	html_text(h, " · %s", head->elapsed);
	if (head->place)
		html_text(h, " · %s", head->place);
	if (head->score)
		html_text(h, " · %s", head->score);
	html_end(h);
	if (head->merged)
		put_sentence("p", NULL, head->merged, h);
	put_classes(&head->classes, h);
	html_end(h);
}

/* Who, when and where: below what it did. */
static void put_facts(const struct rows *rows, struct html *h)
{
	const struct rows_item *head = rows->items[0];

	if (head->kind != ITEM_HEAD)
		return;
	html_begin_class(h, "dl", "facts");
	for (size_t i = 0; i + 1 < head->head.facts.count; i += 2) {
		html_begin(h, "div");
		html_element(h, "dt", NULL, "%s", head->head.facts.items[i].text);
		html_element(h, "dd", NULL, "%s", head->head.facts.items[i + 1].text);
		html_end(h);
	}
	html_end(h);
}

/* ---- findings ---- */

static void put_first(const struct rows_findings *findings, struct html *h)
{
	const struct insights *insights = &findings->analysis->insights;
	size_t count = MIN(insights->count, (size_t)FINDINGS_FIRST);

	html_begin_class(h, "ul", "sentences");
	if (!count)
		html_element(h, "li", NULL, "%s", findings->verdict);
	for (size_t i = 0; i < count; i++) {
		const char *action = finding_action(&insights->items[i]);

		html_begin(h, "li");
		html_text(h, "%s", insights->items[i].text);
		if (action)
			html_element(h, "strong", NULL, "→ %s", action);
		html_end(h);
	}
	html_end(h);
}

static void put_evidence(const struct insight *insight, struct html *h)
{
	struct evidence e = rule_evidence(insight->rule);

	html_begin_class(h, "p", "evidence");
	for (size_t i = 0; i < e.count; i++) {
		struct amount amount = variable_get(e.items[i], &insight->subject);

		html_text(h, "%s%s = ", i ? ", " : "", e.items[i]->name);
		html_element(h, "b", NULL, "%s", amount_format(amount, e.items[i]->dimension).text);
	}
	html_end(h);
	html_begin_class(h, "p", "evidence");
	html_text(h, "when ");
	html_element(h, "code", NULL, "%s", insight->rule->condition);
	if (insight->rule->source)
		html_text(h, " (%s)", insight->rule->source);
	html_end(h);
}

static void put_findings(const struct rows_findings *findings, struct html *h)
{
	const struct insights *insights = &findings->analysis->insights;

	if (!findings->is_whole) {
		put_first(findings, h);
		return;
	}
	html_begin_class(h, "ul", "insights");
	for (size_t i = 0; i < MIN(insights->count, (size_t)FINDINGS_SHOWN); i++) {
		const struct insight *insight = &insights->items[i];

		html_begin_class(h, "li", severity_name(insight->rule->severity));
		html_begin(h, "p");
		html_element(h, "span", "severity", "%s", severity_name(insight->rule->severity));
		html_text(h, " %s", insight->text);
		if (insight->advice)
			html_element(h, "strong", NULL, " %s", insight->advice);
		html_end(h);
		if (insight->directive) {
			html_begin_class(h, "p", "directive");
			html_element(h, "code", NULL, "%s", insight->directive);
			html_end(h);
		}
		html_begin(h, "details");
		html_element(h, "summary", NULL, "evidence: %s", insight->rule->id);
		put_evidence(insight, h);
		html_end(h);
		html_end(h);
	}
	html_end(h);
	if (insights->count > FINDINGS_SHOWN)
		html_element(h, "p", "note", "And %zu more.", insights->count - FINDINGS_SHOWN);
}

/* ---- lines ---- */

/* With a capital. */
static void put_heading(const char *text, struct html *h)
{
	bool is_small = *text >= 'a' && *text <= 'z';

	html_element(h, "h3", NULL, "%c%s", is_small ? *text - 'a' + 'A' : *text, text + 1);
}

static void put_share(const struct rows_line *line, struct html *h)
{
	html_element(h, "b", NULL, "%s",
		     line->is_share_known ? humanize_percent(line->share).text : "-");
	if (!line->is_share_known) {
		html_text(h, " ");
		return;
	}
	html_begin_class(h, "svg", "meter");
	html_attribute(h, "aria-hidden", "true");
	html_begin_class(h, "rect", "c0");
	html_attribute(h, "width", "%.1f%%", 100 * fmin(fmax(line->share, 0), 1));
	html_attribute(h, "height", "100%%");
	html_end(h);
	html_end(h);
}

/* A label and its text, or a text that goes on; @is_alone: a remark. */
static void put_line(const struct rows_item *item, bool is_alone, struct html *h)
{
	const struct rows_line *line = &item->line;

	if (is_alone) {
		put_sentence("p", line->is_alert ? "alert" : "note", line->text, h);
		return;
	}
	if (item->label)
		html_element(h, "dt", NULL, "%s", item->label);
	html_begin(h, "dd");
	if (line->is_alert)
		html_attribute(h, "class", "alert");
	if (line->has_share)
		put_share(line, h);
	html_text(h, "%s%s%s", line->text ? line->text : "", line->path ? " " : "",
		  line->path ? line->path : "");
	html_end(h);
}

/* ---- tables ---- */

static bool is_in(const struct rows_table *t, size_t column)
{
	return rows_column_is_in(t, column, ROWS_HTML);
}

/* How many columns from @i on stand under its group. */
static size_t group_width(const struct rows_table *t, size_t i)
{
	const char *group = t->columns[i].group;
	size_t width = 0;

	for (; i < t->column_count; i++) {
		if (is_in(t, i) &&
		    (!t->columns[i].group || strcmp(t->columns[i].group, group) != 0))
			break;
		width += is_in(t, i);
	}
	return width;
}

static bool has_groups(const struct rows_table *t)
{
	for (size_t i = 0; i < t->column_count; i++) {
		if (is_in(t, i) && t->columns[i].group)
			return true;
	}
	return false;
}

static void put_groups(const struct rows_table *t, struct html *h)
{
	size_t left = 0; /* of a group that has begun */

	html_begin(h, "tr");
	for (size_t i = 0; i < t->column_count; i++) {
		if (!is_in(t, i) || (left && left--))
			continue;
		if (!t->columns[i].group) {
			html_element(h, "td", NULL, "%s", "");
			continue;
		}
		left = group_width(t, i);
		html_begin_class(h, "th", "group");
		html_attribute(h, "scope", "colgroup");
		html_attribute(h, "colspan", "%zu", left--);
		html_text(h, "%s", t->columns[i].group);
		html_end(h);
	}
	html_end(h);
}

static void put_heads(const struct rows_table *t, struct html *h)
{
	html_begin(h, "tr");
	for (size_t i = 0; i < t->column_count; i++) {
		if (!is_in(t, i))
			continue;
		html_begin(h, "th");
		if (i == 0 || t->columns[i].is_left)
			html_attribute(h, "class", "text");
		html_attribute(h, "scope", "col");
		html_text(h, "%s", t->columns[i].under ? t->columns[i].under : t->columns[i].head);
		html_end(h);
	}
	html_end(h);
}

static void put_cell(const struct rows_table *t, const struct rows_cell *cell, size_t column,
		     struct html *h)
{
	struct human buffer;

	html_begin(h, column ? "td" : "th");
	if (column == 0)
		html_attribute(h, "scope", "row");
	else if (t->columns[column].is_left)
		html_attribute(h, "class", "text");
	html_text(h, "%s", rows_cell_text(cell, &buffer));
	for (size_t i = 0; i < ARRAY_SIZE(cell->aside); i++) {
		if (cell->aside[i])
			html_element(h, "span", "type", " %s", cell->aside[i]);
	}
	html_end(h);
}

static void put_body(const struct rows_table *t, struct html *h)
{
	html_begin(h, "tbody");
	for (size_t row = 0; row < t->row_count && (row + 1) * t->column_count <= t->cell_count;
	     row++) {
		if (!(t->row_forms[row] & ROWS_HTML))
			continue;
		html_begin(h, "tr");
		for (size_t i = 0; i < t->column_count; i++) {
			if (is_in(t, i))
				put_cell(t, &t->cells[row * t->column_count + i], i, h);
		}
		html_end(h);
	}
	html_end(h);
}

/* In a box of its own that scrolls where a page is narrow; heads are heads. */
static void put_table(const char *label, const struct rows_table *t, struct html *h)
{
	html_begin_class(h, "div", "scroll");
	html_attribute(h, "role", "region");
	html_attribute(h, "tabindex", "0");
	html_attribute(h, "aria-label", "%s", label);
	html_begin(h, "table");
	html_begin(h, "thead");
	if (has_groups(t))
		put_groups(t, h);
	put_heads(t, h);
	html_end(h);
	put_body(t, h);
	html_end(h);
	html_end(h);
	for (size_t i = 0; i < t->remarks.count; i++) {
		if (t->remarks.items[i].forms & ROWS_HTML)
			put_sentence("p", "note", t->remarks.items[i].text, h);
	}
}

/* ---- parts of a whole ---- */

#define NAMED_MIN 0.1 /* a narrower part of the bar has no room for its number */
#define SHARE_MIN 0.0005 /* less is not said */
#define HEIGHT 36

/* More than the whole is said as it is, and drawn as the whole. */
static double share_of(const struct rows_shares *shares, size_t i)
{
	return shares->items[i].share / fmax(1, shares->items[0].share);
}

static void put_words(const struct rows_shares *shares, struct html *h)
{
	html_begin(h, "title");
	html_attribute(h, "id", "core-title");
	html_text(h, "Where the core time went");
	html_end(h);
	html_begin(h, "desc");
	html_attribute(h, "id", "core-words");
	for (size_t i = 0; i < shares->count; i++) {
		if (share_of(shares, i) > SHARE_MIN)
			html_text(h, "%s%s %s", i ? ", " : "", shares->items[i].shade->label,
				  humanize_percent(share_of(shares, i)).text);
	}
	html_end(h);
}

static void put_part(const struct rows_shares *shares, size_t i, double before, struct html *h)
{
	double share = share_of(shares, i);

	html_begin(h, "rect");
	shade_put_fill(shares->items[i].shade, h);
	html_attribute(h, "x", "%.3f%%", 100 * before);
	html_attribute(h, "width", "%.3f%%", 100 * share);
	html_attribute(h, "height", "%d", HEIGHT);
	html_end(h);
	if (share < NAMED_MIN)
		return;
	html_begin(h, "text");
	html_attribute(h, "x", "%.3f%%", 100 * (before + share / 2));
	html_attribute(h, "y", "%d", HEIGHT / 2 + 5);
	html_attribute(h, "text-anchor", "middle");
	html_text(h, "%s", humanize_percent(share).text);
	html_end(h);
}

static void put_bar(const struct rows_shares *shares, struct html *h)
{
	double before = 0;

	html_begin_class(h, "svg", "bar");
	html_attribute(h, "role", "img");
	html_attribute(h, "height", "%d", HEIGHT);
	html_attribute(h, "aria-labelledby", "core-title core-words");
	put_words(shares, h);
	for (size_t i = 0; i < shares->count; i++) {
		if (share_of(shares, i) > SHARE_MIN)
			put_part(shares, i, before, h);
		before += share_of(shares, i);
	}
	html_end(h);
}

static void put_shares(const struct rows_shares *shares, struct html *h)
{
	html_element(h, "p", "sum", "%s", shares->whole);
	put_bar(shares, h);
	html_begin_class(h, "ul", "legend");
	for (size_t i = 0; i < shares->count; i++) {
		if (share_of(shares, i) <= SHARE_MIN)
			continue;
		html_begin(h, "li");
		shade_put_swatch(shares->items[i].shade, h);
		html_text(h, "%s ", shares->items[i].shade->label);
		html_element(h, "b", NULL, "%s", humanize_percent(share_of(shares, i)).text);
		html_text(h, " (%s)", shares->items[i].text);
		html_end(h);
	}
	html_end(h);
}

/* ---- over time ---- */

static void put_timeline(const struct rows_timeline *t, struct html *h)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->plots[i].count)
			plot_put(&t->plots[i], h);
		else
			html_element(h, "p", "none", "%s: not measured.", t->plots[i].title);
	}
	html_element(h, "p", "note", "One step is %s.", axis_format(t->time.width, AXIS_TIME).text);
}

/* ---- all of it ---- */

static void put_item(const struct rows_item *item, bool is_first, struct html *h)
{
	switch (item->kind) {
	case ITEM_TABLE:
		if (!is_first) /* else the title of its section does */
			put_heading(item->label, h);
		return put_table(item->label, &item->table, h);
	case ITEM_HEAD:
		return put_head(&item->head, h);
	case ITEM_FINDINGS:
		return put_findings(&item->findings, h);
	case ITEM_SHARES:
		return put_shares(&item->shares, h);
	case ITEM_TIMELINE:
		return put_timeline(&item->timeline, h);
	default:
		return;
	}
}

/* The element around items that belong together; its value is the number of open elements. */
enum box { BOX_NONE, BOX_DRAWINGS, BOX_LINES };

static enum box close_box(enum box box, struct html *h)
{
	for (int i = 0; i < (int)box; i++)
		html_end(h);
	return BOX_NONE;
}

static enum box put_lines(const struct rows_item *item, enum box box, struct html *h)
{
	if (!item->label && box != BOX_LINES) {
		box = close_box(box, h);
	} else if (item->label) {
		if (box == BOX_LINES)
			html_end(h);
		else
			close_box(box, h);
		if (box != BOX_LINES)
			html_begin_class(h, "dl", "numbers");
		html_begin(h, "div");
		box = BOX_LINES;
	}
	put_line(item, box != BOX_LINES, h);
	return box;
}

static enum box put_drawing(const struct rows_item *item, enum box box, struct html *h)
{
	if (box != BOX_DRAWINGS || item->histogram.heading) {
		close_box(box, h);
		if (item->histogram.heading)
			html_element(h, "h3", "mount", "%s", item->histogram.heading);
		html_begin_class(h, "div", "grid");
	}
	html_put_histogram(&item->histogram, h);
	return BOX_DRAWINGS;
}

static void put_items(const struct rows *rows, size_t from, size_t to, struct html *h)
{
	enum box box = BOX_NONE;
	bool is_first = true;

	for (size_t i = from; i < to; i++) {
		const struct rows_item *item = rows->items[i];

		if (!rows_item_is_in(item, ROWS_HTML))
			continue;
		if (item->kind == ITEM_LINE) {
			box = put_lines(item, box, h);
		} else if (item->kind == ITEM_HISTOGRAM) {
			box = put_drawing(item, box, h);
		} else {
			box = close_box(box, h);
			put_item(item, is_first, h);
		}
		is_first = false;
	}
	close_box(box, h);
}

/* Where the part ends; @ret_is_empty: nothing of it is for a page. */
static size_t find_end(const struct rows *rows, size_t from, bool *ret_is_empty)
{
	*ret_is_empty = true;
	for (; from < rows->count && rows->items[from]->kind != ITEM_PART; from++)
		*ret_is_empty &= !rows_item_is_in(rows->items[from], ROWS_HTML);
	return from;
}

void rows_html(const struct rows *rows, struct html *h)
{
	bool is_empty;

	for (size_t i = 0, end; rows && i < rows->count; i = end) {
		bool is_part = rows->items[i]->kind == ITEM_PART;

		end = find_end(rows, i + is_part, &is_empty);
		if (is_part && !is_empty) {
			html_begin(h, "section");
			html_element(h, "h2", NULL, "%s", rows->items[i]->label);
		}
		put_items(rows, i + is_part, end, h);
		if (i == 0)
			put_facts(rows, h);
		if (is_part && !is_empty)
			html_end(h);
	}
}
