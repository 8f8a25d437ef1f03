/* SPDX-License-Identifier: MIT */
/* What each node of a job did over time: a row each, the darker the more. */
#include <math.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "codec/records.h"
#include "server/page/site.h"

#define COLUMNS 60 /* at most */
#define LEVELS 5
#define PIXELS 420 /* high, where there are many nodes */
#define ROW_LEAST 2
#define ROW_MOST 14
#define SERIES_MAX 4

/* clang-format off */
static const struct heat {
	const char *title, *note;
	enum metric_id of[SERIES_MAX]; /* counters that are added up, up to a 0 behind the first */
	bool is_of_cores; /* full where all cores are in use; else where it was most */
} heats[] = {
	{ "CPU used", "Full: all of the node's cores.", { METRIC_CPU_USER, METRIC_CPU_SYSTEM }, true },
	{ "Bytes read and written", "Full: the most of any node at any time.", { METRIC_READ_BYTES, METRIC_WRITE_BYTES }, false },
	{ "Waits for files and network", "Full: the most of any node at any time.",
	  { METRIC_BLOCKED_FILE_READ, METRIC_BLOCKED_FILE_WRITE, METRIC_BLOCKED_FILE_META, METRIC_BLOCKED_NETWORK }, false },
};
/* clang-format on */

struct grid {
	const struct records *records;
	uint64_t from_ns, span_ns;
	size_t columns;
	double *cells; /* a row for each record; NAN: not known */
};

/* The mean of what its buckets gained, for each column in which one of them lies. */
static void fill_row(const struct grid *g, const struct heat *heat, const struct record *r,
		     double *row)
{
	const struct timeline *t = &r->timeline;
	const struct value *cores = &r->reading.values[METRIC_CPU_ALLOCATED];
	const double interval = (double)timeline_interval_ns(t);
	double full = heat->is_of_cores && cores->is_known ? (double)cores->number / 1000 : 1;
	unsigned int counts[COLUMNS] = {};
	uint64_t buckets[TIMELINE_BUCKETS_MAX];

	for (size_t i = 0; i < SERIES_MAX && (i == 0 || heat->of[i]); i++) {
		const size_t series = timeline_series_of(heat->of[i]), count = timeline_count(t);

		if (!timeline_knows(t, series))
			continue;
		timeline_get(t, series, buckets);
		for (size_t j = 0; j < count; j++) {
			const double at = (double)(int64_t)(t->start_ns - g->from_ns) +
					  ((double)j + .5) * interval;
			const double place = at / (double)g->span_ns * (double)g->columns;
			/* any number comes from a record: it may not fit a size_t */
			const size_t column = (size_t)fmin(fmax(place, 0),
							   (double)(g->columns - 1));

			if (buckets[j] == TIMELINE_UNKNOWN)
				continue;
			row[column] = isnan(row[column]) ? 0 : row[column];
			row[column] += (double)buckets[j] / interval / (full > 0 ? full : 1);
			counts[column] += i == 0;
		}
	}
	for (size_t i = 0; i < g->columns; i++)
		row[i] /= MAX(counts[i], 1U);
}

/* All cells of one level as one path, neighbours in a row as one piece of it. */
static void put_level(const struct grid *g, double full, int level, struct html *h)
{
	char class[] = "heat0";

	class[4] = (char)('0' + level);
	html_begin_tag(h, "path", { "class", class });
	html_begin_attribute(h, "d");
	for (size_t row = 0; row < g->records->count; row++) {
		const double *cells = g->cells + row * g->columns;
		size_t wide = 0;

		for (size_t i = 0; i <= g->columns; i++) {
			bool is_in = i < g->columns && !isnan(cells[i]) &&
				     (int)fmin(ceil(cells[i] / full * LEVELS - .02), LEVELS) ==
					     level;

			if (!is_in && wide)
				fprintf(h->out, "M%zu %zuh%zuv1h-%zuz", i - wide, row, wide, wide);
			wide = is_in ? wide + 1 : 0;
		}
	}
	html_end_attribute(h);
	html_end(h);
}

static void put_names(const struct grid *g, struct html *h)
{
	for (size_t i = 0; i < g->records->count; i++) {
		html_begin_tag(h, "rect", { "class", "heat-row" });
		html_attribute(h, "y", "%zu", i);
		html_attribute(h, "width", "%zu", g->columns);
		html_attribute(h, "height", "1");
		html_element(h, "title", NULL, "%s", g->records->items[i]->node);
		html_end(h);
	}
}

static void put_heat(const struct grid *g, const struct heat *heat, struct html *h)
{
	const size_t count = g->records->count, cells = count * g->columns;
	double full = 0;

	for (size_t i = 0; i < cells; i++)
		g->cells[i] = NAN;
	for (size_t i = 0; i < count; i++)
		fill_row(g, heat, g->records->items[i], g->cells + i * g->columns);
	for (size_t i = 0; i < cells; i++)
		full = fmax(full, isnan(g->cells[i]) ? 0 : g->cells[i]);
	if (full <= 0)
		return;
	html_begin(h, "figure");
	html_element(h, "h3", NULL, "%s", heat->title);
	html_begin_tag(h, "svg", { "class", "heat" }, { "preserveAspectRatio", "none" },
		       { "role", "img" }, { "shape-rendering", "crispEdges" });
	html_attribute(h, "aria-label", "%s, %zu nodes over time", heat->title, count);
	html_attribute(h, "viewBox", "0 0 %zu %zu", g->columns, count);
	html_attribute(h, "height", "%zu",
		       count * MIN(MAX(PIXELS / count, (size_t)ROW_LEAST), (size_t)ROW_MOST));
	for (int level = 0; level <= LEVELS; level++)
		put_level(g, heat->is_of_cores ? 1 : full, level, h);
	put_names(g, h);
	html_end(h);
	html_element(h, "figcaption", NULL, "%s", heat->note);
	html_end(h);
}

void site_put_heat(const struct records *records, const struct record *merged, struct html *h)
{
	_cleanup_free_ double *cells = malloc((records->count * COLUMNS + 1) * sizeof(*cells));
	struct grid g = { records, record_elapsed_from(merged), merged->time.elapsed_ns, COLUMNS,
			  cells };

	/* no column is narrower than a bucket: else one would stay empty in between */
	for (size_t i = 0; i < records->count; i++)
		g.columns = timeline_is_known(&records->items[i]->timeline)
				    ? MIN(g.columns,
					  MAX(g.span_ns / timeline_interval_ns(
								  &records->items[i]->timeline),
					      UINT64_C(1)))
				    : g.columns;
	if (records->count < 2 || !g.columns || !g.span_ns || !cells)
		return;
	html_begin_tag(h, "section", { "aria-labelledby", "heat" });
	html_begin_tag(h, "h2", { "id", "heat" });
	html_text(h, "Nodes over time");
	html_end(h);
	html_element(h, "p", "note",
		     "A row for each of %zu nodes, from %s at the top to %s; the darker the more, "
		     "and empty where nobody looked.",
		     records->count, records->items[0]->node,
		     records->items[records->count - 1]->node);
	for (size_t i = 0; i < ARRAY_SIZE(heats); i++)
		put_heat(&g, &heats[i], h);
	html_end(h);
}
