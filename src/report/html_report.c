/* SPDX-License-Identifier: MIT */
#include "report/html_report.h"

#include <assert.h>

#include "basic/cleanup.h"
#include "report/headline.h"
#include "report/html.h"
#include "report/shade.h"
#include "model/record.h"
#include "report/reading.h"
#include "report/record_rows.h"
#include "model/rows.h"
#include "report/rows_html.h"

const char html_report_style[] =
#include "report/report_css.h"
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
	html_raw(h, html_report_style);
	html_end(h);
	html_end(h);
}

/* ---- the end ---- */

static void put_reading(struct html *h)
{
	html_begin(h, "section");
	html_element(h, "h2", NULL, "How to read this");
	html_begin_class(h, "dl", "reading");
	for (const struct cli_term *term = reading_terms; term->word; term++) {
		html_element(h, "dt", NULL, "%s", term->word);
		html_element(h, "dd", NULL, "%s", term->text);
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
	html_text(h, ", printed by jobmeter %s.", JOBMETER_VERSION);
	html_end(h);
}

void html_report_body(const struct record *r, const struct analysis *analysis, struct html *h)
{
	_cleanup_(rows_freep) struct rows *rows = record_rows(r, NULL, analysis);

	shade_put_patterns(h);
	rows_html(rows, h);
	put_reading(h);
	put_end(r, h);
}

void html_report(const struct record *r, const struct analysis *analysis, FILE *out)
{
	struct html h = { .out = out };

	fputs("<!DOCTYPE html>\n", out);
	html_begin(&h, "html");
	html_attribute(&h, "lang", "en");
	put_head(r, &h);
	html_begin(&h, "body");
	html_begin(&h, "main");
	html_report_body(r, analysis, &h);
	html_end(&h);
	html_end(&h);
	html_end(&h);
	assert(h.depth == 0);
}
