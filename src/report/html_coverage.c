/* SPDX-License-Identifier: MIT */
#include "analysis.h"
#include "cleanup.h"
#include "html_parts.h"
#include "humanize.h"
#include "macro.h"
#include "record.h"
#include "sentence.h"

#define SHOWN_MAX 32

static void put_more(size_t count, struct html *h)
{
	if (count > SHOWN_MAX)
		html_element(h, "li", NULL, "And %zu more.", count - SHOWN_MAX);
}

static void put_strings(const char *title, const struct strings *strings, struct html *h)
{
	if (!strings->count)
		return;
	html_element(h, "h3", NULL, "%s", title);
	html_begin(h, "ul");
	for (size_t i = 0; i < MIN(strings->count, (size_t)SHOWN_MAX); i++) {
		_cleanup_(sentence_freep) struct sentence s = {};

		sentence_add_whole(&s, strings->items[i]);
		html_element(h, "li", NULL, "%s", s.text ? s.text : "");
	}
	put_more(strings->count, h);
	html_end(h);
}

static void put_book(const struct books *books, const char *verb, struct html *h)
{
	int64_t difference = books_difference(books);

	html_begin(h, "li");
	if (difference == 0)
		html_text(h,
			  "Every byte %s that the tasks' own counters tell of is in a row above.",
			  verb);
	else if (difference > 0)
		html_text(h, "%s of the %s %s are in no row.",
			  humanize_bytes((uint64_t)difference).text,
			  humanize_bytes(books->tasks_bytes).text, verb);
	else
		html_text(h, "The rows hold %s more %s than the tasks' own counters.",
			  humanize_bytes(-(uint64_t)difference).text, verb);
	html_end(h);
}

static void put_books(const struct record *r, struct html *h)
{
	if (!r->coverage.read_books.is_known || !r->coverage.write_books.is_known)
		return;
	html_element(h, "h3", NULL, "The books");
	html_begin(h, "ul");
	put_book(&r->coverage.read_books, "read", h);
	put_book(&r->coverage.write_books, "written", h);
	html_end(h);
}

static void put_survivors(const struct record *r, struct html *h)
{
	if (!r->survivor_count)
		return;
	html_element(h, "h3", NULL, "Left alone");
	html_begin(h, "ul");
	for (size_t i = 0; i < MIN(r->survivor_count, (size_t)SHOWN_MAX); i++)
		html_element(h, "li", NULL, "%d %s", r->survivors[i].pid,
			     r->survivors[i].command ? r->survivors[i].command : "-");
	put_more(r->survivor_count, h);
	html_end(h);
}

static void put_score_lacks(const struct efficiency *e, struct html *h)
{
	if (!e->missing_count)
		return;
	html_begin(h, "li");
	html_text(h, "The efficiency is told without ");
	for (size_t i = 0; i < e->missing_count; i++)
		html_text(h, "%s%s", i ? ", " : "", e->missing[i]);
	html_text(h, ".");
	html_end(h);
}

static void put_unknown(const struct analysis *analysis, struct html *h)
{
	const struct insights *insights = &analysis->insights;

	if (!insights->unknown_count && !analysis->efficiency.missing_count)
		return;
	html_element(h, "h3", NULL, "What could not be judged");
	html_begin(h, "ul");
	put_score_lacks(&analysis->efficiency, h);
	for (size_t i = 0; i < MIN(insights->unknown_count, (size_t)SHOWN_MAX); i++) {
		html_begin(h, "li");
		html_element(h, "code", NULL, "%s", insights->unknown[i].rule->id);
		html_text(h, " for want of %s", insights->unknown[i].names);
		html_end(h);
	}
	put_more(insights->unknown_count, h);
	html_end(h);
}

void html_put_coverage(const struct record *r, const struct analysis *analysis, struct html *h)
{
	html_begin(h, "section");
	html_element(h, "h2", NULL, "What was not seen");
	if (!r->coverage.missing.count && !r->coverage.notes.count && !r->coverage.lost_events)
		html_element(h, "p", NULL, "Nothing is known to be missing.");
	if (r->coverage.lost_events)
		html_element(h, "p", "alert", "%s event%s could not be kept.",
			     humanize_count(r->coverage.lost_events).text,
			     r->coverage.lost_events == 1 ? "" : "s");
	put_strings("Not measured", &r->coverage.missing, h);
	put_strings("What weakens a number", &r->coverage.notes, h);
	put_books(r, h);
	put_survivors(r, h);
	put_unknown(analysis, h);
	html_end(h);
}
