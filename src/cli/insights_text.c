/* SPDX-License-Identifier: MIT */
#include "insights_text.h"

#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "billing.h"
#include "cleanup.h"
#include "headline.h"
#include "hue.h"
#include "macro.h"
#include "markdown.h"
#include "page.h"
#include "record.h"
#include "rows_markdown.h"
#include "rows_text.h"
#include "sentence.h"

#define NAME_WIDTH 42
#define LOST_SHARE_MIN 0.005 /* of the core time: less is not worth a word */

static void tell_insights(const struct analysis *analysis, struct page *page)
{
	const struct insights *insights = &analysis->insights;

	for (size_t i = 0; i < insights->count; i++) {
		_cleanup_free_ char *text = insight_text(&insights->items[i]);

		page_paragraph(page, severity_name(insights->items[i].rule->severity), text ? text : "");
	}
}

static void tell_classes(const struct analysis *analysis, struct page *page)
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

static char *score_of(const struct analysis *analysis)
{
	const struct efficiency *e = &analysis->efficiency;
	char *text;

	if (!e->score.is_known ||
	    asprintf(&text, "score %.0f%s", e->score.number, efficiency_basis(e)) < 0)
		return NULL;
	return text;
}

static void tell_billing(const struct analysis *analysis, struct page *page)
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

static void tell_lost(const struct analysis *analysis, struct page *page)
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

static void tell_patterns(const struct analysis *analysis, struct page *page)
{
	const struct patterns *patterns = analysis->patterns;

	for (size_t i = 0; i < patterns->count; i++) {
		const struct pattern *pattern = &patterns->items[i];
		_cleanup_free_ char *text = pattern_text(patterns, pattern);

		page_paragraph(page, pattern_id(pattern->kind), text ? text : "");
	}
}

static void tell_unknown(const struct analysis *analysis, struct page *page)
{
	const struct insights *insights = &analysis->insights;
	_cleanup_(sentence_freep) struct sentence s = {};

	for (size_t i = 0; i < insights->unknown_count; i++)
		sentence_add(&s, "; ", "%s (%s)", insights->unknown[i].rule->id,
			     insights->unknown[i].names);
	if (s.text)
		page_paragraph(page, "not known", s.text);
}

static void tell_head(const struct record *record, const struct analysis *analysis,
		      struct page *page)
{
	_cleanup_free_ char *score = score_of(analysis);

	page_put(page, PAGE_BOLD, "%s", headline_name(record));
	page_pad(page, 0, 2);
	page_put(page, PAGE_PLAIN, "%s", humanize_duration(record->time.elapsed_ns).text);
	page_pad(page, 0, 2);
	page_put(page, PAGE_PLAIN, "%s", score ? score : "score -");
	page_end_line(page);
}

void insights_text(const struct record *record, const struct analysis *analysis, struct page *page)
{
	tell_head(record, analysis, page);
	tell_billing(analysis, page);
	tell_classes(analysis, page);
	tell_lost(analysis, page);
	if (analysis->insights.count)
		tell_insights(analysis, page);
	else
		page_paragraph(page, NULL, "No rule speaks.");
	tell_patterns(analysis, page);
	tell_unknown(analysis, page);
}

/* ---- Markdown ---- */

static void put_classes(const struct classes *classes, FILE *out)
{
	for (size_t i = 0; i < classes->count; i++)
		fprintf(out, "%s%s %s", i ? ", " : "\nClass: ", classes->items[i].rule->id,
			amount_format(classes->items[i].share, DIMENSION_SHARE).text);
	fputs(classes->count ? "\n" : "", out);
}

static void put_patterns(const struct patterns *patterns, FILE *out)
{
	fputs(patterns->count ? "\nOver time:\n\n" : "", out);
	for (size_t i = 0; i < patterns->count; i++) {
		_cleanup_free_ char *text = pattern_text(patterns, &patterns->items[i]);

		fprintf(out, "- **%s**: ", pattern_id(patterns->items[i].kind));
		markdown_put(text ? text : "", out);
		fputc('\n', out);
	}
}

