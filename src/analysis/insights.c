/* SPDX-License-Identifier: MIT */
#include "analysis/insights.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "analysis/core_time.h"
#include "model/document.h"
#include "analysis/formula.h"
#include "basic/ids.h"
#include "basic/macro.h"
#include "basic/text.h"
#include "model/record.h"

#define ALL_MOUNTS "all mounts together"
#define MUCH_MORE 5 /* a finding that lost this many times more comes first */

/* ---- asking ---- */

static void add_variable(struct evidence *e, const struct variable *variable)
{
	for (size_t i = 0; i < e->count; i++) {
		if (e->items[i] == variable)
			return;
	}
	if (e->count < EVIDENCE_MAX)
		e->items[e->count++] = variable;
}

static void add_expression(struct evidence *e, const struct expression *expression)
{
	const struct variable *variable;

	for (size_t i = 0; (variable = expression_variable(expression, i)) != NULL; i++)
		add_variable(e, variable);
}

static void add_template(struct evidence *e, const struct template *template)
{
	const struct expression *expression;

	for (size_t i = 0; (expression = template_expression(template, i)) != NULL; i++)
		add_expression(e, expression);
}

struct evidence rule_evidence(const struct rule *rule)
{
	struct evidence e = {};

	add_expression(&e, rule->when);
	add_template(&e, rule->text);
	for (size_t i = 0; i < rule->least_count; i++)
		add_variable(&e, rule->least[i].variable);
	return e;
}

static enum truth truth_of(const struct rule *rule, const struct subject *subject)
{
	enum truth truth = expression_truth(rule->when, subject);

	for (size_t i = 0; truth != TRUTH_NO && i < rule->least_count; i++) {
		enum truth one = expression_truth(rule->least[i].holds, subject);

		truth = one == TRUTH_YES ? truth : one;
	}
	return truth;
}

/* Is it silent only since the job did not last as long as the rule wants? */
static bool is_too_short_for(const struct rule *rule, const struct subject *subject)
{
	bool is_short = false;

	if (expression_truth(rule->when, subject) != TRUTH_YES)
		return false;
	for (size_t i = 0; i < rule->least_count; i++) {
		if (expression_truth(rule->least[i].holds, subject) == TRUTH_YES)
			continue;
		if (strcmp(rule->least[i].variable->name, "elapsed_seconds") != 0)
			return false;
		is_short = true;
	}
	return is_short;
}

/* The unknown part of its condition or, if that is known, of its sentence. */
static struct evidence needs_of(const struct rule *rule, const struct subject *subject)
{
	struct evidence e = {};

	if (truth_of(rule, subject) == TRUTH_UNKNOWN) {
		add_expression(&e, rule->when);
		for (size_t i = 0; i < rule->least_count; i++)
			add_variable(&e, rule->least[i].variable);
	} else {
		add_template(&e, rule->text);
	}
	if (rule->share)
		add_expression(&e, rule->share);
	return e;
}

char *rule_unknown_names(const struct rule *rule, const struct subject *subject)
{
	struct evidence e = needs_of(rule, subject);
	_cleanup_free_ char *text = NULL;
	const char *between = "";
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < e.count; i++) {
		if (variable_get(e.items[i], subject).is_known)
			continue;
		fprintf(out, "%s%s", between, e.items[i]->name);
		between = ", ";
	}
	return fclose(out) == 0 ? TAKE_PTR(text) : NULL;
}

int rule_ask(const struct rule *rule, const struct subject *subject, char **ret_names)
{
	enum truth truth = truth_of(rule, subject);

	if (truth != TRUTH_UNKNOWN)
		return truth;
	*ret_names = rule_unknown_names(rule, subject);
	return *ret_names ? (int)truth : -ENOMEM;
}

void rule_format_evidence(const struct rule *rule, const struct subject *subject,
			  struct document *d)
{
	struct evidence e = rule_evidence(rule);

	document_begin_flat_map(d);
	for (size_t i = 0; i < e.count; i++)
		amount_put(d, e.items[i]->name, variable_get(e.items[i], subject));
	document_end_map(d);
}

/* ---- finding ---- */

