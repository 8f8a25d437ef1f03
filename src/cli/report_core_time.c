/* SPDX-License-Identifier: MIT */
#include "report_core_time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core_time.h"
#include "hue.h"
#include "humanize.h"
#include "page.h"
#include "record.h"
#include "utf8.h"

#define NAME_COLUMNS 7 /* "on CPU " */
#define BAR_COLUMNS 38 /* of the whole */
#define PARTS_MAX (LOST_COUNT + 2)
#define SHARE_MIN 0.01
#define GAP 3

struct part {
	const char *name;
	double share; /* of the core time */
};

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->share < y->share) - (x->share > y->share);
}

/* What was lost, the most first, then what is too little to be named, then idle. */
static size_t list_parts(const struct core_time *t, struct part ret[PARTS_MAX])
{
	double little = 0;
	size_t count = 0;

	for (size_t c = 0; c < LOST_COUNT; c++) {
		double share = t->lost[c] / t->core;

		if (share >= SHARE_MIN)
			ret[count++] = (struct part){ hue_of_cause(c)->word, share };
		else
			little += share;
	}
	qsort(ret, count, sizeof(*ret), compare_parts);
	if (little >= SHARE_MIN)
		ret[count++] = (struct part){ "other waits", little };
	if (t->idle / t->core >= SHARE_MIN)
		ret[count++] = (struct part){ hue_idle.word, t->idle / t->core };
	return count;
}

/* As wide as it will be. */
static size_t width_of(const struct part *p, size_t name_columns)
{
	size_t bar = (size_t)(p->share * BAR_COLUMNS + 1);

	return (utf8_columns(p->name) > name_columns ? utf8_columns(p->name) : name_columns) + bar +
	       6;
}

static void tell_part(const struct part *p, struct page *page)
{
	size_t begin = page->column;

	page_put(page, PAGE_PLAIN, "%s", p->name);
	page_pad(page, begin == PAGE_INDENT ? PAGE_INDENT + NAME_COLUMNS : 0, 1);
	page_block(page, fmin(p->share, 1) * BAR_COLUMNS); /* more than all is told, and not drawn over the line */
	page_pad(page, 0, 1);
	page_put(page, PAGE_PLAIN, "%s", humanize_percent(p->share).text);
}

/* "4 cores x 2 m 14 s = 8 m 56 s", where there is room. */
static void tell_whole(const struct record *r, const struct core_time *t, struct page *page)
{
	const struct value *cores = &r->reading.values[METRIC_CPU_ALLOCATED];
	char text[128];
	size_t columns;

	snprintf(text, sizeof(text), "%s core%s x %s = %s", humanize_cores(cores->number).text,
		 cores->number == 1000 ? "" : "s", humanize_duration(r->time.elapsed_ns).text,
		 humanize_duration((uint64_t)(t->core * 1e9)).text);
	columns = utf8_columns(text);
	if (page->column + GAP + columns > page->width)
		return;
	page_pad(page, page->width - columns, GAP);
	page_put(page, PAGE_DIM, "%s", text);
}

bool report_core_time(const struct record *r, struct page *page)
{
	const struct core_time t = core_time_of(r);
	const struct part on_cpu = { hue_on_cpu.word, t.is_known && t.core > 0 ? t.on_cpu / t.core : 0 };
	struct part parts[PARTS_MAX];
	size_t count;

	if (!t.is_known || !t.has_causes || t.core <= 0)
		return false;
	page_label(page, "core time");
	tell_part(&on_cpu, page);
	tell_whole(r, &t, page);
	count = list_parts(&t, parts);
	for (size_t i = 0; i < count; i++) {
		bool has_room = i && page->column + GAP + width_of(&parts[i], 0) <= page->width;

		if (has_room) {
			page_pad(page, 0, GAP);
		} else {
			page_end_line(page);
			page_label(page, NULL);
		}
		tell_part(&parts[i], page);
	}
	page_end_line(page);
	return true;
}
