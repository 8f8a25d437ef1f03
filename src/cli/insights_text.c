/* SPDX-License-Identifier: MIT */
#include "cli/insights_text.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/billing.h"
#include "basic/cleanup.h"
#include "report/headline.h"
#include "report/shade.h"
#include "basic/macro.h"
#include "report/page.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "model/rows.h"
#include "report/rows_markdown.h"
#include "report/rows_text.h"

#define NAME_WIDTH 42
#define LOST_SHARE_MIN 0.005 /* of the core time: less is not worth a word */

static void add_billing(const struct efficiency *e, struct rows *rows)
{
	if (!e->billing)
		return;
	rows_line(rows, ROWS_TEXT, "bill", "%s", e->billing->text);
	for (size_t i = 0; i < RESOURCE_COUNT; i++) {
		if (e->parts[i].is_known)
			rows_say(rows, i ? ", " : ": ", "%s %s", resource_name(i),
				 amount_format(e->parts[i], DIMENSION_SHARE).text);
	}
	for (size_t i = 0; i < e->billing->left_out_count; i++)
		rows_say(rows, i ? ", " : "; not measured: ", "%s", e->billing->left_out[i]);
}

static void say_hours(const char *what, double seconds, const struct core_time *t,
		      struct rows *rows)
{
	if (seconds >= LOST_SHARE_MIN * t->core)
		rows_say(rows, ", ", "%s %s (%s)", what,
			 amount_format(amount_of(seconds), DIMENSION_SECONDS).text,
			 amount_format(amount_of(seconds / t->core), DIMENSION_SHARE).text);
}

/* Core hours that were lost, by cause; nothing where that is not known. */
static void add_lost(const struct core_time *t, struct rows *rows)
{
	if (!t->has_causes || t->core <= 0)
		return;
	rows_begin(rows, ROWS_TEXT, "core time");
	say_hours(shade_on_cpu.label, t->on_cpu, t, rows);
	for (size_t cause = 0; cause < LOST_COUNT; cause++)
		say_hours(shade_of_cause(cause)->label, t->lost[cause], t, rows);
	say_hours(shade_idle.label, t->idle, t, rows);
}

static struct rows *rows_of(const struct analysis *analysis)
{
	struct rows *rows = rows_new();
	const struct classes *classes = &analysis->classes;
	const struct insights *insights = &analysis->insights;

	add_billing(&analysis->efficiency, rows);
	rows_begin(rows, ROWS_ALL, "class");
	for (size_t i = 0; i < classes->count; i++)
		rows_say(rows, ", ", "%s %s", classes->items[i].rule->id,
			 amount_format(classes->items[i].share, DIMENSION_SHARE).text);
	add_lost(&analysis->efficiency.core_time, rows);
	findings_rows(analysis, true, ROWS_ALL, rows);
	for (size_t i = 0; i < analysis->patterns->count; i++) {
		_cleanup_free_ char *text = pattern_text(analysis->patterns,
							 &analysis->patterns->items[i]);

		rows_line(rows, ROWS_ALL, pattern_id(analysis->patterns->items[i].kind), "%s",
			  text ? text : "");
	}
	rows_begin(rows, ROWS_TEXT, "not known");
	for (size_t i = 0; i < insights->unknown_count; i++)
		rows_say(rows, "; ", "%s (%s)", insights->unknown[i].rule->id,
			 insights->unknown[i].names);
	return rows;
}

/* "CPU efficiency 47 %"; by a site's weights "score 47, as billed". */
static struct human score_of(const struct efficiency *e)
{
	struct human h = { "CPU efficiency -" };

	if (e->score.is_known && e->billing)
		snprintf(h.text, sizeof(h.text), "score %.0f%s", e->score.number,
			 efficiency_basis(e));
	else if (e->score.is_known)
		snprintf(h.text, sizeof(h.text), "CPU efficiency %.0f %%", e->score.number);
	return h;
}

void insights_text(const struct record *record, const struct analysis *analysis, struct page *page)
{
	_cleanup_(rows_freep) struct rows *rows = rows_of(analysis);

	page_put(page, PAGE_BOLD, "%s", headline_name(record));
	page_put(page, PAGE_PLAIN, "  %s  %s", humanize_duration(record->time.elapsed_ns).text,
		 score_of(&analysis->efficiency).text);
	page_end_line(page);
	rows_text(rows, ROWS_TEXT, page);
}

void insights_markdown(const struct record *record, const struct analysis *analysis, FILE *out)
{
	_cleanup_(rows_freep) struct rows *rows = rows_of(analysis);

	fputs("## ", out);
	markdown_put(headline_name(record), out);
	fprintf(out, "\n\n%s, %s\n", humanize_duration(record->time.elapsed_ns).text,
		score_of(&analysis->efficiency).text);
	rows_markdown(rows, out);
}

/* ---- rules ---- */

static void list_rule(const struct rule *rule, const char *kind, struct page *page)
{
	page_put(page, PAGE_BOLD, "%s", rule->id);
	page_pad(page, 0, 2);
	page_put(page, PAGE_DIM, "%s%s%s", kind,
		 !rule->is_each_mount ? ""
		 : rule->is_by_path   ? ", each mount by path"
				      : ", each mount",
		 rule->is_disabled ? ", disabled" : "");
	page_end_line(page);
	if (rule->condition)
		page_paragraph(page, "when", rule->condition);
	for (size_t i = 0; i < rule->threshold_count; i++) {
		const struct constant *c = &rule->thresholds[i];

		page_label(page, i ? NULL : "thresholds");
		page_put(page, PAGE_PLAIN, "%s = %s", c->name,
			 amount_format_exact(c->amount, c->dimension).text);
		page_end_line(page);
	}
	for (size_t i = 0; i < rule->least_count; i++) {
		page_label(page, i ? NULL : "at least");
		page_put(page, PAGE_PLAIN, "%s", rule->least[i].text);
		page_end_line(page);
	}
	page_paragraph(page, "source", rule->source);
	for (size_t i = 0; i < rule->place_count; i++) {
		page_label(page, i ? "changed in" : "made in");
		page_put(page, PAGE_PLAIN, "%s:%u", rule->places[i].file, rule->places[i].line);
		page_end_line(page);
	}
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

struct counts {
	size_t made, changed, disabled;
};

static struct counts counts_of(const struct rule_list *list, const char *file)
{
	struct counts counts = {};

	for (size_t i = 0; i < list->count; i++) {
		const struct rule *rule = &list->items[i];

		if (strcmp(rule->places[rule->place_count - 1].file, file) != 0)
			continue;
		counts.made += rule->place_count == 1;
		counts.changed += rule->place_count > 1 && !rule->is_disabled;
		counts.disabled += rule->is_disabled;
	}
	return counts;
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

	printf("%s: ok\n", file);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct counts counts = counts_of(lists[i].list, file);

		if (counts.made || counts.changed || counts.disabled)
			printf("%s: %zu new, %zu changed, %zu disabled\n", lists[i].name,
			       counts.made, counts.changed, counts.disabled);
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
