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
#include "basic/utf8.h"
#include "report/curve.h"
#include "analysis/patterns.h"

/* ---- curves of blocks over time ---- */

#define BUCKETS_MIN 8 /* fewer are no curve */
#define NAME_WIDTH 8
#define RATE_MIN 1048576 /* bytes per second: less is no curve of a first screen */
#define CORES_MIN 0.05 /* in use: the same */
#define GREATEST_WIDTH 17 /* "peak 1,023 MiB/s" */
#define SURELY (1 - 1e-12) /* half of the greatest is no more than that */

static size_t curve_column(const struct page *page)
{
	return page_indent(page) + NAME_WIDTH;
}

static void print_curve(const struct curve_axis *axis, const struct plot *plot,
			const struct curve *curve, const char *label, struct page *page)
{
	page_label(page, label);
	page_put(page, PAGE_PLAIN, "%s", curve->name);
	page_pad(page, curve_column(page), 1);
	for (size_t i = 0; i < axis->columns * axis->wide; i++)
		page_level(page, curve->values[i / axis->wide] / curve->greatest * SURELY);
	page_pad(page, 0, 1);
	page_put(page, PAGE_PLAIN, "peak %s", curve_format(curve->greatest, plot->kind).text);
	page_end_line(page);
}

/* ---- marks ---- */

/* Of several in one column the first is shown. */
static const struct {
	enum pattern_kind kind;
	char sign;
	const char *legend;
} marks[] = {
	{ PATTERN_PHASE, '|', "phase" },
	{ PATTERN_HANG, 'h', "hang" },
	{ PATTERN_IDLE_TAIL, 'i', "idle" },
	{ PATTERN_CHECKPOINTS, 'c', "checkpoint" },
	{ PATTERN_DIED_INSIDE, 'x', "died inside" },
	{ PATTERN_LEAK, 'm', "memory grows" },
};

/* Of checkpoints only the first and the period are known. */
static bool has_checkpoint(const struct pattern *p, uint64_t from_ns, uint64_t to_ns)
{
	double period = p->numbers[CHECKPOINT_PERIOD].number * 1e9, next;

	if (to_ns <= p->from_ns)
		return false;
	next = from_ns > p->from_ns ? ceil((double)(from_ns - p->from_ns) / period) * period : 0;
	return next < (double)(to_ns - p->from_ns);
}

static bool is_marked(const struct pattern *p, uint64_t from_ns, uint64_t to_ns)
{
	if (p->kind == PATTERN_PHASE)
		return p->from_ns >= from_ns && p->from_ns < to_ns;
	if (p->from_ns >= to_ns || p->to_ns <= from_ns)
		return false;
	return p->kind != PATTERN_CHECKPOINTS || has_checkpoint(p, from_ns, to_ns);
}

static char sign_at(const struct patterns *patterns, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t k = 0; k < ARRAY_SIZE(marks); k++) {
		for (size_t i = 0; i < patterns->count; i++) {
			/* The first phase begins with the job. */
			if (patterns->items[i].kind == marks[k].kind &&
			    (i > 0 || patterns->items[i].kind != PATTERN_PHASE) &&
			    is_marked(&patterns->items[i], from_ns, to_ns))
				return marks[k].sign;
		}
	}
	return ' ';
}

static void print_marks(const struct rows_timeline *t, const struct curve_axis *axis,
			struct page *page)
{
	uint64_t column_ns = axis->group * t->interval_ns;
	char signs[CURVE_MAX + 1] = "";
	size_t used = 0;

	if (!t->patterns || !t->patterns->count)
		return;
	for (size_t i = 0; i < axis->columns * axis->wide; i++) {
		uint64_t from_ns = t->start_ns + i * column_ns / axis->wide;

		signs[i] = sign_at(t->patterns, from_ns, from_ns + column_ns / axis->wide);
		used = signs[i] != ' ' ? i + 1 : used;
	}
	signs[used] = '\0';
	page_label(page, NULL);
	page_put(page, PAGE_PLAIN, "marks");
	page_pad(page, curve_column(page), 1);
	page_put(page, PAGE_PLAIN, "%s", signs);
	page_end_line(page);
}

static void print_legend(const struct patterns *patterns, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	for (size_t k = 0; patterns && k < ARRAY_SIZE(marks); k++) {
		if (patterns->counts[marks[k].kind].number > 0)
			sentence_add(&s, "   ", "%c %s", marks[k].sign, marks[k].legend);
	}
	if (!s.text)
		return;
	page_label(page, NULL);
	page_pad(page, curve_column(page), 0);
	page_put(page, PAGE_DIM, "%s", s.text);
	page_end_line(page);
}

