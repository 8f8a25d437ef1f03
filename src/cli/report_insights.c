/* SPDX-License-Identifier: MIT */
#include "report_insights.h"

#include <stdio.h>

#include "analysis.h"
#include "billing.h"
#include "cleanup.h"
#include "hue.h"
#include "page.h"
#include "sentence.h"

#define LOST_SHARE_MIN 0.005 /* of the core time: less is not worth a word */

static void describe(const struct insight *insight, struct sentence *s)
{
	sentence_add(s, "", "%s", insight->text);
	if (insight->advice)
		sentence_add(s, " ", "%s", insight->advice);
	if (insight->directive)
		sentence_add(s, " ", "(%s)", insight->directive);
}

void report_insights(const struct analysis *analysis, struct page *page)
{
	const struct insights *insights = &analysis->insights;

	for (size_t i = 0; i < insights->count; i++) {
		_cleanup_(sentence_freep) struct sentence s = {};

		describe(&insights->items[i], &s);
		page_paragraph(page, severity_name(insights->items[i].rule->severity),
			       s.text ? s.text : "");
	}
}

void report_sentences(const struct analysis *analysis, struct page *page)
{
	const struct insight *first[INSIGHTS_FIRST];
	size_t count = insights_first(&analysis->insights, first);

	for (size_t i = 0; i < count; i++) {
		_cleanup_(sentence_freep) struct sentence s = {};
		char mark[24];

		snprintf(mark, sizeof(mark), "%zu.", i + 1);
		describe(first[i], &s);
		page_item(page, mark, s.text ? s.text : "");
	}
}

void report_classes(const struct analysis *analysis, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	for (size_t i = 0; i < analysis->classes.count; i++) {
		const struct class *class = &analysis->classes.items[i];

		sentence_add(&s, ", ", "%s %s", class->rule->id,
			     amount_format(class->share, DIMENSION_SHARE).text);
	}
	if (s.text)
		page_paragraph(page, "class", s.text);
}

char *report_score(const struct analysis *analysis)
{
	const struct efficiency *e = &analysis->efficiency;
	char *text;

	if (!e->score.is_known ||
	    asprintf(&text, "score %.0f%s", e->score.number, efficiency_basis(e)) < 0)
		return NULL;
	return text;
}

void report_billing(const struct analysis *analysis, struct page *page)
{
	const struct efficiency *e = &analysis->efficiency;
	_cleanup_(sentence_freep) struct sentence s = {};

	if (!e->billing)
		return;
	sentence_add(&s, "", "%s", e->billing->text);
	for (size_t i = 0; i < RESOURCE_COUNT; i++) {
		if (e->parts[i].is_known)
			sentence_add(&s, i ? ", " : ": ", "%s %s", resource_name(i),
				     amount_format(e->parts[i], DIMENSION_SHARE).text);
	}
	for (size_t i = 0; i < e->billing->left_out_count; i++)
		sentence_add(&s, i ? ", " : "; not measured: ", "%s", e->billing->left_out[i]);
	page_paragraph(page, "bill", s.text ? s.text : "");
}

static void tell_hours(const char *what, double seconds, const struct core_time *t,
		       struct sentence *s)
{
	if (seconds >= LOST_SHARE_MIN * t->core)
		sentence_add(s, ", ", "%s %s (%s)", what,
			     amount_format(amount_of(seconds), DIMENSION_SECONDS).text,
			     amount_format(amount_of(seconds / t->core), DIMENSION_SHARE).text);
}

void report_lost(const struct analysis *analysis, struct page *page)
{
	const struct core_time *t = &analysis->efficiency.core_time;
	_cleanup_(sentence_freep) struct sentence s = {};

	if (!t->has_causes || t->core <= 0)
		return;
	tell_hours(hue_on_cpu.label, t->on_cpu, t, &s);
	for (size_t cause = 0; cause < LOST_COUNT; cause++)
		tell_hours(hue_of_cause(cause)->label, t->lost[cause], t, &s);
	tell_hours(hue_idle.label, t->idle, t, &s);
	if (s.text)
		page_paragraph(page, "core time", s.text);
}

void report_patterns(const struct analysis *analysis, struct page *page)
{
	const struct patterns *patterns = analysis->patterns;

	for (size_t i = 0; i < patterns->count; i++) {
		const struct pattern *pattern = &patterns->items[i];
		_cleanup_free_ char *text = pattern_text(patterns, pattern);

		page_paragraph(page, pattern_id(pattern->kind), text ? text : "");
	}
}

void report_unknown(const struct analysis *analysis, struct page *page)
{
	const struct insights *insights = &analysis->insights;
	_cleanup_(sentence_freep) struct sentence s = {};

	for (size_t i = 0; i < insights->unknown_count; i++)
		sentence_add(&s, "; ", "%s (%s)", insights->unknown[i].rule->id,
			     insights->unknown[i].names);
	if (s.text)
		page_paragraph(page, "not known", s.text);
}
