/* SPDX-License-Identifier: MIT */
#include "analysis.h"
#include "html_parts.h"
#include "macro.h"

#define SHOWN_MAX 32

static void put_evidence(const struct insight *insight, struct html *h)
{
	struct evidence e = rule_evidence(insight->rule);

	html_begin_class(h, "p", "evidence");
	for (size_t i = 0; i < e.count; i++) {
		struct amount amount = variable_get(e.items[i], &insight->subject);

		html_text(h, "%s%s = ", i ? ", " : "", e.items[i]->name);
		html_element(h, "b", NULL, "%s", amount_format(amount, e.items[i]->dimension).text);
	}
	html_end(h);
	html_begin_class(h, "p", "evidence");
	html_text(h, "when ");
	html_element(h, "code", NULL, "%s", insight->rule->condition);
	if (insight->rule->source)
		html_text(h, " (%s)", insight->rule->source);
	html_end(h);
}

static void put_insight(const struct insight *insight, struct html *h)
{
	html_begin_class(h, "li", severity_name(insight->rule->severity));
	html_begin(h, "p");
	html_element(h, "span", "severity", "%s", severity_name(insight->rule->severity));
	html_text(h, " %s", insight->text);
	if (insight->advice)
		html_element(h, "strong", NULL, " %s", insight->advice);
	html_end(h);
	if (insight->directive) {
		html_begin_class(h, "p", "directive");
		html_element(h, "code", NULL, "%s", insight->directive);
		html_end(h);
	}
	html_begin(h, "details");
	html_element(h, "summary", NULL, "how it is known: %s", insight->rule->id);
	put_evidence(insight, h);
	html_end(h);
	html_end(h);
}

void html_put_insights(const struct analysis *analysis, struct html *h)
{
	const struct insights *insights = &analysis->insights;

	html_begin(h, "section");
	html_element(h, "h2", NULL, "What stands out");
	if (!insights->count)
		html_element(h, "p", NULL, "No rule speaks.");
	else
		html_begin_class(h, "ul", "insights");
	for (size_t i = 0; i < MIN(insights->count, (size_t)SHOWN_MAX); i++)
		put_insight(&insights->items[i], h);
	if (insights->count)
		html_end(h);
	if (insights->count > SHOWN_MAX)
		html_element(h, "p", "note", "And %zu more.", insights->count - SHOWN_MAX);
	html_end(h);
}
