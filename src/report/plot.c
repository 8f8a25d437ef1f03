/* SPDX-License-Identifier: MIT */
#include "report/plot.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "report/html.h"
#include "report/shade.h"
#include "basic/macro.h"

/* ---- the round numbers that stand beside a plot ---- */

#define MOST 1e18 /* larger numbers are printed as this */

/* 1, 2, 5, 10, 20... times 10^k, but not below @least. */
static double decimal_step(double least)
{
	double power = pow(10, floor(log10(least)));

	if (least <= power)
		return power;
	if (least <= 2 * power)
		return 2 * power;
	return least <= 5 * power ? 5 * power : 10 * power;
}

static double time_step(double least)
{
	static const double steps[] = { 1,   2,	  5,	10,   15,   30,	   60,	  120,	 300,
					600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400 };
	const double day = 86400;

	if (least > day)
		return day * decimal_step(least / day);
	for (size_t i = 0; least > 0.5 && i < ARRAY_SIZE(steps); i++) {
		if (steps[i] >= least)
			return steps[i];
	}
	return decimal_step(least);
}

static double step_of(double least, enum axis_kind kind)
{
	switch (kind) {
	case AXIS_BYTES:
	case AXIS_RATE:
		return exp2(ceil(log2(fmax(1, least))));
	case AXIS_TIME:
		return time_step(least);
	default:
		return decimal_step(least);
	}
}

struct ticks ticks_of(double most, enum axis_kind kind, size_t wanted)
{
	struct ticks ticks = { .count = 1 };
	size_t steps;

	assert(wanted > 0 && wanted < TICKS_MAX);
	if (!(most > 1e-12))
		return ticks;
	most = fmin(most, MOST);
	ticks.step = step_of(most / (double)wanted, kind);
	steps = (size_t)floor(most / ticks.step * (1 + 1e-9));
	for (; ticks.count <= MIN(steps, (size_t)TICKS_MAX - 1); ticks.count++)
		ticks.values[ticks.count] = (double)ticks.count * ticks.step;
	return ticks;
}

static struct human format_time(double seconds)
{
	static const struct {
		double seconds;
		const char *name;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "m" }, { 1, "s" } };
	struct human h = { "0" };
	size_t used = 0;

	if (seconds > 0 && seconds < 1)
		return humanize_duration((uint64_t)(seconds * 1e9 + 0.5));
	seconds = fmin(floor(seconds + 0.5), MOST);
	for (size_t i = 0; i < ARRAY_SIZE(units) && used < sizeof(h.text); i++) {
		double whole = floor(seconds / units[i].seconds);

		if (whole < 1)
			continue;
		seconds -= whole * units[i].seconds;
		used += (size_t)snprintf(h.text + used, sizeof(h.text) - used, "%s%.0f %s",
					 used ? " " : "", whole, units[i].name);
	}
	return h;
}

struct human axis_format(double value, enum axis_kind kind)
{
	struct human h;

	switch (kind) {
	case AXIS_BYTES:
		return humanize_bytes((uint64_t)fmin(value, MOST));
	case AXIS_RATE:
		h = humanize_bytes((uint64_t)fmin(value, MOST));
		snprintf(h.text + strnlen(h.text, sizeof(h.text) - 3), 3, "/s");
		return h;
	case AXIS_TIME:
		return format_time(value);
	case AXIS_POWER:
		snprintf(h.text, sizeof(h.text), "%.4g W", fmin(value, MOST));
		return h;
	default:
		snprintf(h.text, sizeof(h.text), "%.6g", fmin(value, MOST));
		return h;
	}
}

/* ---- the plot ---- */

#define WIDTH 1000.0 /* of what is stretched */
#define HEIGHT 120.0 /* in pixels: nothing is stretched upwards */
#define BELOW 18 /* for the numbers of the time */
#define LEVELS 4
#define ROOM 1.05 /* over the highest value */
#define TIMES 5
#define LIMIT_FAR 4 /* a limit this many times above the peak is named, not drawn */

struct frame { /* what a plot is drawn in */
	const struct plot *plot;
	struct ticks levels, times;
	double top; /* the value at the upper edge */
	bool is_known[TIMELINE_BUCKETS_MAX];
	bool has_gaps;
	double total[TIMELINE_BUCKETS_MAX]; /* of all layers; NAN in gaps */
	double mean, most;
	bool is_limit_drawn;
};

/* ---- what to draw ---- */

static struct frame frame_of(const struct plot *plot)
{
	struct frame f = { .plot = plot };
	double most;

