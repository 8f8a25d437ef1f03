/* SPDX-License-Identifier: MIT */
/* The caller's jobs, one a line. */
#include <stdlib.h>
#include <string.h>

#include "basic/clock.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "model/job_filter.h"
#include "report/headline.h"
#include "server/page/site.h"
#include "server/server.h"

#define ROWS 50 /* default for ?limit */

/* ---- rows ---- */

static void put_human(struct html *h, bool is_known, struct human human)
{
	html_text(h, "%s", is_known ? human.text : "-");
}

static bool has_failed(const struct store_job *job)
{
	return (job->exit_code.is_known && job->exit_code.number) ||
	       (job->signal.is_known && job->signal.number) || headline_is_failed_state(job->state);
}

static void put_state(struct html *h, const struct store_job *job)
{
	bool runs = !job->is_final && !job->waits;
	const char *link = " signal";

	html_begin_class(h, "span",
			 has_failed(job) ? "alert"
			 : runs		 ? "runs"
			 : job->waits	 ? "note"
					 : "well");
	html_text(h, "%s", job->state ? job->state : "-");
	html_end(h);
	if (job->exit_code.is_known && job->exit_code.number) {
		html_text(h, " exit %llu", (unsigned long long)job->exit_code.number);
		link = " after signal";
	}
	if (job->signal.is_known && job->signal.number)
		html_text(h, "%s %llu", link, (unsigned long long)job->signal.number);
}

static void put_start(struct html *h, const struct store_job *job)
{
	if (job->waits)
		html_text(h, "waits");
	else
		site_put_moment(h, job->start_ns);
}

static void put_wait(struct html *h, const struct store_job *job)
{
	struct value wait = store_job_number(job, "wait_seconds"); /* in milliseconds */

	put_human(h, wait.is_known, humanize_duration(wait.number * 1000000));
}

/* Of one that runs up to its last checkpoint, and how old that is. */
static void put_elapsed(struct html *h, const struct store_job *job)
{
	uint64_t now_ns = clock_now_ns(CLOCK_REALTIME),
		 seen_ns = job->start_ns + job->elapsed_ns.number;

	put_human(h, job->elapsed_ns.is_known, humanize_duration(job->elapsed_ns.number));
	if (!job->is_final && !job->waits && job->elapsed_ns.is_known && now_ns > seen_ns) {
		html_text(h, " as of ");
		site_put_age(h, now_ns - seen_ns);
	}
}

static void put_nodes(struct html *h, const struct store_job *job)
{
	put_human(h, job->nodes.is_known, humanize_count(job->nodes.number));
}

/* As seff(1) has both. */
static void put_cpu(struct html *h, const struct store_job *job)
{
	struct value share = store_job_number(job, "cpu_efficiency");

	site_put_share(h, share.is_known, (double)share.number / 10000);
}

/* A column for each part of the time, as high as its cores were busy, and in the colours of the
 * bars: hidden from what reads aloud, which has the mean beside it. */
static void put_spark(struct html *h, const struct store_job *job)
{
	static const struct {
		const char *class;
		int least, below; /* tenths of its cores */
	} colours[] = { { "c1", 0, 3 }, { "c2", 3, 6 }, { "c5", 6, 11 } };
	const char *spark = job->spark;
	const size_t columns = spark ? strlen(spark) : 0;

	if (!columns)
		return html_text(h, "-");
	html_begin_tag(h, "svg", { "class", "spark" }, { "preserveAspectRatio", "none" },
		       { "aria-hidden", "true" });
	html_attribute(h, "viewBox", "0 0 %zu %d", columns, STORE_SPARK_MOST);
	for (size_t k = 0; k < ARRAY_SIZE(colours); k++) {
		html_begin_tag(h, "path", { "class", colours[k].class });
		html_begin_attribute(h, "d");
		for (size_t i = 0, wide; i < columns; i += wide) {
			const int level = store_spark_level(spark[i]);

			for (wide = 1; i + wide < columns && spark[i + wide] == spark[i];)
				wide++;
			if (level > 0 && level * 10 >= colours[k].least * STORE_SPARK_MOST &&
			    level * 10 < colours[k].below * STORE_SPARK_MOST)
				fprintf(h->out, "M%zu %dh%zuv%dh-%zuz", i, STORE_SPARK_MOST - level,
					wide, level, wide);
		}
		html_end_attribute(h);
		html_end(h);
	}
	html_end(h);
}

