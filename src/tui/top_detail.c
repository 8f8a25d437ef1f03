/* SPDX-License-Identifier: MIT */
#include "tui/top_draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "analysis/core_time.h"
#include "report/record_rows.h"
#include "tui/grid.h"
#include "report/shade.h"
#include "basic/humanize.h"
#include "analysis/insights.h"
#include "basic/macro.h"
#include "analysis/rates.h"
#include "model/record.h"
#include "basic/text.h"
#include "tui/top.h"
#include "basic/utf8.h"

#define LABEL 11 /* columns of the label */
#define PARTS_MAX (LOST_COUNT + 2)
#define SHARE_MIN 0.01
#define MOUNT_LINES 4
#define CURVE_MAX 512
#define INSIGHTS_FIRST 3

struct pane {
	const struct top *top;
	const struct top_job *job;
	const struct record *whole; /* all that is known of it: its whole life */
	struct record *recent; /* what it did between the last two readings; NULL: not known */
	struct grid *grid;
	unsigned int row, end;
};

static bool has_room(const struct pane *p)
{
	return p->row < p->end;
}

static void put_label(struct pane *p, const char *label)
{
	grid_put(p->grid, p->row, 1, LABEL - 2, STYLE_DIM, label);
}

/* ---- head ---- */

static void draw_head(struct pane *p)
{
	const struct record *r = p->job->now;
	unsigned int at;

	if (!has_room(p))
		return;
	grid_paint(p->grid, p->row, 0, p->grid->columns, STYLE_HEAD);
	at = grid_print(p->grid, p->row, 1, STYLE_HEAD, "%s/%s", r->job.manager, r->job.id);
	if (r->job.name)
		at = grid_print(p->grid, p->row, at + 2, STYLE_HEAD, "%s", r->job.name);
	if (r->job.user)
		at = grid_print(p->grid, p->row, at + 2, STYLE_HEAD, "%s", r->job.user);
	if (r->time.elapsed_ns)
		grid_print(p->grid, p->row, at + 2, STYLE_HEAD, "%s",
			   humanize_duration(r->time.elapsed_ns).text);
	p->row++;
}

/* ---- core time ---- */

struct part {
	const char *word;
	double share;
	enum style style;
	const char *fill; /* distinguishes parts without colours */
};

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->share < y->share) - (x->share > y->share);
}

static size_t list_parts(const struct core_time *t, struct part ret[PARTS_MAX])
{
	size_t count = 0;

	ret[count++] = (struct part){ shade_on_cpu.word, t->on_cpu / t->core, STYLE_ON_CPU, "█" };
	for (size_t c = 0; c < LOST_COUNT; c++) {
		if (t->lost[c] / t->core >= SHARE_MIN)
			ret[count++] = (struct part){ shade_of_cause(c)->word, t->lost[c] / t->core,
						      STYLE_WAIT, "▒" };
	}
	qsort(ret + 1, count - 1, sizeof(*ret), compare_parts);
	ret[count++] = (struct part){ shade_idle.word, t->idle / t->core, STYLE_IDLE, "·" };
	return count;
}

static void draw_parts(struct pane *p, const struct part *parts, size_t count)
{
	unsigned int width = p->grid->columns > LABEL + 2 ? p->grid->columns - LABEL - 2 : 0,
		     at = LABEL;
	double done = 0;
	char text[96];

	for (size_t i = 0; i < count; i++) {
		done += parts[i].share;
		while (at < LABEL + (unsigned int)(MIN(done, 1.0) * width + 0.5))
			at = grid_put(p->grid, p->row, at, 1, parts[i].style, parts[i].fill);
	}
	p->row++;
	at = LABEL;
	for (size_t i = 0; i < count && has_room(p); i++) {
		snprintf(text, sizeof(text), "%s %s %s", parts[i].fill, parts[i].word,
			 humanize_percent(parts[i].share).text);
		if (at > LABEL && at + utf8_columns(text) > p->grid->columns) {
			p->row++;
			at = LABEL;
		}
		if (has_room(p))
			at = grid_put(p->grid, p->row, at, p->grid->columns, parts[i].style, text) +
			     2;
	}
	p->row += has_room(p);
}

