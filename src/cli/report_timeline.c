/* SPDX-License-Identifier: MIT */
#include "report_timeline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "humanize.h"
#include "macro.h"
#include "page.h"
#include "patterns.h"
#include "record.h"
#include "sentence.h"

#define BUCKETS_MIN 8 /* fewer are no curve */
#define CURVE_COLUMN 20
#define CURVE_MAX 48
#define GREATEST_WIDTH 12 /* "1,023 MiB/s" */

struct curve {
	const char *name;
	enum metric_id metrics[2]; /* which are added */
	struct human (*say)(double greatest);
};

/* How the columns of all curves lie over time. */
struct axis {
	const struct record *record;
	uint64_t from_ns, to_ns;    /* when it ran, in buckets that may be longer */
	size_t buckets, group;	    /* how many there are, and how many in a column */
	unsigned int columns, wide; /* each bucket is so many, where there are few */
};

/* Records from outside may hold any number. */
static uint64_t whole(double number)
{
	return number < (double)INT64_MAX ? (uint64_t)number : INT64_MAX;
}

static struct human say_cores(double ns_per_second)
{
	return humanize_cores(whole(ns_per_second / 1e6));
}

static struct human say_rate(double bytes)
{
	struct human rate = humanize_bytes(whole(bytes));

	snprintf(rate.text + strlen(rate.text), sizeof(rate.text) - strlen(rate.text), "/s");
	return rate;
}

static struct human say_bytes(double bytes)
{
	return humanize_bytes(whole(bytes));
}

static const struct curve curves[] = {
	{ "cores", { METRIC_CPU_USER, METRIC_CPU_SYSTEM }, say_cores },
	{ "read", { METRIC_READ_BYTES, METRIC_COUNT }, say_rate },
	{ "write", { METRIC_WRITE_BYTES, METRIC_COUNT }, say_rate },
	{ "received", { METRIC_NETWORK_RECEIVED_BYTES, METRIC_COUNT }, say_rate },
	{ "sent", { METRIC_NETWORK_SENT_BYTES, METRIC_COUNT }, say_rate },
	{ "memory", { METRIC_MEMORY_USAGE, METRIC_COUNT }, say_bytes },
};

static size_t series_of(enum metric_id id)
{
	const struct metric *metric = metric_get(id);

	return timeline_find(metric->section, metric->key);
}

static struct axis axis_of(const struct record *r, const struct page *page)
{
	size_t room = MIN(page->width - CURVE_COLUMN - GREATEST_WIDTH, (size_t)CURVE_MAX);
	struct axis axis = { .record = r, .buckets = timeline_count(&r->timeline) };

	axis.from_ns = MAX(r->time.start_ns, r->time.measured_from_ns);
	axis.to_ns = r->time.end_ns ? r->time.end_ns : axis.from_ns + r->time.elapsed_ns;
	axis.group = (axis.buckets + room - 1) / room;
	axis.columns = (unsigned int)((axis.buckets + axis.group - 1) / axis.group);
	axis.wide = (unsigned int)MAX(room / axis.columns, (size_t)1);
	return axis;
}

/* The part of some buckets' time in which the job ran; all of it, if that is not known. */
static double seconds_of(const struct axis *axis, size_t first, size_t end)
{
	const struct timeline *t = &axis->record->timeline;
	uint64_t from_ns = t->start_ns + first * timeline_interval_ns(t);
	uint64_t to_ns = t->start_ns + end * timeline_interval_ns(t);
	uint64_t ran_from_ns = MAX(from_ns, axis->from_ns), ran_to_ns = MIN(to_ns, axis->to_ns);

	if (ran_to_ns <= ran_from_ns)
		return (double)(to_ns - from_ns) / 1e9;
	return (double)(ran_to_ns - ran_from_ns) / 1e9;
}

/* A column: the rate of a counter, the greatest of a gauge; NAN: not known. */
static double value_of(const struct axis *axis, const uint64_t *buckets, size_t column,
		       bool is_gauge)
{
	size_t first = column * axis->group, end = MIN(first + axis->group, axis->buckets);
	double sum = 0, greatest = NAN;

	for (size_t i = first; i < end; i++) {
		if (buckets[i] == TIMELINE_UNKNOWN)
			continue;
		sum += (double)buckets[i];
		greatest = fmax(greatest, (double)buckets[i]);
	}
	return isnan(greatest) || is_gauge ? greatest : sum / seconds_of(axis, first, end);
}