int unknown_rule_add(struct unknown_rule **list, size_t *count, const struct rule *rule,
		     char **names)
{
	struct unknown_rule *larger = reallocarray(*list, *count + 1, sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	*list = larger;
	larger[(*count)++] = (struct unknown_rule){ rule, TAKE_PTR(*names) };
	return 0;
}

void unknown_rules_free(struct unknown_rule *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i].names);
	free(list);
}

static int add_unknown(struct insights *insights, const struct rule *rule, char **names)
{
	return unknown_rule_add(&insights->unknown, &insights->unknown_count, rule, names);
}

static enum storage storage_of(const struct mount_row *row)
{
	return file_system_of(row->fstype)->storage;
}

static uint64_t count_calls(const struct mount_row *row)
{
	uint64_t calls = 0;

	for (size_t op = 0; op < OP_COUNT; op++)
		calls += row->ops[op].calls;
	return calls;
}

/* Of the subject's row; without one, or of all mounts together, that with the most calls. */
static enum storage storage_of_subject(const struct subject *subject)
{
	const struct reading *reading = &subject->record->reading;
	enum storage storage = subject->row ? storage_of(subject->row) : STORAGE_UNKNOWN;
	uint64_t calls[STORAGE_COUNT] = {};

	if (storage != STORAGE_UNKNOWN || (subject->row && subject->row->kind == ROW_MOUNT))
		return storage;
	for (size_t i = 0; i < reading->mount_count; i++)
		calls[storage_of(&reading->mounts[i])] += count_calls(&reading->mounts[i]);
	for (size_t i = STORAGE_UNKNOWN + 1; i < STORAGE_COUNT; i++) {
		if (calls[i] > (storage ? calls[storage] : 0))
			storage = (enum storage)i;
	}
	return storage;
}

/* Advice may depend on the storage. */
static char *format_advice(const struct rule *rule, const struct subject *subject)
{
	const struct template *t = rule->advice_on[storage_of_subject(subject)];

	t = t ? t : rule->advice;
	return t ? template_format(t, subject) : NULL;
}

