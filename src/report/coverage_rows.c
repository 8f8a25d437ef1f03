/* SPDX-License-Identifier: MIT */
#include "analysis/analysis.h"
#include "basic/humanize.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "model/rows.h"

#define LISTED_SHORT 8 /* of strings, in Markdown */
#define LISTED_MAX 32 /* of anything, on a page */

/* A line each, below one label; a terminal has them otherwise. */
static void add_strings(const char *label, const struct strings *strings, bool is_short,
			struct rows *rows)
{
	for (size_t i = 0; i < MIN(strings->count, (size_t)LISTED_MAX); i++) {
		rows_begin(rows, is_short && i < LISTED_SHORT ? ROWS_LONG : ROWS_HTML,
			   i ? NULL : label);
		rows_say_whole(rows, strings->items[i]);
	}
	if (is_short && strings->count > LISTED_SHORT)
		rows_line(rows, ROWS_MARKDOWN, NULL, "and %zu more", strings->count - LISTED_SHORT);
	if (strings->count > LISTED_MAX)
		rows_line(rows, ROWS_HTML, NULL, "and %zu more", strings->count - LISTED_MAX);
}

static void add_missing(const struct record *r, struct rows *rows)
{
	const struct strings *missing = &r->coverage.missing;
	const char *lost = NULL;

	if (r->coverage.lost_events)
		lost = rows_format(rows, "%s event%s lost",
				   humanize_count(r->coverage.lost_events).text,
				   r->coverage.lost_events == 1 ? "" : "s");
	rows_begin(rows, ROWS_TEXT, "missing");
	for (size_t i = 0; i < missing->count; i++)
		rows_say_whole(rows, missing->items[i]);
	if (lost)
		rows_say_whole(rows, lost);
	add_strings("missing", missing, true, rows);
	if (lost)
		rows_alert(rows, ROWS_LONG, missing->count ? NULL : "missing", "%s", lost);
}

void coverage_rows(const struct record *r, const struct analysis *a, struct rows *rows)
{
	const struct strings *notes = &r->coverage.notes;
	const struct insights *insights = &a->insights;

	rows_part(rows, "What was not measured");
	if (!r->coverage.missing.count && !r->coverage.notes.count && !r->coverage.lost_events)
		rows_line(rows, ROWS_HTML, NULL, "nothing is missing");
	for (size_t i = 0; i < notes->count; i++) {
		rows_begin(rows, ROWS_TEXT, "note");
		rows_say_whole(rows, notes->items[i]);
	}
	add_strings("note", notes, false, rows);
	add_missing(r, rows);
	rows_begin(rows, ROWS_HTML, "efficiency");
	for (size_t i = 0; i < a->efficiency.missing_count; i++)
		rows_say(rows, ", ", "%s%s", i ? "" : "without ", a->efficiency.missing[i]);
	for (size_t i = 0; i < MIN(insights->unknown_count, (size_t)LISTED_MAX); i++)
		rows_line(rows, ROWS_HTML, i ? NULL : "not judged", "%s: %s not known",
			  insights->unknown[i].rule->id, insights->unknown[i].names);
	if (insights->unknown_count > LISTED_MAX)
		rows_line(rows, ROWS_HTML, NULL, "and %zu more",
			  insights->unknown_count - LISTED_MAX);
}