static void put_memory(struct html *h, const struct store_job *job)
{
	struct value share = store_job_number(job, "memory_efficiency"),
		     peak = store_job_number(job, "memory.peak_bytes");

	if (share.is_known)
		site_put_share(h, true, (double)share.number / 10000);
	else
		put_human(h, peak.is_known, humanize_bytes(peak.number));
}

static void put_unused(struct html *h, const struct store_job *job)
{
	struct value unused = store_job_number(job, "unused_core_seconds");

	site_put_hours(h, unused.is_known ? (double)unused.number : -1);
}

static void put_user(struct html *h, const struct store_job *job)
{
	html_text(h, "%s", job->user ? job->user : "-");
}

static const struct column {
	const char *head, *sort; /* sort: the store's column; NULL: it cannot be sorted by that */
	const char *class;
	void (*put)(struct html *h, const struct store_job *job); /* NULL: the number, by @words */
	struct human (*words)(uint64_t number);
	bool is_of_all; /* shown to those who see others' jobs */
	bool is_of_order; /* shown where jobs are sorted by it */
} columns[] = {
	{ "State", NULL, "text", put_state },
	{ "User", NULL, "text", put_user, .is_of_all = true },
	{ "Started, UTC", "start", "text", put_start },
	{ "Waited", "wait_seconds", NULL, put_wait },
	{ "Elapsed", "elapsed_seconds", NULL, put_elapsed },
	{ "Nodes", "nodes", NULL, put_nodes },
	{ "Cores", "cpu.allocated_cores", .words = humanize_cores },
	{ "CPU used", "cpu_efficiency", NULL, put_cpu },
	{ "Over time", NULL, "text", put_spark },
	{ "Memory used", "memory_efficiency", NULL, put_memory },
	{ "Unused core-h", "unused_core_seconds", NULL, put_unused, .is_of_order = true },
	{ "Energy", "energy.joules", .words = humanize_energy },
	{ "Verdict", NULL, "text wide", site_put_reason },
};

static bool is_shown(const struct site_call *c, const struct column *column)
{
	return (!column->is_of_all || c->sees_others) &&
	       (!column->is_of_order || strcmp(c->sort, column->sort) == 0);
}

/* ---- the list ---- */

static void put_head_cell(struct site_call *c, const struct column *column)
{
	static const char *const without[] = { "sort", "order", NULL };
	const char *order = api_text(&c->api, "order");
	bool is_sorted = column->sort && strcmp(c->sort, column->sort) == 0;
	bool is_descending = !order || strcmp(order, "desc") == 0;
	struct html *h = c->h;
	struct address address;

	html_begin_tag(h, "th", { "scope", "col" }, { "class", column->class },
		       { "aria-sort", !is_sorted      ? NULL
				      : is_descending ? "descending"
						      : "ascending" });
	if (!column->sort) {
		html_text(h, "%s", column->head);
		html_end(h);
		return;
	}
	address = site_begin_link(h, "/jobs");
	address_add_filter(&address, c, without);
	address_add(&address, "sort", column->sort);
	address_add(&address, "order", is_sorted && is_descending ? "asc" : "desc");
	address_end(&address);
	html_text(h, "%s%s", column->head, !is_sorted ? "" : is_descending ? " ↓" : " ↑");
	html_end(h);
	html_end(h);
}