/* Of the time between the last two readings, else of the whole. */
static void draw_core_time(struct pane *p)
{
	struct part parts[PARTS_MAX];
	struct core_time t = core_time_of(p->recent ? p->recent : p->job->now);

	if (!has_room(p) || !t.is_known || !t.has_causes || t.core <= 0)
		return;
	put_label(p, p->recent ? "now" : "so far");
	draw_parts(p, parts, list_parts(&t, parts));
}

/* ---- cores, memory ---- */

static void draw_cores(struct pane *p)
{
	const struct value *touched = &p->whole->cores.count;
	const struct value *peak = &p->whole->reading.values[METRIC_MEMORY_PEAK];
	const struct value *limit = &p->whole->reading.values[METRIC_MEMORY_LIMIT];
	const char *cpus = p->whole->job.cpus_allowed;
	unsigned int at = LABEL;

	if (!has_room(p) || (!touched->is_known && !peak->is_known))
		return;
	put_label(p, "so far");
	if (touched->is_known)
		at = grid_print(p->grid, p->row, at, STYLE_PLAIN, "%s core%s used%s%s",
				humanize_count(touched->number).text,
				touched->number == 1 ? "" : "s", cpus ? " of CPUs " : "",
				cpus ? cpus : "") +
		     2;
	if (peak->is_known)
		at = grid_print(p->grid, p->row, at, STYLE_PLAIN, "memory at most %s",
				humanize_bytes(peak->number).text);
	if (peak->is_known && limit->is_known)
		grid_print(p->grid, p->row, at + 1, STYLE_PLAIN, "of %s",
			   humanize_bytes(limit->number).text);
	p->row++;
}

/* ---- sentences ---- */

/* From the current column, broken between words. */
static void draw_sentence(struct pane *p, const char *text)
{
	unsigned int at = LABEL;

	while (*text && has_room(p)) {
		size_t length = strcspn(text, " ");
		_cleanup_free_ char *word = strndup(text, length);

		if (!word)
			return;
		if (at > LABEL && at + utf8_columns(word) > p->grid->columns) {
			p->row++;
			at = LABEL;
			continue;
		}
		at = grid_put(p->grid, p->row, at, p->grid->columns, STYLE_PLAIN, word) + 1;
		text += length + strspn(text + length, " ");
	}
	p->row++;
}

/* ---- the processor's counters, frequency and temperature ---- */

/* For the time between the last two samples, else for the whole; nothing without counters. */
static void draw_hardware(struct pane *p)
{
	_cleanup_free_ char *counted = hardware_words(p->recent ? p->recent : p->job->now),
			    *felt = thermal_words(&p->whole->thermal);

	if (counted && has_room(p)) {
		put_label(p, p->recent ? "now" : "so far");
		draw_sentence(p, counted);
	}
	if (felt && has_room(p)) {
		put_label(p, "so far");
		draw_sentence(p, felt);
	}
}

/* ---- mounts ---- */

static const char *bytes_text(double bytes, struct human *ret)
{
	*ret = isnan(bytes) ? (struct human){ "-" } : humanize_bytes_short((uint64_t)(bytes + 0.5));
	return ret->text;
}

/* ---- over time ---- */