/* Into zeros.  False: it is not known, or there was nothing all the time. */
static bool take_curve(const struct axis *axis, const struct curve *curve, double *ret,
		       double *ret_greatest)
{
	*ret_greatest = 0;
	for (size_t k = 0; k < ARRAY_SIZE(curve->metrics); k++) {
		enum metric_id id = curve->metrics[k];
		uint64_t buckets[TIMELINE_BUCKETS_MAX];

		if (id == METRIC_COUNT)
			continue;
		if (!timeline_knows(&axis->record->timeline, series_of(id)))
			return false;
		timeline_get(&axis->record->timeline, series_of(id), buckets);
		for (unsigned int i = 0; i < axis->columns; i++)
			ret[i] += value_of(axis, buckets, i, metric_get(id)->kind == KIND_GAUGE);
	}
	for (unsigned int i = 0; i < axis->columns; i++)
		*ret_greatest = fmax(*ret_greatest, ret[i]);
	return *ret_greatest > 0;
}

static void tell_curve(const struct axis *axis, const struct curve *curve, const char *label,
		       const double *values, double greatest, struct page *page)
{
	page_label(page, label);
	page_put(page, PAGE_PLAIN, "%s", curve->name);
	page_pad(page, CURVE_COLUMN, 1);
	for (unsigned int i = 0; i < axis->columns * axis->wide; i++)
		page_level(page, values[i / axis->wide] / greatest);
	page_pad(page, 0, 1);
	page_put(page, PAGE_PLAIN, "%s", curve->say(greatest).text);
	page_end_line(page);
}

static void tell_axis(const struct axis *axis, struct page *page)
{
	struct human length = humanize_duration(axis->record->time.elapsed_ns);
	size_t width = axis->columns * axis->wide, room = strlen(length.text);

	page_label(page, NULL);
	page_pad(page, CURVE_COLUMN, 0);
	page_put(page, PAGE_DIM, "0 s");
	page_pad(page, CURVE_COLUMN + (width > room ? width - room : 0), 1);
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

static void tell_marks(const struct axis *axis, const struct patterns *patterns, struct page *page)
{
	const struct timeline *t = &axis->record->timeline;
	uint64_t column_ns = axis->group * timeline_interval_ns(t);
	char signs[CURVE_MAX + 1] = "";
	size_t used = 0;

	if (!patterns->count)
		return;
	for (unsigned int i = 0; i < axis->columns * axis->wide; i++) {
		uint64_t from_ns = t->start_ns + i * column_ns / axis->wide;

		signs[i] = sign_at(patterns, from_ns, from_ns + column_ns / axis->wide);
		used = signs[i] != ' ' ? i + 1 : used;
	}
	signs[used] = '\0';
	page_label(page, NULL);
	page_put(page, PAGE_PLAIN, "marks");
	page_pad(page, CURVE_COLUMN, 1);
	page_put(page, PAGE_PLAIN, "%s", signs);
	page_end_line(page);
}

static void tell_legend(const struct patterns *patterns, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	for (size_t k = 0; k < ARRAY_SIZE(marks); k++) {
		if (patterns->counts[marks[k].kind].number > 0)
			sentence_add(&s, "   ", "%c %s", marks[k].sign, marks[k].legend);
	}
	if (!s.text)
		return;
	page_label(page, NULL);
	page_pad(page, CURVE_COLUMN, 0);
	page_put(page, PAGE_DIM, "%s", s.text);
	page_end_line(page);
}

void report_timeline(const struct record *r, const struct patterns *patterns, struct page *page)
{
	const char *label = "over time";
	struct axis axis;

	if (timeline_count(&r->timeline) < BUCKETS_MIN)
		return;
	axis = axis_of(r, page);
	for (size_t i = 0; i < ARRAY_SIZE(curves); i++) {
		double values[CURVE_MAX] = {}, greatest;

		if (!take_curve(&axis, &curves[i], values, &greatest))
			continue;
		tell_curve(&axis, &curves[i], label, values, greatest, page);
		label = NULL;
	}
	if (label)
		return;
	if (patterns)
		tell_marks(&axis, patterns, page);
	tell_axis(&axis, page);
	if (patterns)
		tell_legend(patterns, page);
}
