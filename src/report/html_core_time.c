/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "analysis.h"
#include "formula.h"
#include "html_parts.h"
#include "html_table.h"
#include "hue.h"
#include "record.h"

#define PARTS_MAX (LOST_COUNT + 2)
#define NAMED_MIN 0.1	 /* a narrower part of the bar has no room for its number */
#define SHARE_MIN 0.0005 /* less is not told */
#define HEIGHT 36

static const struct hue unused = { .label = "not used; why is not known", .colour = 7 };

struct part {
	const struct hue *hue;
	double seconds;
};

struct parts {
	struct part items[PARTS_MAX];
	size_t count;
	double core; /* the whole */
};

static void add(struct parts *parts, const struct hue *hue, double seconds)
{
	if (seconds > SHARE_MIN * parts->core)
		parts->items[parts->count++] = (struct part){ hue, seconds };
}

static struct parts parts_of(const struct core_time *t)
{
	/* more CPU time than its cores could give is told as it is, and drawn as the whole */
	struct parts parts = { .core = fmax(t->core, t->on_cpu) };

	add(&parts, &hue_on_cpu, t->on_cpu);
	for (size_t c = 0; t->has_causes && c < LOST_COUNT; c++)
		add(&parts, hue_of_cause(c), t->lost[c]);
	add(&parts, t->has_causes ? &hue_idle : &unused, t->has_causes ? t->idle : t->unused);
	return parts;
}

static struct human share_of(const struct parts *parts, const struct part *part)
{
	return humanize_percent(part->seconds / parts->core);
}

/* ---- the bar ---- */

static void put_words(const struct parts *parts, struct html *h)
{
	html_begin(h, "title");
	html_attribute(h, "id", "core-title");
	html_text(h, "Where the core time went");
	html_end(h);
	html_begin(h, "desc");
	html_attribute(h, "id", "core-words");
	for (size_t i = 0; i < parts->count; i++)
		html_text(h, "%s%s %s", i ? ", " : "", parts->items[i].hue->label,
			  share_of(parts, &parts->items[i]).text);
	html_end(h);
}

static void put_part(const struct parts *parts, const struct part *part, double before,
		     struct html *h)
{
	double share = part->seconds / parts->core;

	html_begin(h, "rect");
	hue_put_fill(part->hue, h);
	html_attribute(h, "x", "%.3f%%", 100 * before / parts->core);
	html_attribute(h, "width", "%.3f%%", 100 * share);
	html_attribute(h, "height", "%d", HEIGHT);
	html_end(h);
	if (share < NAMED_MIN)
		return;
	html_begin(h, "text");
	html_attribute(h, "x", "%.3f%%", 100 * (before + part->seconds / 2) / parts->core);
	html_attribute(h, "y", "%d", HEIGHT / 2 + 5);
	html_attribute(h, "text-anchor", "middle");
	html_text(h, "%s", share_of(parts, part).text);
	html_end(h);
}

static void put_bar(const struct parts *parts, struct html *h)
{
	double before = 0;

	html_begin_class(h, "svg", "bar");
	html_attribute(h, "role", "img");
	html_attribute(h, "height", "%d", HEIGHT);
	html_attribute(h, "aria-labelledby", "core-title core-words");
	put_words(parts, h);
	for (size_t i = 0; i < parts->count; i++) {
		put_part(parts, &parts->items[i], before, h);
		before += parts->items[i].seconds;
	}
	html_end(h);
}

static void put_legend(const struct parts *parts, struct html *h)
{
	html_begin_class(h, "ul", "legend");
	for (size_t i = 0; i < parts->count; i++) {
		html_begin(h, "li");
		hue_put_swatch(parts->items[i].hue, h);
		html_text(h, "%s ", parts->items[i].hue->label);
		html_element(h, "b", NULL, "%s", share_of(parts, &parts->items[i]).text);
		html_text(
			h, " (%s)",
			amount_format(amount_of(parts->items[i].seconds), DIMENSION_SECONDS).text);
		html_end(h);
	}
	html_end(h);
}

/* ---- the score ---- */

