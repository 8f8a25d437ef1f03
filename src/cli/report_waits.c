/* SPDX-License-Identifier: MIT */
#include "report_waits.h"

#include <stdlib.h>

#include "cause.h"
#include "cleanup.h"
#include "hue.h"
#include "humanize.h"
#include "record.h"
#include "sentence.h"

#define SHOWN_MAX 5
#define SHARE_MIN 100 /* of all blocked time, a part of this */
#define NS_MIN 1000000

struct wait {
	enum cause cause;
	uint64_t ns;
};

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (int)x->cause - (int)y->cause;
}

static void list_waits(const struct record *r, struct wait ret[CAUSE_COUNT])
{
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		ret[i] = (struct wait){ (enum cause)i, r->reading.values[cause_metric((enum cause)i)].number };
	qsort(ret, CAUSE_COUNT, sizeof(*ret), compare_waits);
}

void report_waits(const struct record *r, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence s = {};
	struct wait waits[CAUSE_COUNT];
	uint64_t all_ns = 0, left_ns;

	if (!record_blocked_time(r, &all_ns) || all_ns < NS_MIN)
		return;
	left_ns = all_ns;
	list_waits(r, waits);
	for (size_t i = 0; i < SHOWN_MAX && waits[i].ns >= all_ns / SHARE_MIN && waits[i].ns; i++) {
		sentence_add(&s, ", ", "%s %s", humanize_duration(waits[i].ns).text, hue_of_cause(waits[i].cause)->waited);
		left_ns -= waits[i].ns;
	}
	if (left_ns >= NS_MIN)
		sentence_add(&s, ", ", "%s for something else", humanize_duration(left_ns).text);
	page_paragraph(page, "waited", s.text ? s.text : "");
}
