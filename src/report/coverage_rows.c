/* SPDX-License-Identifier: MIT */
#include "analysis.h"
#include "cleanup.h"
#include "humanize.h"
#include "record.h"
#include "record_rows.h"
#include "rows.h"
#include "sentence.h"

#define SURVIVORS_SHOWN 8 /* in short */

static void add_survivors(const struct record *r, struct rows *rows)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	for (size_t i = 0; i < MIN(r->survivor_count, (size_t)SURVIVORS_SHOWN); i++)
		sentence_add(&s, ", ", "%d %s", r->survivors[i].pid, r->survivors[i].command ? r->survivors[i].command : "-");
	if (r->survivor_count > SURVIVORS_SHOWN)
		sentence_add(&s, " ", "and %zu more", r->survivor_count - SURVIVORS_SHOWN);
	if (s.text)
		rows_line(rows, ROWS_TEXT, "left alone", "%s", s.text);
}

static void add_notes(const struct strings *notes, struct rows *rows)
{
	for (size_t i = 0; i < notes->count; i++) {
		_cleanup_(sentence_freep) struct sentence s = {};

		sentence_add_whole(&s, notes->items[i]);
		if (s.text)
			rows_line(rows, ROWS_TEXT, "note", "%s", s.text);
	}
}

static void add_missing(const struct record *r, struct rows *rows)
{
	const uint64_t lost = r->coverage.lost_events;
	_cleanup_(sentence_freep) struct sentence s = {};

	for (size_t i = 0; i < r->coverage.missing.count; i++)
		sentence_add_whole(&s, r->coverage.missing.items[i]);
	if (lost)
		sentence_add(&s, " ", "%s event%s could not be kept.", humanize_count(lost).text, lost == 1 ? "" : "s");
	if (s.text)
		rows_line(rows, ROWS_TEXT, "not seen", "%s", s.text);
	if (lost)
		rows_alert(rows, ROWS_LONG, NULL, "%s event%s could not be kept", humanize_count(lost).text,
			   lost == 1 ? "" : "s");
}

static void add_list(const char *heading, unsigned int forms, const struct strings *strings, struct rows *rows)
{
	if (strings->count)
		rows_list(rows, forms, heading);
	for (size_t i = 0; i < strings->count; i++)
		rows_list_add(rows, "%s", strings->items[i]);
}

static void add_judgement(const struct analysis *a, struct rows *rows)
{
	const struct insights *insights = &a->insights;
	_cleanup_(sentence_freep) struct sentence lacks = {};

	for (size_t i = 0; i < a->efficiency.missing_count; i++)
		sentence_add(&lacks, ", ", "%s", a->efficiency.missing[i]);
	if (!lacks.text && !insights->unknown_count)
		return;
	rows_list(rows, ROWS_HTML, "what could not be judged");
	if (lacks.text)
		rows_list_add(rows, "the efficiency is told without %s", lacks.text);
	for (size_t i = 0; i < insights->unknown_count; i++)
		rows_list_add(rows, "for want of %s: %s", insights->unknown[i].names, insights->unknown[i].rule->id);
}

/* What a page has a list of. */
static void add_lists(const struct record *r, struct rows *rows)
{
	const char *books = books_text(r, rows);

	add_list("not seen", ROWS_LONG, &r->coverage.missing, rows);
	add_list("what weakens a number", ROWS_HTML, &r->coverage.notes, rows);
	if (books) {
		rows_list(rows, ROWS_HTML, "the books");
		rows_list_add(rows, "%s", books);
	}
	if (r->survivor_count)
		rows_list(rows, ROWS_HTML, "left alone");
	for (size_t i = 0; i < r->survivor_count; i++)
		rows_list_add(rows, "%d %s", r->survivors[i].pid, r->survivors[i].command ? r->survivors[i].command : "-");
}

void coverage_rows(const struct record *r, const struct analysis *a, struct rows *rows)
{
	rows_part(rows, "What was not seen");
	if (!r->coverage.missing.count && !r->coverage.notes.count && !r->coverage.lost_events)
		rows_line(rows, ROWS_HTML, NULL, "nothing is known to be missing");
	add_survivors(r, rows);
	add_notes(&r->coverage.notes, rows);
	add_missing(r, rows);
	add_lists(r, rows);
	add_judgement(a, rows);
}