static void begin_table(struct site_call *c)
{
	html_begin_class(c->h, "table", "list");
	html_raw(c->h, "<thead><tr><th scope=\"col\" class=\"text\">Job</th>");
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (is_shown(c, &columns[i]))
			put_head_cell(c, &columns[i]);
	}
	html_raw(c->h, "</tr></thead>");
	html_begin(c->h, "tbody");
}

static void put_value(struct html *h, const struct store_job *job, const struct column *column)
{
	struct value number;

	if (column->put)
		return column->put(h, job);
	number = store_job_number(job, column->sort);
	put_human(h, number.is_known, column->words(number.number));
}

static int put_job(void *context, const struct store_job *job)
{
	struct site_call *c = context;

	if (!c->is_begun)
		begin_table(c);
	c->is_begun = true;
	html_begin(c->h, "tr");
	site_put_job_head(c->h, job);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (!is_shown(c, &columns[i]))
			continue;
		site_begin_cell(c->h, columns[i].head, columns[i].class);
		put_value(c->h, job, &columns[i]);
		html_end(c->h);
	}
	html_end(c->h);
	return 0;
}

/* ---- the page ---- */

static void put_page_link(struct site_call *c, const char *after, const char *words)
{
	struct address address;

	html_begin_tag(c->h, "a", { "rel", after ? "next" : NULL });
	address = address_begin(c->h, "href", "/jobs");
	address_add_filter(&address, c, NULL);
	address_add(&address, "after", after);
	site_end_link(&address, words);
}

static void put_pages(struct site_call *c)
{
	html_begin_tag(c->h, "nav", { "class", "pages" }, { "aria-label", "Pages of the list" });
	if (api_text(&c->api, "after"))
		put_page_link(c, NULL, "First page");
	if (c->api.next_page)
		put_page_link(c, c->api.next_page, "Next page");
	html_end(c->h);
}

int site_list_jobs(struct site_call *c, const struct job_filter *filter, const char *sort,
		   struct error *err)
{
	const char *order = api_text(&c->api, "order");
	bool wanted[STORE_COLUMNS_MAX] = {};
	struct store_page page = {
		.columns = wanted,
		.is_ascending = order && strcmp(order, "asc") == 0,
		.after = api_text(&c->api, "after"),
	};
	int r;

	for (size_t i = 0; i < store_column_count(); i++) {
		const char *name = store_column(i).name;

		page.order = strcmp(name, sort) == 0 ? i : page.order;
		wanted[i] = page.order == i || strcmp(name, "memory.peak_bytes") == 0;
		for (size_t j = 0; j < ARRAY_SIZE(columns); j++)
			wanted[i] |= columns[j].sort && strcmp(name, columns[j].sort) == 0;
	}
	c->sort = sort;
	r = store_page_jobs(c->api.server->store, filter, &page, &c->api.who, put_job, c,
			    &c->api.next_page, err);
	if (r < 0)
		return r;
	if (c->is_begun)
		site_end_table(c->h);
	else
		html_element(c->h, "p", "none", "No job matches.");
	return 0;
}

static int put_jobs(struct site_call *c, struct error *err)
{
	struct job_filter filter = site_filter(c, 0);
	const char *sort = api_text(&c->api, "sort");
	int r;

	filter.limit = (size_t)api_number(&c->api, "limit", ROWS);
	html_begin_class(c->h, "div", "list-head");
	html_element(c->h, "h1", NULL, "%s", c->sees_others ? "Jobs" : "My jobs");
	html_end(c->h);
	site_put_filters(c, "/jobs", 0);
	r = site_list_jobs(c, &filter, sort ? sort : "start", err);
	if (r == 0)
		put_pages(c);
	return r;
}

const struct site_page jobs_page = {
	.path = "/jobs",
	.title = "Jobs",
	.route = { .parameters = { api_filter_parameters, api_page_parameters, site_days_parameters,
				   site_range_parameters } },
	.put = put_jobs,
};
