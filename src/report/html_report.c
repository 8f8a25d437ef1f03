/* SPDX-License-Identifier: MIT */
#include "report/html_report.h"

#include <assert.h>

#include "basic/cleanup.h"
#include "report/headline.h"
#include "report/html.h"
#include "report/shade.h"
#include "basic/macro.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "model/rows.h"
#include "report/rows_html.h"

static const char style[] =
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
	html_raw(h, style);
	html_end(h);
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

static void put_body(const struct record *r, const struct rows *rows, struct html *h)
{
	html_begin(h, "body");
	shade_put_patterns(h);
	html_begin(h, "main");
	rows_html(rows, h);
	put_reading(h);
	put_end(r, h);
	html_end(h);
	html_end(h);
}

void html_report(const struct record *r, const struct analysis *analysis, FILE *out)
{
	_cleanup_(rows_freep) struct rows *rows = record_rows(r, NULL, analysis);
	struct html h = { .out = out };

	fputs("<!DOCTYPE html>\n", out);
	html_begin(&h, "html");
	html_attribute(&h, "lang", "en");
	put_head(r, &h);
	put_body(r, rows, &h);
	html_end(&h);
	assert(h.depth == 0);
}