static const char *level(double share)
{
	static const char *const levels[] = { "·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

	return isnan(share) ? " " : levels[(size_t)ceil(MIN(MAX(share, 0.0), 1.0) * 8)];
}

/* The last buckets that fit, followed by the scale's maximum. */
static void draw_curve(struct pane *p, const char *label, const double *values, size_t count,
		       double most, const char *scale)
{
	size_t room = p->grid->columns > LABEL + 24 ? MIN(p->grid->columns - LABEL - 24, CURVE_MAX)
						    : 0;
	size_t first = count > room ? count - room : 0;
	unsigned int at = LABEL;

	if (!has_room(p) || !room)
		return;
	put_label(p, label);
	for (size_t i = first; i < count; i++)
		at = grid_put(p->grid, p->row, at, 1, STYLE_ON_CPU,
			      level(most > 0 ? values[i] / most : values[i]));
	grid_put(p->grid, p->row, at + 1, p->grid->columns, STYLE_DIM, scale);
	p->row++;
}

static void draw_timeline(struct pane *p)
{
	_cleanup_free_ struct rates *rates = malloc(sizeof(*rates));
	_cleanup_free_ double *io = calloc(TIMELINE_BUCKETS_MAX, sizeof(*io));
	double most = 0;
	char scale[96];

	if (!rates || !io)
		return;
	rates_take(p->whole, rates);
	if (!rates->count)
		return;
	for (size_t i = 0; i < rates->count; i++) {
		io[i] = rates_io(rates, i);
		most = io[i] > most ? io[i] : most;
	}
	if (rates->is_known[RATE_ON_CPU]) {
		snprintf(scale, sizeof(scale), "0 to %s cores, %s each",
			 humanize_cores((uint64_t)(rates->cores * 1000)).text,
			 humanize_duration(rates->interval_ns).text);
		draw_curve(p, "cores", rates->of[RATE_ON_CPU], rates->count, rates->cores, scale);
	}
	if (most > 0) {
		snprintf(scale, sizeof(scale), "0 to %s/s", humanize_bytes((uint64_t)most).text);
		draw_curve(p, "files", io, rates->count, most, scale);
	}
}

/* ---- findings ---- */

static void draw_insights(struct pane *p)
{
	struct insights insights = {};

	if (!p->top->rules || insights_find(p->top->rules, p->whole, NULL, &insights) < 0)
		return;
	for (size_t i = 0; i < MIN(insights.count, (size_t)INSIGHTS_FIRST) && has_room(p); i++) {
		put_label(p, i ? "" : "insights");
		draw_sentence(p, insights.items[i].text);
	}
	insights_clear(&insights);
}

unsigned int top_detail_draw(const struct top *t, const struct top_job *job, struct grid *g,
			     unsigned int first, unsigned int end)
{
	struct pane p = {
		.top = t, .job = job, .whole = job->now, .grid = g, .row = first, .end = end
	};
	const struct numbers *n;

	if (t->detail && text_is_equal(t->detail->job.manager, job->now->job.manager) &&
	    text_is_equal(t->detail->job.id, job->now->job.id))
		p.whole = t->detail;
	if (job->before)
		(void)record_subtract(job->now, job->before, &p.recent, NULL); /* else it stays NULL
										*/
	draw_head(&p);
	draw_core_time(&p);
	draw_cores(&p);
	draw_hardware(&p);
	n = &p.job->numbers;
	for (size_t i = 0; i < MIN(n->mount_count, (size_t)MOUNT_LINES) && has_room(&p); i++) {
		const struct mount_numbers *mount = &n->mounts[i];
		_cleanup_free_ char *name = utf8_shorten(mount->mount, 24);
		struct human read, write, meta = { "-" };

		if (!isnan(mount->meta))
			meta = humanize_count_short((uint64_t)(mount->meta + 0.5));
		put_label(&p, i ? "" : "mounts");
		grid_put(p.grid, p.row, LABEL, 24, STYLE_PLAIN, name ? name : "");
		grid_print(p.grid, p.row, LABEL + 25, STYLE_PLAIN,
			   "read %4s/s  write %4s/s  metadata %4s/s",
			   bytes_text(mount->read, &read), bytes_text(mount->write, &write),
			   meta.text);
		p.row++;
	}
	draw_timeline(&p);
	draw_insights(&p);
	record_free(p.recent);
	return MIN(p.row, end);
}
