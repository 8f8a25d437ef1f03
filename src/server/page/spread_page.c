/* SPDX-License-Identifier: MIT */
/* How the jobs of a selection spread over numbers of theirs: a table of bars for each. */
#include <inttypes.h>
#include <stdio.h>

#include "basic/humanize.h"
#include "basic/macro.h"
#include "model/job_filter.h"
#include "server/page/site.h"
#include "server/server.h"

#define DAYS 30 /* unless others are asked for */
#define BOUNDS_MAX 10

/* clang-format off */
#define MINUTE 60
#define HOUR 3600
static const struct spread {
	enum job_number number;
	const char *title, *above, *most; /* the parameters of a bar's jobs */
	enum { PERCENT, SECONDS, COUNT } kind;
	uint64_t bounds[BOUNDS_MAX]; /* up to a 0 */
} spreads[] = {
	{ JOB_CPU_PERCENT, "CPU used", "cpu_above", "cpu_most", PERCENT, { 10, 20, 30, 40, 50, 60, 70, 80, 90 } },
	{ JOB_MEMORY_PERCENT, "Memory used", "memory_above", "memory_most", PERCENT, { 10, 20, 30, 40, 50, 60, 70, 80, 90 } },
	{ JOB_WAIT_S, "Wait in the queue", "wait_above", "wait_most", SECONDS, { MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR, 72 * HOUR } },
	{ JOB_CORES, "Cores", "cores_above", "cores_most", COUNT, { 1, 4, 16, 64, 256, 1024, 4096 } },
	{ JOB_ELAPSED_S, "Elapsed", "elapsed_above", "elapsed_most", SECONDS, { MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR, 72 * HOUR } },
};
/* clang-format on */

static void print_bound(const struct spread *s, uint64_t bound, FILE *out)
{
	if (s->kind == PERCENT)
		fprintf(out, "%" PRIu64 " %%", bound);
	else if (s->kind == COUNT)
		fprintf(out, "%" PRIu64, bound);
	else
		fprintf(out, bound < HOUR ? "%" PRIu64 " min" : "%" PRIu64 " h",
			bound / (bound < HOUR ? MINUTE : HOUR));
}

/* "up to 10 %", "10 % to 20 %", "above 90 %"; 0: there is no such bound */
static void put_words(const struct spread *s, uint64_t above, uint64_t most, struct html *h)
{
	char words[64];
	FILE *out = fmemopen(words, sizeof(words), "w");

	if (!out)
		return;
	fputs(!above ? "up to " : !most ? "above " : "", out);
	if (above)
		print_bound(s, above, out);
	fputs(above && most ? " to " : "", out);
	if (most)
		print_bound(s, most, out);
	fclose(out);
	html_text(h, "%s", words);
}

static void put_bar(struct site_call *c, const struct spread *s, size_t i, size_t count,
		    const uint64_t *jobs, uint64_t greatest)
{
	const char *const without[] = { s->above, s->most, "days", NULL };
	const uint64_t above = i ? s->bounds[i - 1] : 0, most = i < count ? s->bounds[i] : 0;
	char text[24];
	struct address address;

	html_begin(c->h, "tr");
	html_begin_tag(c->h, "th", { "scope", "row" });
	address = site_begin_link(c->h, "/jobs");
	address_add_filter(&address, c, without);
	snprintf(text, sizeof(text), "%" PRIu64, api_number(&c->api, "days", DAYS));
	address_add(&address, "days", text);
	snprintf(text, sizeof(text), "%" PRIu64, above);
	address_add(&address, s->above, above ? text : NULL);
	snprintf(text, sizeof(text), "%" PRIu64, most);
	address_add(&address, s->most, most ? text : NULL);
	address_end(&address);
	put_words(s, above, most, c->h);
	html_end(c->h);
	html_end(c->h);
	html_begin(c->h, "td");
	html_begin_tag(c->h, "progress", { "aria-hidden", "true" });
	html_attribute(c->h, "value", "%" PRIu64, jobs[i]);
	html_attribute(c->h, "max", "%" PRIu64, greatest);
	html_end(c->h);
	html_text(c->h, " %" PRIu64, jobs[i]);
	html_end(c->h);
	html_end(c->h);
}

static int put_spread(struct site_call *c, const struct spread *s, const struct job_filter *filter,
		      struct error *err)
{
	uint64_t jobs[BOUNDS_MAX + 2], greatest = 1;
	size_t count = 0;
	int r;

	while (count < BOUNDS_MAX && s->bounds[count])
		count++;
	r = store_count_jobs(c->api.server->store, s->number, s->bounds, count, filter, &c->api.who,
			     jobs, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i <= count; i++)
		greatest = MAX(greatest, jobs[i]);
	html_begin(c->h, "section");
	html_element(c->h, "h2", NULL, "%s", s->title);
	html_begin_class(c->h, "table", "spread");
	html_raw(c->h,
		 "<thead><tr><th scope=\"col\">Range</th><th scope=\"col\">Jobs</th></tr></thead>");
	html_begin(c->h, "tbody");
	for (size_t i = 0; i <= count; i++)
		put_bar(c, s, i, count, jobs, greatest);
	site_end_table(c->h);
	/* no value, no bar: unmeasured is not 0 */
	html_element(c->h, "p", "note", "Not known for %" PRIu64 " jobs.", jobs[count + 1]);
	html_end(c->h);
	return 0;
}

static int put_spreads(struct site_call *c, struct error *err)
{
	const struct job_filter filter = site_filter(c, DAYS);
	int r = 0;

	html_begin_class(c->h, "div", "list-head");
	html_element(c->h, "h1", NULL, "Distribution of jobs");
	html_end(c->h);
	site_put_filters(c, "/spread", DAYS);
	html_begin_class(c->h, "div", "spreads");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(spreads); i++)
		r = put_spread(c, &spreads[i], &filter, err);
	html_end(c->h);
	return r;
}

const struct site_page spread_page = {
	.path = "/spread",
	.title = "Spread",
	.is_of_all = true,
	.route = { .parameters = { api_filter_parameters, site_days_parameters,
				   site_range_parameters } },
	.put = put_spreads,
};