/* Is the curve one of those that a first screen has? */
static bool is_first_curve(const struct rows_timeline *t, const struct curve_axis *axis,
			   const struct curve *shown)
{
	const char *name = shown->name;
	struct curve curve;
	double read = 0, written = 0;
	bool is_read;

	for (size_t i = 0; i < t->count; i++) {
		for (size_t k = 0; curve_of(&t->plots[i], k, axis, &curve); k++) {
			if (curve.name && strcmp(curve.name, "read") == 0)
				read = curve.greatest;
			if (curve.name && strcmp(curve.name, "write") == 0)
				written = curve.greatest;
		}
	}
	is_read = t->data ? strcmp(t->data, "read") == 0 : read >= written;
	return (strcmp(name, "cores") == 0 && shown->greatest >= CORES_MIN) ||
	       ((is_read ? read : written) >= RATE_MIN &&
		strcmp(name, is_read ? "read" : "write") == 0);
}

/* Nothing, if there are too few buckets for a curve, or nothing happened.  Not @is_full: cores, and
 * what was read or written, whichever is more. */
static void text_timeline(const struct rows_timeline *t, const char *label, bool is_full,
			  struct page *page)
{
	struct curve_axis axis;
	struct curve curve;
	size_t printed = 0;
	struct human length = humanize_duration(t->elapsed_ns);
	size_t width, room;

	if (t->time.count < BUCKETS_MIN)
		return;
	axis = curve_axis_of(&t->time, MIN(page->width - curve_column(page) - GREATEST_WIDTH,
					   (size_t)CURVE_MAX));
	for (size_t i = 0; i < t->count; i++) {
		for (size_t k = 0; curve_of(&t->plots[i], k, &axis, &curve); k++) {
			if (!curve.name || curve.greatest <= 0 ||
			    (!is_full && !is_first_curve(t, &axis, &curve)))
				continue;
			print_curve(&axis, &t->plots[i], &curve, printed++ ? NULL : label, page);
		}
	}
	if (!printed || !is_full)
		return;
	print_marks(t, &axis, page);
	width = axis.columns * axis.wide;
	room = strlen(length.text);
	page_label(page, NULL);
	page_pad(page, curve_column(page), 0);
	page_put(page, PAGE_DIM, "0 s");
	page_pad(page, curve_column(page) + (width > room ? width - room : 0), 1);
	page_put(page, PAGE_DIM, "%s", length.text);
	page_end_line(page);
	print_legend(t->patterns, page);
}

/* ---- a table of rows that fits a page ---- */

#define TABLE_GAP 2
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
			total += layout->widths[i] + (i ? TABLE_GAP : 0);
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

static struct layout lay_out(const struct rows_table *t, size_t available)
{
	struct layout layout = measure(t,
				       t->columns[0].is_path ? path_room(t, available) : SIZE_MAX);
	size_t first = layout.widths[0], others, next;

	layout.widths[0] = MIN(first, (size_t)(t->columns[0].least ?: TABLE_FIRST_MIN));
	/* Of those that may be shortened. */
	for (size_t i = 0; i < t->column_count; i++) {
		size_t total = total_width(t, &layout), *width = &layout.widths[i],
		       least = t->columns[i].least;

		if (least && *width > least && total > available)
			*width -= MIN(*width - least, total - available);
	}
	while (total_width(t, &layout) > available && (next = find_next_to_go(t, &layout)) != 0)
		layout.is_gone[next] = true;
	others = total_width(t, &layout) - layout.widths[0];
	if (others < available)
		layout.widths[0] = MIN(first, MAX(available - others, (size_t)1));
	return layout;
}

/* What of @path fits: its end tells more than its beginning.  The caller frees. */
static char *text_path(const char *path, size_t columns)
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
	size_t width = layout->widths[column], start = page->column + (column ? TABLE_GAP : 0),
	       blanks;
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

/* With @label before its head; it must have rows. */
static void print_table(const char *label, const struct rows_table *t, struct page *page)
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
	for (size_t i = 0; i < t->remarks.count; i++) {
		if (t->remarks.items[i].forms & ROWS_TEXT)
			page_paragraph(page, NULL, t->remarks.items[i].text);
	}
}

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

static void print_findings(const struct rows_findings *findings, unsigned int form,
			   struct page *page)
{
	const struct insights *insights = &findings->analysis->insights;
	size_t count = form == ROWS_SCREEN ? MIN(insights->count, (size_t)FINDINGS_FIRST)
					   : insights->count;

	if (!count)
		page_paragraph(page, NULL, findings->verdict);
	for (size_t i = 0; i < count; i++) {
		if (form == ROWS_TEXT && findings->is_whole) {
			const struct insight *insight = &insights->items[i];
			_cleanup_(sentence_freep) struct sentence s = {};

			sentence_add(&s, "", "%s", insight->text);
			if (insight->advice)
				sentence_add(&s, " ", "%s", insight->advice);
			if (insight->directive)
				sentence_add(&s, " ", "(%s)", insight->directive);
			page_paragraph(page, severity_name(insight->rule->severity),
				       s.text ? s.text : "");
		} else
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