static void put_chain(const struct efficiency *e, struct html *h)
{
	/* clang-format off */
	static const char *const words[CHAIN_COUNT] = {
		[CHAIN_TOUCHED]     = "cores touched",
		[CHAIN_BALANCE]     = "balance between them",
		[CHAIN_NOT_BLOCKED] = "not blocked",
		[CHAIN_NOT_WAITING] = "not waiting for a CPU",
		[CHAIN_OTHER]       = "the rest",
	};
	/* clang-format on */
	size_t known = 0;

	for (size_t i = 0; i < CHAIN_COUNT; i++)
		known += e->chain[i].is_known;
	if (!known || !e->uses[RESOURCE_CORES].share.is_known)
		return;
	html_begin_class(h, "p", "chain");
	html_element(h, "span", NULL, "%s of the cores were used =",
		     amount_format(e->uses[RESOURCE_CORES].share, DIMENSION_SHARE).text);
	for (size_t i = 0; i < CHAIN_COUNT; i++)
		html_element(h, "span", NULL, "%s%s %s", i ? "× " : "", words[i],
			     amount_format(e->chain[i], DIMENSION_SHARE).text);
	html_end(h);
}

/* ---- what threads waited for ---- */

struct wait {
	size_t cause;
	double seconds;
};

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->seconds != y->seconds)
		return x->seconds > y->seconds ? -1 : 1;
	return x->cause < y->cause ? -1 : 1;
}

static size_t take_waits(const struct record *r, struct wait ret[LOST_COUNT])
{
	size_t count = 0;

	for (size_t c = 0; c < LOST_COUNT; c++) {
		enum metric_id id = lost_metric(c);
		const struct value *value = &r->reading.values[id];

		if (value->is_known && value->number > 0)
			ret[count++] =
				(struct wait){ c, amount_of_metric(id, value->number).number };
	}
	if (count > 1)
		qsort(ret, count, sizeof(*ret), compare_waits);
	return count;
}

static void put_wait(const struct wait *wait, struct amount all, const struct core_time *t,
		     struct html *h)
{
	struct amount seconds = amount_of(wait->seconds), share = {};

	if (all.is_known && all.number > 0)
		share = amount_of(wait->seconds / all.number);
	html_table_begin_row(h, "%s", hue_of_cause(wait->cause)->label);
	html_table_end_name(h);
	html_table_cell(h, "%s", amount_format(seconds, DIMENSION_SECONDS).text);
	html_table_cell(h, "%s", amount_format(share, DIMENSION_SHARE).text);
	if (!lost_can_be(wait->cause))
		html_table_cell(h, "none");
	else
		html_table_cell(h, "%s",
				t->has_causes ? amount_format(amount_of(t->lost[wait->cause]),
							      DIMENSION_SECONDS)
							.text
					      : "-");
	html_table_end_row(h);
}

static void put_waits(const struct record *r, const struct core_time *t, struct html *h)
{
	static const struct html_column columns[] = {
		{ "threads waited for" },
		{ "time" },
		{ "of all threads' time" },
		{ "core time lost" },
	};
	struct wait waits[LOST_COUNT];
	size_t count = take_waits(r, waits);

	if (!count)
		return;
	html_table_begin(h, "What threads waited for", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < count; i++)
		put_wait(&waits[i], thread_time(r), t, h);
	html_table_end(h);
}

void html_put_core_time(const struct record *r, const struct analysis *analysis, struct html *h)
{
	const struct core_time *t = &analysis->efficiency.core_time;
	const struct value *cores = &r->reading.values[METRIC_CPU_ALLOCATED];
	struct parts parts;

	html_begin(h, "section");
	html_element(h, "h2", NULL, "Core time");
	if (t->is_known && t->core > 0) {
		parts = parts_of(t);
		html_element(h, "p", "sum", "%s cores × %s = %s",
			     humanize_cores(cores->number).text,
			     humanize_duration(r->time.elapsed_ns).text,
			     amount_format(amount_of(t->core), DIMENSION_SECONDS).text);
		put_bar(&parts, h);
		put_legend(&parts, h);
		put_chain(&analysis->efficiency, h);
	} else {
		html_element(h, "p", NULL,
			     "Not known: neither are the cores that it was given, nor their time.");
	}
	put_waits(r, t, h);
	html_end(h);
}
