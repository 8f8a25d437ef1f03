/* SPDX-License-Identifier: MIT */
#include "report/text_timeline.h"

#include <math.h>
#include <string.h>

#include "basic/cleanup.h"
#include "report/curve.h"
#include "report/page.h"
#include "analysis/patterns.h"
#include "report/rows_items.h"
#include "report/sentence.h"

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

static void print_times(const struct curve_axis *axis, uint64_t elapsed_ns, struct page *page)
{
	struct human length = humanize_duration(elapsed_ns);
	size_t width = axis->columns * axis->wide, room = strlen(length.text);

	page_label(page, NULL);
	page_pad(page, curve_column(page), 0);
	page_put(page, PAGE_DIM, "0 s");
	page_pad(page, curve_column(page) + (width > room ? width - room : 0), 1);
	page_put(page, PAGE_DIM, "%s", length.text);
	page_end_line(page);
}

/* ---- marks ---- */

/* What stands in a column, if there are several: the first. */
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

/* The first phase begins with the job. */
static bool is_shown(const struct patterns *patterns, size_t i)
{
	return i > 0 || patterns->items[i].kind != PATTERN_PHASE;
}

static char sign_at(const struct patterns *patterns, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t k = 0; k < ARRAY_SIZE(marks); k++) {
		for (size_t i = 0; i < patterns->count; i++) {
			if (patterns->items[i].kind == marks[k].kind && is_shown(patterns, i) &&
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
static bool is_first(const struct rows_timeline *t, const struct curve_axis *axis,
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

void text_timeline(const struct rows_timeline *t, const char *label, bool is_full,
		   struct page *page)
{
	struct curve_axis axis;
	struct curve curve;
	size_t printed = 0;

	if (t->time.count < BUCKETS_MIN)
		return;
	axis = curve_axis_of(&t->time, MIN(page->width - curve_column(page) - GREATEST_WIDTH,
					   (size_t)CURVE_MAX));
	for (size_t i = 0; i < t->count; i++) {
		for (size_t k = 0; curve_of(&t->plots[i], k, &axis, &curve); k++) {
			if (!curve.name || curve.greatest <= 0 ||
			    (!is_full && !is_first(t, &axis, &curve)))
				continue;
			print_curve(&axis, &t->plots[i], &curve, printed++ ? NULL : label, page);
		}
	}
	if (!printed || !is_full)
		return;
	print_marks(t, &axis, page);
	print_times(&axis, t->elapsed_ns, page);
	print_legend(t->patterns, page);
}
