/* SPDX-License-Identifier: MIT */
#include "analysis/classes.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/formula.h"
#include "analysis/variables.h"
#include "basic/cleanup.h"
#include "model/document.h"
#include "model/reading.h"

/* Kept by share, the greatest first; of equals as the file has them. */
static int add_class(struct classes *classes, const struct class *class)
{
	struct class *larger = reallocarray(classes->items, classes->count + 1, sizeof(*larger));
	size_t at = classes->count;

	if (!larger)
		return -ENOMEM;
	classes->items = larger;
	for (; at > 0 && larger[at - 1].share.number < class->share.number; at--)
		larger[at] = larger[at - 1];
	larger[at] = *class;
	classes->count++;
	return 0;
}

static int ask(struct classes *classes, const struct rule *rule)
{
	_cleanup_free_ char *names = NULL, *text = NULL;
	struct class class = { .rule = rule };
	int r = rule_ask(rule, &classes->subject, &names);

	if (r == TRUTH_UNKNOWN)
		return unknown_rule_add(&classes->unknown, &classes->unknown_count, rule, &names);
	if (r != TRUTH_YES)
		return r < 0 ? r : 0;
	class.share = expression_number(rule->share, &classes->subject);
	text = template_format(rule->text, &classes->subject);
	if (!text || !class.share.is_known) { /* it holds, but how much is not known */
		names = rule_unknown_names(rule, &classes->subject);
		return names ? unknown_rule_add(&classes->unknown, &classes->unknown_count, rule,
						&names)
			     : -ENOMEM;
	}
	class.text = text;
	r = add_class(classes, &class);
	if (r == 0)
		TAKE_PTR(text);
	return r;
}

int classes_find(const struct rules *rules, const struct record *record,
		 const struct patterns *patterns, struct classes *ret)
{
	_cleanup_(classes_clear) struct classes classes = { .subject = { .record = record,
									 .patterns = patterns } };

	for (size_t i = 0; i < rules->classes.count; i++) {
		const struct rule *rule = &rules->classes.items[i];
		int r = rule->is_disabled ? 0 : ask(&classes, rule);

		if (r < 0)
			return r;
	}
	*ret = classes;
	classes = (struct classes){};
	return 0;
}

/* No class is of one mount. */
static bool needs_rows(const struct variable *variable)
{
	const struct variable *part;

	switch (variable->source) {
	case VARIABLE_ROWS:
		for (size_t i = 0; i < MOUNT_SUMS; i++) {
			if (mount_sum_metrics[i] == variable->id)
				return false;
		}
		return true;
	case VARIABLE_OP:
	case VARIABLE_INTERFACE:
		return true;
	case VARIABLE_FORMULA:
		return formula_get(variable->formula)->is_of_rows;
	case VARIABLE_OWN: /* of others, none of which is a site's own */
		for (size_t i = 0; (part = expression_variable(variable->expression, i)); i++) {
			if (needs_rows(part))
				return true;
		}
		return false;
	default:
		return false;
	}
}

bool classes_need_rows(const struct rules *rules)
{
	for (size_t i = 0; i < rules->classes.count; i++) {
		const struct rule *rule = &rules->classes.items[i];
		const struct evidence e = rule_evidence(rule);
		const struct variable *variable;

		for (size_t v = 0; v < e.count; v++) {
			if (!rule->is_disabled && needs_rows(e.items[v]))
				return true;
		}
		for (size_t v = 0;
		     !rule->is_disabled && (variable = expression_variable(rule->share, v)); v++) {
			if (needs_rows(variable))
				return true;
		}
	}
	return false;
}

void classes_clear(struct classes *classes)
{
	for (size_t i = 0; i < classes->count; i++)
		free(classes->items[i].text);
	unknown_rules_free(classes->unknown, classes->unknown_count);
	free(classes->items);
	*classes = (struct classes){};
}

void classes_format(const struct classes *classes, struct document *d)
{
	document_begin_map(d);
	document_put_string(d, "primary", classes->count ? classes->items[0].rule->id : NULL);
	document_begin_list_of(d, "classes");
	for (size_t i = 0; i < classes->count; i++) {
		const struct class *class = &classes->items[i];

		document_begin_map(d);
		document_put_string(d, "id", class->rule->id);
		amount_put(d, "share", class->share);
		document_put_string(d, "text", class->text);
		document_key(d, "evidence");
		rule_format_evidence(class->rule, &classes->subject, d);
		document_end_map(d);
	}
	document_end_list(d);
	document_begin_flat_list_of(d, "unknown");
	for (size_t i = 0; i < classes->unknown_count; i++)
		document_string(d, classes->unknown[i].rule->id);
	document_end_list(d);
	document_end_map(d);
}
