/* SPDX-License-Identifier: MIT */
#include "report/summary.h"

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "basic/text.h"
#include "model/record.h"
#include "report/headline.h"
#include "report/mount_rows.h"
#include "report/page.h"
#include "report/record_rows.h"
#include "report/rows_items.h"
#include "report/rows_text.h"

#define GAP 3
#define INDENT 2
#define WIDTH 91 /* that of efficiency on a line each, with short bars */

/* "jobmeter: train.sh   OK, 2 m 14 s   node17, 4 cores" */
static void put_headline(const struct record *r, struct page *page)
{
	_cleanup_free_ char *place = headline_place(r), *outcome = headline_outcome(r);
	const bool is_unnamed = r->job.id && headline_name(r) == r->job.id;

	page_put(page, PAGE_BOLD, "jobmeter: %s%s", is_unnamed ? "job " : "", headline_name(r));
	page_pad(page, 0, GAP);
	/* of a job that has not ended how it ends is not known, and where this is read it has */
	if (r->is_final && outcome)
		page_put(page, PAGE_PLAIN, "%s, ", outcome);
	page_put(page, PAGE_PLAIN, "%s", humanize_duration(r->time.elapsed_ns).text);
	page_pad(page, 0, GAP);
	page_put(page, PAGE_PLAIN, "%s", place ? place : "");
	page_end_line(page);
}

static void put_first_finding(const struct analysis *analysis, struct page *page)
{
	const struct insight *first[FINDINGS_FIRST];
	const size_t count = findings_first(&analysis->insights, first);
	const char *action = count ? finding_action(first[0]) : NULL;

	page_pad(page, INDENT, 0);
	page_put(page, PAGE_PLAIN, "%s", count ? first[0]->text : findings_verdict(analysis));
	if (action)
		page_put(page, PAGE_BOLD, " -> %s", action);
	page_end_line(page);
}

/* A record of an agent's lives as long as the agent keeps it; one of a local run is kept. */
static void put_more(const struct record *r, struct page *page)
{
	const bool is_run = text_is_equal(r->job.manager, "run");

	page_pad(page, INDENT, 0);
	page_put(page, PAGE_PLAIN, "More: jobmeter report --full %s%s%s",
		 is_run || !r->job.manager ? "" : r->job.manager,
		 is_run || !r->job.manager ? "" : "/", r->job.id ? r->job.id : "FILE");
	if (r->job.manager && !is_run && r->node)
		page_put(page, PAGE_PLAIN, " (on %s, for some minutes after its end)", r->node);
	page_end_line(page);
}

void summary_text(const struct record *r, const struct rules *rules, struct page *page)
{
	_cleanup_(analysis_clear) struct analysis analysis = {};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	const unsigned int width = page->width;

	(void)analysis_make(rules, r, &analysis);
	rows_set_bound(rows, record_is_bound(r));
	efficiency_rows(r, &analysis, rows);
	put_headline(r, page);
	put_first_finding(&analysis, page);
	page->width = WIDTH;
	rows_text(rows, ROWS_SCREEN, page);
	page->width = width;
	put_more(r, page);
}