	f.has_gaps = plot->time->has_gaps;
	for (size_t i = 0; i < plot->time->count; i++) {
		f.total[i] = 0;
		for (size_t k = 0; k < plot->count; k++)
			f.total[i] += plot->layers[k].values[i];
		f.is_known[i] = !isnan(f.total[i]);
		f.has_gaps |= !f.is_known[i];
	}
	if (!over_time_sum_up(plot->time, f.total, &f.mean, &f.most))
		f.mean = f.most = 0;
	f.is_limit_drawn = plot->limit > 0 &&
			   (plot->kind == AXIS_NUMBER || plot->limit <= LIMIT_FAR * f.most);
	most = fmax(f.most, f.is_limit_drawn ? plot->limit : 0);
	f.levels = ticks_of(most, plot->kind, LEVELS);
	f.top = most > 0 ? most * ROOM : 1;
	f.times = ticks_of(plot->time->span, AXIS_TIME, TIMES);
	return f;
}

static double x_of(const struct frame *f, double seconds)
{
	return WIDTH * seconds / f->plot->time->span;
}

static double y_of(const struct frame *f, double value)
{
	return HEIGHT * (1 - fmin(fmax(0, value), f->top) / f->top);
}

/* ---- areas ---- */

/* Along the edges of buckets from @from to (not with) @to, forwards or backwards. */
static void put_steps(const struct frame *f, const double *values, size_t from, size_t to,
		      bool is_back, FILE *out)
{
	const double *edges = f->plot->time->edges;
	double last = -1;

	for (size_t n = 0; n < to - from; n++) {
		size_t i = is_back ? to - 1 - n : from + n;
		double y = y_of(f, values[i]);
		bool is_end = n + 1 == to - from;

		if (fabs(y - last) >= 0.05)
			fprintf(out, "V%.1f", y);
		last = y;
		/* where the next is as high, the line goes on */
		if (is_end || fabs(y_of(f, values[is_back ? i - 1 : i + 1]) - y) >= 0.05)
			fprintf(out, "H%.1f", x_of(f, edges[is_back ? i : i + 1]));
	}
}

static size_t find_end(const struct frame *f, size_t from, bool is_known)
{
	size_t end = from;

	while (end < f->plot->time->count && f->is_known[end] == is_known)
		end++;
	return end;
}

static void put_area(const struct frame *f, const struct shade *shade, const double *lower,
		     const double *upper, struct html *h)
{
	html_begin(h, "path");
	shade_put_fill(shade, h);
	html_begin_attribute(h, "d");
	for (size_t from = 0, to; from < f->plot->time->count; from = to) {
		to = find_end(f, from, f->is_known[from]);
		if (!f->is_known[from])
			continue;
		fprintf(h->out, "M%.1f %.1f", x_of(f, f->plot->time->edges[from]),
			y_of(f, lower[from]));
		put_steps(f, upper, from, to, false, h->out);
		put_steps(f, lower, from, to, true, h->out);
		fputc('Z', h->out);
	}
	html_end_attribute(h);
	html_end(h);
}

static void put_areas(const struct frame *f, struct html *h)
{
	double lower[TIMELINE_BUCKETS_MAX] = {}, upper[TIMELINE_BUCKETS_MAX];
	double mean, most;

	for (size_t k = 0; k < f->plot->count; k++) {
		const double *values = f->plot->layers[k].values;

		for (size_t i = 0; i < f->plot->time->count; i++)
			upper[i] = lower[i] + (f->is_known[i] ? values[i] : 0);
		if (over_time_sum_up(f->plot->time, values, &mean, &most) && most > 0)
			put_area(f, f->plot->layers[k].shade, lower, upper, h);
		memcpy(lower, upper, f->plot->time->count * sizeof(*lower));
	}
}

static void put_gap(const struct frame *f, double from, double to, struct html *h)
{
	if (to <= from)
		return;
	html_begin_class(h, "rect", "gap");
	html_attribute(h, "x", "%.1f", x_of(f, from));
	html_attribute(h, "width", "%.1f", x_of(f, to) - x_of(f, from));
	html_attribute(h, "height", "%.0f", HEIGHT);
	html_end(h);
}

/* ---- axes ---- */

static void put_line(const char *class, double y, struct html *h)
{
	html_begin_class(h, "line", class);
	html_attribute(h, "x2", "100%%");
	html_attribute(h, "y1", "%.1f", y);
	html_attribute(h, "y2", "%.1f", y);
	html_end(h);
}

static void begin_text(const char *x, const char *anchor, double y, struct html *h)
{
	html_begin(h, "text");
	html_attribute(h, "x", "%s", x);
	html_attribute(h, "y", "%.1f", y);
	if (anchor)
		html_attribute(h, "text-anchor", "%s", anchor);
}

static void put_limit(const struct frame *f, struct html *h)
{
	double y = y_of(f, f->plot->limit);

	if (!f->is_limit_drawn)
		return;
	put_line("limit", y, h);
	begin_text("100%", "end", y - 4, h);
	html_text(h, "%s", f->plot->limit_label);
	html_end(h);
}

static void put_times(const struct frame *f, struct html *h)
{
	for (size_t i = 0; i < f->times.count; i++) {
		double share = f->times.values[i] / f->plot->time->span;
		char x[32];

		snprintf(x, sizeof(x), "%.2f%%", 100 * share);
		begin_text(x,
			   i == 0	  ? NULL
			   : share > 0.93 ? "end"
					  : "middle",
			   HEIGHT + BELOW - 4, h);
		html_text(h, "%s", axis_format(f->times.values[i], AXIS_TIME).text);
		html_end(h);
	}
}

