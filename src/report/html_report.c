/* SPDX-License-Identifier: MIT */
#include "html_report.h"

#include <assert.h>

#include "analysis.h"
#include "cleanup.h"
#include "headline.h"
#include "html.h"
#include "html_parts.h"
#include "hue.h"
#include "macro.h"
#include "record.h"
#include "sentence.h"
#include "timestamp.h"

#define WORDS_MAX 64 /* of the command */

static const char style[] =
#include "report_css.h"
	;

/* ---- what stands before the page ---- */

static void put_meta(const char *key, const char *name, const char *content, struct html *h)
{
	html_begin(h, "meta");
	html_attribute(h, key, "%s", name);
	html_attribute(h, "content", "%s", content);
	html_end(h);
}

static void put_head(const struct record *r, struct html *h)
{
	html_begin(h, "head");
	html_begin(h, "meta");
	html_attribute(h, "charset", "utf-8");
	html_end(h);
	/* no script runs and nothing is fetched, whatever a browser would make of the rest */
	put_meta("http-equiv", "Content-Security-Policy",
		 "default-src 'none'; style-src 'unsafe-inline'", h);
	put_meta("name", "viewport", "width=device-width, initial-scale=1", h);
	put_meta("name", "color-scheme", "light dark", h);
	put_meta("name", "generator", "jobmeter " JOBMETER_VERSION, h);
	html_element(h, "title", NULL, "%s: what it did", headline_name(r));
	html_begin(h, "style");
	html_raw(h, style);
	html_end(h);
	html_end(h);
}

/* ---- the head of the page ---- */

static void put_fact(const char *label, const char *text, struct html *h)
{
	if (!text)
		return;
	html_begin(h, "div");
	html_element(h, "dt", NULL, "%s", label);
	html_element(h, "dd", NULL, "%s", text);
	html_end(h);
}

static void put_moment(const char *label, uint64_t ns, struct html *h)
{
	char text[TIMESTAMP_SIZE];

	if (!ns)
		return;
	timestamp_format(text, ns - ns % 1000000000);
	html_begin(h, "div");
	html_element(h, "dt", NULL, "%s", label);
	html_element(h, "dd", NULL, "%.10s %.8s", text, text + 11);
	html_end(h);
}

static void put_command(const struct record *r, struct html *h)
{
	_cleanup_(sentence_freep) struct sentence line = {};

	if (!r->job.command || !r->job.command[0])
		return;
	for (size_t i = 0; r->job.command[i] && i < WORDS_MAX; i++)
		sentence_add(&line, " ", "%s", r->job.command[i]);
	html_begin_class(h, "p", "command");
	html_element(h, "code", NULL, "%s", line.text ? line.text : "");
	html_end(h);
}

static void put_facts(const struct record *r, struct html *h)
{
	html_begin_class(h, "dl", "facts");
	put_fact("job", r->job.id, h);
	put_fact("manager", r->job.manager, h);
	put_fact("state", r->job.state, h);
	put_fact("user", r->job.user, h);
	put_fact("account", r->job.account, h);
	put_fact("partition", r->job.partition, h);
	put_moment("start, UTC", r->time.start_ns, h);
	put_moment("end, UTC", r->time.end_ns, h);
	put_fact("folder", r->job.folder, h);
	html_end(h);
}

static void put_score(const struct analysis *analysis, struct html *h)
{
	struct amount score = analysis->efficiency.score;

	html_begin_class(h, "p", "score");
	if (score.is_known)
		html_element(h, "b", NULL, "%.0f", score.number);
	else
		html_element(h, "b", NULL, "-");
	html_text(h, " score of 100%s", efficiency_basis(&analysis->efficiency));
	html_end(h);
}

static void put_classes(const struct classes *classes, struct html *h)
{
	if (!classes->count)
		return;
	html_begin_class(h, "p", "classes");
	for (size_t i = 0; i < classes->count; i++) {
		const struct class *class = &classes->items[i];

		html_element(h, "span", "class", "%s %s", class->rule->id,
			     amount_format(class->share, DIMENSION_SHARE).text);
		html_text(h, " ");
	}
	html_end(h);
}