static int add_insight(struct insights *insights, const struct rule *rule,
		       const struct subject *subject, char **text)
{
	struct insight *larger = reallocarray(insights->items, insights->count + 1,
					      sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	insights->items = larger;
	larger[insights->count++] = (struct insight){
		.rule = rule,
		.subject = *subject,
		.text = TAKE_PTR(*text),
		.advice = format_advice(rule, subject),
		.directive = rule->directive ? template_format(rule->directive, subject) : NULL,
		.lost = rule->lost ? expression_number(rule->lost, subject) : (struct amount){}
	};
	return 0;
}

/* 1: it is so; 0: it is not; -ENODATA: *ret_names are not known. */
static int ask(struct insights *insights, const struct rule *rule, const struct subject *subject,
	       char **ret_names)
{
	_cleanup_free_ char *text = NULL;
	int r = rule_ask(rule, subject, ret_names);

	if (r == TRUTH_UNKNOWN)
		return -ENODATA;
	if (r == TRUTH_NO)
		insights->is_too_short |= is_too_short_for(rule, subject);
	if (r != TRUTH_YES)
		return r;
	text = template_format(rule->text, subject);
	if (!text) { /* nothing is said without its numbers */
		*ret_names = rule_unknown_names(rule, subject);
		return *ret_names ? -ENODATA : -ENOMEM;
	}
	r = add_insight(insights, rule, subject, &text);
	return r < 0 ? r : 1;
}

/* Of the record, or of the row of all mounts together. */
static int ask_one(struct insights *insights, const struct rule *rule, struct subject *subject)
{
	_cleanup_free_ char *names = NULL;
	int r = ask(insights, rule, subject, &names);

	return r == -ENODATA ? add_unknown(insights, rule, &names) : MIN(r, 0);
}

static uint64_t time_in_calls(const struct mount_row *row)
{
	uint64_t ns = 0;

	for (size_t op = 0; op < OP_COUNT; op++)
		ns += row->ops[op].ns;
	return ns;
}

/* The least time of the busiest mounts, and how many of them have just that. */
static int find_busiest(const struct reading *reading, struct busiest *ret)
{
	size_t count = reading->mount_count, least = count - INSIGHTS_MOUNTS_MAX;
	_cleanup_free_ uint64_t *times = NULL;

	*ret = (struct busiest){ .equal = count };
	if (count <= INSIGHTS_MOUNTS_MAX)
		return 0;
	times = calloc(count, sizeof(*times));
	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		times[i] = time_in_calls(&reading->mounts[i]);
	qsort(times, count, sizeof(*times), ids_compare);
	ret->least_ns = times[least];
	ret->equal = 0;
	for (size_t i = least; i < count && times[i] == times[least]; i++)
		ret->equal++;
	return 0;
}

static bool take_busy(struct busiest *left, const struct mount_row *row)
{
	uint64_t ns = time_in_calls(row);

	if (ns == left->least_ns)
		return left->equal > 0 && left->equal--;
	return ns > left->least_ns;
}

/* Only the busiest mounts, since a rule may add up all of them for each. One entry says that a
 * rule is unknown, for however many mounts. */
static int ask_each(struct insights *insights, const struct rule *rule, struct subject *subject)
{
	const struct reading *reading = &subject->record->reading;
	_cleanup_free_ char *unknown = NULL;
	struct busiest left = insights->busiest;
	size_t found = 0;

	for (size_t i = 0; i < reading->mount_count && found < INSIGHTS_PER_RULE_MAX; i++) {
		const struct mount_row *row = &reading->mounts[i];
		_cleanup_free_ char *names = NULL;
		int r;

		/* by path, a row that is no mount has failures alone */
		if (!take_busy(&left, row) ||
		    !(rule->is_by_path ? row->kind == ROW_MOUNT : row_is_of_files(row)))
			continue;
		subject->row = row;
		r = ask(insights, rule, subject, &names);
		if (r < 0 && r != -ENODATA)
			return r;
		found += r == 1;
		if (r == -ENODATA && !unknown)
			unknown = TAKE_PTR(names);
	}
	return unknown ? add_unknown(insights, rule, &unknown) : 0;
}

static int ask_mounts(struct insights *insights, const struct rule *rule, struct subject *subject)
{
	const struct reading *reading = &subject->record->reading;
	_cleanup_free_ char *unknown = NULL;

	if (!reading->has_mounts) {
		unknown = strdup("io");
		return unknown ? add_unknown(insights, rule, &unknown) : -ENOMEM;
	}
	subject->lacks_places = !reading_paths_are_placed(reading);
	if (!rule->is_by_path || !subject->lacks_places)
		return ask_each(insights, rule, subject);
	if (!insights->together)
		insights->together = reading_sum_rows(reading, ALL_MOUNTS);
	subject->lacks_places = false;
	subject->row = insights->together;
	return subject->row ? ask_one(insights, rule, subject) : -ENOMEM;
}

/* Of the core time or the limit of memory: how much of it was lost.  0: not said. */
static double weigh(const struct insight *insight, const struct record *record)
{
	const struct rule *rule = insight->rule;
	const struct value *limit = &record->reading.values[METRIC_MEMORY_LIMIT];
	struct core_time t = formula_core(&insight->subject);

	if (!rule->lost || !insight->lost.is_known)
		return 0;
	if (dimension_is_equal(expression_dimension(rule->lost), DIMENSION_SECONDS))
		return t.is_known && t.core > 0 ? insight->lost.number / t.core : 0;
	return limit->is_known && limit->number ? insight->lost.number / (double)limit->number : 0;
}

static bool stands_before(const struct insight *a, const struct insight *b)
{
	if (a->rule->severity != b->rule->severity)
		return a->rule->severity > b->rule->severity;
	if (a->rule == b->rule)
		return a->weight > b->weight;
	return b->weight > 0 && a->weight > MUCH_MORE * b->weight; /* both are in the file's order
								    */
}

static void sort(struct insights *insights, const struct record *record)
{
	for (size_t i = 0; i < insights->count; i++)
		insights->items[i].weight = weigh(&insights->items[i], record);
	for (size_t i = 1; i < insights->count; i++) {
		struct insight insight = insights->items[i];
		size_t at = i;

		for (; at > 0 && stands_before(&insight, &insights->items[at - 1]); at--)
			insights->items[at] = insights->items[at - 1];
		insights->items[at] = insight;
	}
}

/* Two known mounts say nothing of each other. */
static bool is_of_another_mount(const struct insights *insights, const struct insight *a,
				const struct insight *b)
{
	const struct mount_row *one = a->subject.row, *other = b->subject.row;

	return one && other && one != other && one != insights->together &&
	       other != insights->together;
}

static bool insight_explains(const struct insights *insights, const struct insight *a,
			     const struct insight *b)
{
	if (a->rule == b->rule || is_of_another_mount(insights, a, b))
		return false;
	return rule_explains(a->rule, b->rule) || (a->rule < b->rule && a->rule->group &&
						   text_is_equal(a->rule->group, b->rule->group));
}

static void insight_clear(struct insight *insight)
{
	free(insight->text);
	free(insight->advice);
	free(insight->directive);
}

/* In the order of the file; an explained finding explains nothing. */
static void leave_out_explained(struct insights *insights)
{
	struct insight *items = insights->items;
	size_t count = 0;

	for (size_t i = 0; i < insights->count; i++) {
		for (size_t k = 0; !items[i].is_explained && k < insights->count; k++)
			items[k].is_explained |= insight_explains(insights, &items[i], &items[k]);
	}
	for (size_t i = 0; i < insights->count; i++) {
		if (items[i].is_explained)
			insight_clear(&items[i]);
		else
			items[count++] = items[i];
	}
	insights->count = count;
}

int insights_find(const struct rules *rules, const struct record *record,
		  const struct patterns *patterns, struct insights *ret)
{
	_cleanup_(insights_clear) struct insights insights = {
		.is_too_short = record->time.elapsed_ns &&
				record->time.elapsed_ns < RULES_LEAST_ELAPSED_NS
	};
	int r = find_busiest(&record->reading, &insights.busiest);

	if (r < 0)
		return r;
	insights.times = malloc(sizeof(*insights.times));
	if (!insights.times)
		return -ENOMEM;
	*insights.times = record_times_of(record);
	for (size_t i = 0; i < rules->insights.count; i++) {
		const struct rule *rule = &rules->insights.items[i];
		struct subject subject = { .record = record,
					   .times = insights.times,
					   .patterns = patterns };

		if (rule->is_disabled)
			continue;
		r = rule->is_each_mount ? ask_mounts(&insights, rule, &subject)
					: ask_one(&insights, rule, &subject);
		if (r < 0)
			return r;
	}
	leave_out_explained(&insights);
	sort(&insights, record);
	*ret = insights;
	insights = (struct insights){};
	return 0;
}

void insights_clear(struct insights *insights)
{
	for (size_t i = 0; i < insights->count; i++)
		insight_clear(&insights->items[i]);
	unknown_rules_free(insights->unknown, insights->unknown_count);
	mount_row_free(insights->together);
	free(insights->times);
	free(insights->items);
	*insights = (struct insights){};
}

/* ---- writing ---- */

static void format_insight(const struct insights *insights, size_t i, struct document *d)
{
	const struct insight *insight = &insights->items[i];

	document_begin_map(d);
	document_put_string(d, "id", insight->rule->id);
	document_put_string(d, "severity", severity_name(insight->rule->severity));
	if (insight->subject.row) /* null: of all mounts together */
		document_put_string(d, "mount",
				    insight->subject.row == insights->together
					    ? NULL
					    : insight->subject.row->mount);
	document_put_string(d, "text", insight->text);
	document_put_string(d, "advice", insight->advice);
	document_put_string(d, "directive", insight->directive);
	if (insight->rule->lost) {
		struct dimension dimension = expression_dimension(insight->rule->lost);

		document_put_string(d, "resource", insight->rule->resource);
		amount_put(d,
			   dimension_is_equal(dimension, DIMENSION_BYTES) ? "lost_bytes"
									  : "lost_seconds",
			   insight->lost);
	}
	document_key(d, "evidence");
	rule_format_evidence(insight->rule, &insight->subject, d);
	document_put_string(d, "condition", insight->rule->condition);
	document_put_string(d, "source", insight->rule->source);
	document_end_map(d);
}

void insights_format(const struct insights *insights, struct document *d)
{
	document_begin_list(d);
	for (size_t i = 0; i < insights->count; i++)
		format_insight(insights, i, d);
	document_end_list(d);
}

void insights_format_unknown(const struct insights *insights, struct document *d)
{
	document_begin_list(d);
	for (size_t i = 0; i < insights->unknown_count; i++) {
		document_begin_flat_map(d);
		document_put_string(d, "id", insights->unknown[i].rule->id);
		document_put_string(d, "names", insights->unknown[i].names);
		document_end_map(d);
	}
	document_end_list(d);
}