/* ---- words ---- */

static struct human tell(double value, const struct plot *plot)
{
	double digits = value < 1 ? 100 : value < 10 ? 10 : 1;

	if (plot->kind != AXIS_NUMBER)
		return axis_format(value, plot->kind);
	if (value > 0 && value < 0.01)
		return (struct human){ "<0.01" };
	return axis_format(round(value * digits) / digits, plot->kind);
}

static void put_summary(const struct frame *f, struct html *h)
{
	const struct plot *plot = f->plot;

	html_text(h, "mean %s, most %s%s%s", tell(f->mean, plot).text, tell(f->most, plot).text,
		  plot->unit, plot->kind == AXIS_BYTES ? " in a sample" : "");
	if (plot->limit > 0)
		html_text(h, "; %s", plot->limit_label);
}

static void put_drawing(const struct frame *f, struct html *h)
{
	const struct over_time *time = f->plot->time;

	html_begin_class(h, "svg", "plot");
	html_attribute(h, "role", "img");
	html_attribute(h, "height", "%.0f", HEIGHT + BELOW);
	html_attribute(h, "data-span", "%.3f", f->plot->time->span); /* for a page's script */
	html_attribute(h, "data-top", "%g", f->top);
	html_attribute(h, "data-kind", "%d", (int)f->plot->kind);
	html_attribute(h, "data-unit", "%s", f->plot->unit);
	html_attribute(h, "aria-labelledby", "%s-title %s-words", f->plot->id, f->plot->id);
	html_begin(h, "title");
	html_attribute(h, "id", "%s-title", f->plot->id);
	html_text(h, "%s", f->plot->title);
	html_end(h);
	html_begin(h, "desc");
	html_attribute(h, "id", "%s-words", f->plot->id);
	html_text(h, "Over %s: ", axis_format(f->plot->time->span, AXIS_TIME).text);
	put_summary(f, h);
	html_text(h, "%s", f->has_gaps ? "; with gaps where nothing was measured." : ".");
	html_end(h);
	put_line("base", HEIGHT, h);
	for (size_t i = 1; i < f->levels.count; i++)
		put_line("level", y_of(f, f->levels.values[i]), h);
	html_begin(h, "svg");
	html_attribute(h, "width", "100%%");
	html_attribute(h, "height", "%.0f", HEIGHT);
	html_attribute(h, "viewBox", "0 0 %.0f %.0f", WIDTH, HEIGHT);
	html_attribute(h, "preserveAspectRatio", "none");
	put_gap(f, 0, time->edges[0], h);
	for (size_t from = 0, to; from < time->count; from = to) {
		to = find_end(f, from, f->is_known[from]);
		if (!f->is_known[from])
			put_gap(f, time->edges[from], time->edges[to], h);
	}
	put_gap(f, time->edges[time->count], time->span, h);
	put_areas(f, h);
	html_end(h);
	put_limit(f, h);
	put_times(f, h);
	html_end(h);
}

void plot_put(const struct plot *plot, struct html *h)
{
	struct frame f = frame_of(plot);
	double mean, most;

	assert(plot->count > 0 && plot->count <= PLOT_LAYERS_MAX);
	html_begin(h, "figure");
	html_begin(h, "figcaption");
	html_element(h, "h3", NULL, "%s", plot->title);
	html_begin_class(h, "p", "sum");
	put_summary(&f, h);
	html_end(h);
	html_end(h);
	html_begin_class(h, "div", "drawing");
	/* Beside the plot, where no colour is behind them. */
	html_begin_class(h, "svg", "axis");
	html_attribute(h, "aria-hidden", "true");
	html_attribute(h, "height", "%.0f", HEIGHT + BELOW);
	for (size_t i = 0; i < f.levels.count; i++) {
		begin_text("92%", "end", y_of(&f, f.levels.values[i]) + 4, h);
		html_text(h, "%s", axis_format(f.levels.values[i], f.plot->kind).text);
		html_end(h);
	}
	html_end(h);
	put_drawing(&f, h);
	html_end(h);
	html_begin_class(h, "ul", "legend");
	for (size_t k = 0; k < f.plot->count; k++) {
		const char *label = f.plot->layers[k].label;

		if (!over_time_sum_up(f.plot->time, f.plot->layers[k].values, &mean, &most) ||
		    most <= 0)
			continue;
		html_begin(h, "li");
		shade_put_swatch(f.plot->layers[k].shade, h);
		html_text(h, "%s %s", label ? label : f.plot->layers[k].shade->label,
			  tell(mean, f.plot).text);
		html_end(h);
	}
	if (f.has_gaps)
		html_element(h, "li", "gap-word", "shaded: no sample");
	html_end(h);
	html_end(h);
}