static void put_title(const struct record *r, const struct analysis *analysis, struct html *h)
{
	_cleanup_free_ char *outcome = headline_outcome(r), *extent = headline_extent(r);

	html_begin(h, "header");
	put_score(analysis, h);
	html_element(h, "h1", NULL, "%s", headline_name(r));
	html_begin_class(h, "p", "outcome");
	html_element(h, "span", headline_is_failure(r) ? "alert" : "well", "%s",
		     outcome ? outcome : "");
	html_text(h, " · %s", extent ? extent : "");
	html_end(h);
	if (r->merged_records > 1)
		html_element(h, "p", NULL, "Merged from %u records on %u node%s.",
			     r->merged_records, r->merged_nodes, r->merged_nodes == 1 ? "" : "s");
	put_classes(&analysis->classes, h);
	html_end(h);
}

static void put_sentences(const struct analysis *analysis, struct html *h)
{
	const struct insight *first[INSIGHTS_FIRST];
	size_t count = insights_first(&analysis->insights, first);

	if (!count)
		return;
	html_begin_class(h, "ol", "sentences");
	for (size_t i = 0; i < count; i++) {
		const struct insight *insight = first[i];

		html_element(h, "li", NULL, "%s%s%s", insight->text, insight->advice ? " " : "",
			     insight->advice ? insight->advice : "");
	}
	html_end(h);
}

/* ---- the end ---- */

static void put_reading(struct html *h)
{
	/* clang-format off */
	static const struct {
		const char *word, *text;
	} rows[] = {
		{ "-", "Not known, which is not zero. The reasons stand under “What was not seen”." },
		{ "≥", "At least: a part was not seen." },
		{ "core time", "Allocated cores times elapsed time. What no thread used was lost to what threads "
			"waited for meanwhile, in proportion; the rest is idle. That is a convention: waiting for "
			"sleep, poll, pipes and children is never counted as lost." },
		{ "score", "100 times used over allocated, of the cores, or of all that a site bills." },
		{ "over time", "Each step is the mean over its time; memory is the greatest value that was seen. "
			"Where nobody looked there is a shaded gap." },
		{ "mean, p99", "The mean size of a call, and the time below which 99 of 100 calls stayed, exact to a "
			"factor of two." },
		{ "written", "What programs handed to the kernel, which may write it to a disk later." },
	};
	/* clang-format on */

	html_begin(h, "section");
	html_element(h, "h2", NULL, "How to read this");
	html_begin_class(h, "dl", "reading");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		html_element(h, "dt", NULL, "%s", rows[i].word);
		html_element(h, "dd", NULL, "%s", rows[i].text);
	}
	html_end(h);
	html_end(h);
}

static void put_end(const struct record *r, struct html *h)
{
	html_begin(h, "footer");
	html_text(h, "Measured by jobmeter %s", r->agent_version ? r->agent_version : "-");
	if (r->node)
		html_text(h, " on %s", r->node);
	html_text(h, ", told by jobmeter %s.", JOBMETER_VERSION);
	html_end(h);
}

static void put_body(const struct record *r, const struct analysis *analysis, struct html *h)
{
	html_begin(h, "body");
	hue_put_patterns(h);
	html_begin(h, "main");
	put_title(r, analysis, h);
	put_sentences(analysis, h);
	put_command(r, h);
	put_facts(r, h);
	html_put_core_time(r, analysis, h);
	html_put_over_time(r, h);
	html_put_numbers(r, h);
	html_put_files(r, h);
	html_put_block(r, h);
	html_put_network(r, h);
	html_put_syscalls(r, h);
	html_put_insights(analysis, h);
	html_put_steps(r, h);
	html_put_coverage(r, analysis, h);
	put_reading(h);
	put_end(r, h);
	html_end(h);
	html_end(h);
}

void html_report(const struct record *r, const struct analysis *analysis, FILE *out)
{
	struct html h = { .out = out };

	fputs("<!DOCTYPE html>\n", out);
	html_begin(&h, "html");
	html_attribute(&h, "lang", "en");
	put_head(r, &h);
	put_body(r, analysis, &h);
	html_end(&h);
	assert(h.depth == 0);
}