void insights_markdown(const struct record *record, const struct analysis *analysis, FILE *out)
{
	const struct insights *insights = &analysis->insights;
	_cleanup_free_ char *score = score_of(analysis);

	fputs("## ", out);
	markdown_put(headline_name(record), out);
	fprintf(out, "\n\n%s, %s\n", humanize_duration(record->time.elapsed_ns).text,
		score ? score : "score -");
	put_classes(&analysis->classes, out);
	fputs(insights->count ? "\n" : "\nNo rule speaks.\n", out);
	for (size_t i = 0; i < insights->count; i++) {
		fprintf(out, "- **%s**: ", severity_name(insights->items[i].rule->severity));
		markdown_insight(&insights->items[i], out);
	}
	put_patterns(analysis->patterns, out);
}

/* ---- rules ---- */

static void list_thresholds(const struct rule *rule, struct page *page)
{
	for (size_t i = 0; i < rule->threshold_count; i++) {
		const struct constant *c = &rule->thresholds[i];

		page_label(page, i ? NULL : "thresholds");
		page_put(page, PAGE_PLAIN, "%s = %s", c->name,
			 amount_format_exact(c->amount, c->dimension).text);
		page_end_line(page);
	}
}

static void list_places(const struct rule *rule, struct page *page)
{
	for (size_t i = 0; i < rule->place_count; i++) {
		page_label(page, i ? "changed in" : "made in");
		page_put(page, PAGE_PLAIN, "%s:%u", rule->places[i].file, rule->places[i].line);
		page_end_line(page);
	}
}

static void list_rule(const struct rule *rule, const char *kind, struct page *page)
{
	page_put(page, PAGE_BOLD, "%s", rule->id);
	page_pad(page, 0, 2);
	page_put(page, PAGE_DIM, "%s%s%s", kind,
		 !rule->is_each_mount ? "" : rule->is_by_path ? ", each mount by path" : ", each mount",
		 rule->is_disabled ? ", not asked" : "");
	page_end_line(page);
	if (rule->condition)
		page_paragraph(page, "when", rule->condition);
	list_thresholds(rule, page);
	page_paragraph(page, "source", rule->source);
	list_places(rule, page);
	page_end_line(page);
}

static void list_rules(const struct rule_list *list, const char *kind, struct page *page)
{
	for (size_t i = 0; i < list->count; i++)
		list_rule(&list->items[i], kind ? kind : severity_name(list->items[i].severity),
			  page);
}

void insights_list(const struct rules *rules, struct page *page)
{
	list_rules(&rules->insights, NULL, page);
	list_rules(&rules->classes, "class", page);
	list_rules(&rules->patterns, "pattern", page);
}

/* ---- a file of rules ---- */

struct tally {
	size_t made, changed, disabled;
};

static struct tally tally_of(const struct rule_list *list, const char *file)
{
	struct tally tally = {};

	for (size_t i = 0; i < list->count; i++) {
		const struct rule *rule = &list->items[i];

		if (strcmp(rule->places[rule->place_count - 1].file, file) != 0)
			continue;
		tally.made += rule->place_count == 1;
		tally.changed += rule->place_count > 1 && !rule->is_disabled;
		tally.disabled += rule->is_disabled;
	}
	return tally;
}

void insights_count(const struct rules *rules, const char *file)
{
	const struct {
		const char *name;
		const struct rule_list *list;
	} lists[] = {
		{ "rules", &rules->insights },
		{ "classes", &rules->classes },
		{ "patterns", &rules->patterns },
	};

	printf("%s: all well\n", file);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct tally tally = tally_of(lists[i].list, file);

		if (tally.made || tally.changed || tally.disabled)
			printf("%s: %zu new, %zu changed, %zu not asked\n", lists[i].name,
			       tally.made, tally.changed, tally.disabled);
	}
	if (rules->billings.count)
		printf("billing: %zu partitions\n", rules->billings.count);
	if (rules->variables->count > rules->variables->own_begin)
		printf("variables: %zu\n", rules->variables->count - rules->variables->own_begin);
}

void insights_list_names(const struct variables *variables, struct page *page)
{
	for (size_t i = 0; i < variables->count; i++) {
		const struct variable *v = &variables->items[i];

		page_put(page, PAGE_PLAIN, "%s", v->name);
		page_pad(page, NAME_WIDTH, 2);
		page_put(page, PAGE_DIM, "%s", dimension_name(v->dimension).text);
		page_pad(page, NAME_WIDTH + 20, 2);
		page_put(page, PAGE_PLAIN, "%s", v->help);
		page_end_line(page);
	}
}
