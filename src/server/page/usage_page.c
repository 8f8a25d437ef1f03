/* SPDX-License-Identifier: MIT */
/* What jobs used and left unused: by day, account, user and what stands out, and the worst ones. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "model/job_filter.h"
#include "server/page/site.h"
#include "server/server.h"

#define DAYS 30 /* unless others are asked for */
#define ROWS_MAX 15 /* of a table */
#define DAY_ROWS_MAX 400
#define WORST_MAX 10
#define HOUR_S 3600

static const struct section {
	const char *by, *title, *filter; /* filter: the parameter of a list of its jobs */
	bool is_of_all; /* shown to those who see others' jobs */
} sections[] = {
	{ "reason", "By verdict", "text", false },
	{ "account", "By account", "account", false },
	{ "user", "By user", "user", true },
	{ "name", "By name", "name", false },
};

/* ---- the sums ---- */

enum { CORE, USER, SYSTEM, JOULES, SUMS };
static const char *const sums[SUMS] = { "core_seconds", "cpu.user_seconds", "cpu.system_seconds",
					"energy.joules" };

struct usage {
	char *key; /* owned; NULL: jobs without one, or of a day */
	uint64_t time_ns, jobs;
	double core, used, unused, joules; /* joules: NAN: not known */
};

struct usages { /* begins as {} */
	struct usage *items;
	size_t count, room;
};

static void usages_clear(struct usages *u)
{
	for (size_t i = 0; i < u->count; i++)
		free(u->items[i].key);
	free(u->items);
}

static int take_usage(void *context, const struct store_sums *row)
{
	struct usages *u = context;
	struct usage usage = { .time_ns = row->time_ns,
			       .jobs = row->jobs,
			       .joules = row->values[JOULES] };

	/* what is not known counts for nothing */
	usage.core = fmax(row->values[CORE], 0);
	usage.used = fmax(row->values[USER], 0) + fmax(row->values[SYSTEM], 0);
	usage.unused = fmax(usage.core - usage.used, 0);
	if (array_reserve(&u->items, &u->room, u->count, sizeof(*u->items)) < 0 ||
	    (row->key && !(usage.key = strdup(row->key))))
		return -ENOMEM;
	u->items[u->count++] = usage;
	return 0;
}

static int ask_sums(struct site_call *c, const char *by, const struct job_filter *filter,
		    struct usages *ret, struct error *err)
{
	return store_list_sums(c->api.server->store, by, sums, SUMS, filter, &c->api.who,
			       take_usage, ret, err);
}

static int compare_unused(const void *a, const void *b)
{
	double left = ((const struct usage *)a)->unused, right = ((const struct usage *)b)->unused;

	return (left < right) - (left > right);
}

/* ---- tables ---- */

/* How much of it the jobs left unused, and of how much. */
static void put_numbers(struct html *h, const struct usage *row)
{
	site_put_cell(h, "Jobs", NULL, humanize_count(row->jobs).text);
	site_begin_cell(h, "Core-hours", NULL);
	site_put_hours(h, row->core);
	html_end(h);
	site_begin_cell(h, "CPU used", NULL);
	site_put_share(h, row->core > 0, row->core > 0 ? fmin(row->used / row->core, 1) : 0);
	html_end(h);
	site_begin_cell(h, "Unused core-hours", NULL);
	site_put_hours(h, row->unused);
	html_end(h);
	/* the sum of all sites of the world is less than a number holds */
	site_put_cell(h, "Energy", NULL,
		      isnan(row->joules)
			      ? "-"
			      : humanize_energy((uint64_t)fmin(row->joules * 1e6, 9e18)).text);
}

static void put_key(struct site_call *c, const struct section *section, const char *key)
{
	const char *const without[] = { section->filter, "days", NULL };
	char days[16];
	struct address address;

	html_begin_tag(c->h, "th", { "scope", "row" });
	if (!key) {
		html_text(c->h, "(none)");
		html_end(c->h);
		return;
	}
	address = site_begin_link(c->h, "/jobs");
	address_add_filter(&address, c, without);
	address_add(&address, section->filter, key);
	snprintf(days, sizeof(days), "%u", (unsigned int)api_number(&c->api, "days", DAYS));
	address_add(&address, "days", days);
	address_add(&address, "sort", "unused_core_seconds");
	address_end(&address);
	if (strcmp(section->by, "reason") == 0)
		site_put_reason(c->h, &(struct store_job){ .reason = key });
	else
		html_text(c->h, "%s", key);
	html_end(c->h);
	html_end(c->h);
}

static int put_section(struct site_call *c, const struct section *section,
		       const struct job_filter *filter, struct error *err)
{
	_cleanup_(usages_clear) struct usages usages = {};
	/* clang-format off */
	const struct site_head heads[] = {
		{ section->title + strlen("By "), "text" }, { "Jobs", NULL }, { "Core-hours", NULL }, { "CPU used", NULL },
		{ "Unused core-hours", NULL }, { "Energy", NULL }, {},
	};
	/* clang-format on */
	int r = ask_sums(c, section->by, filter, &usages, err);

	if (r < 0)
		return r;
	if (usages.count)
		qsort(usages.items, usages.count, sizeof(*usages.items), compare_unused);
	html_begin(c->h, "section");
	html_element(c->h, "h2", NULL, "%s", section->title);
	site_begin_table(c->h, heads);
	for (size_t i = 0; i < MIN(usages.count, (size_t)ROWS_MAX); i++) {
		html_begin(c->h, "tr");
		put_key(c, section, usages.items[i].key);
		put_numbers(c->h, &usages.items[i]);
		html_end(c->h);
	}
	site_end_table(c->h);
	if (usages.count > ROWS_MAX)
		html_element(c->h, "p", "note", "The %d with the most unused core-hours, of %zu.",
			     ROWS_MAX, usages.count);
	html_end(c->h);
	return 0;
}

/* ---- over days ---- */

#define COLUMN 12 /* of a day, and... */
#define HEIGHT 90 /* ...of the greatest */

static void put_rect(struct html *h, const char *class, double x, double y, double height)
{
	html_begin_tag(h, "rect", { "class", class });
	html_attribute(h, "x", "%g", x);
	html_attribute(h, "y", "%.1f", y);
	html_attribute(h, "width", "%d", COLUMN - 2);
	html_attribute(h, "height", "%.1f", height);
	html_end(h);
}

static void put_day(struct html *h, const struct usage *row, size_t i, double most)
{
	double used = fmin(row->used, row->core);
	double height = row->core / most * HEIGHT, used_height = used / most * HEIGHT;
	char day[TIMESTAMP_SIZE];

	html_begin(h, "g");
	html_element(h, "title", NULL, "%.10s: %.0f of %.0f core-hours used, %llu jobs",
		     timestamp_format(day, row->time_ns), used / HOUR_S, row->core / HOUR_S,
		     (unsigned long long)row->jobs);
	put_rect(h, "gap", (double)(i * COLUMN), HEIGHT - height, height - used_height);
	put_rect(h, "c0", (double)(i * COLUMN), HEIGHT - used_height, used_height);
	html_end(h);
}

static int put_days(struct site_call *c, const struct job_filter *filter, struct error *err)
{
	_cleanup_(usages_clear) struct usages days = {};
	struct job_filter all = *filter;
	char first[TIMESTAMP_SIZE], last[TIMESTAMP_SIZE];
	double most = 0;
	int r;

	all.limit = DAY_ROWS_MAX;
	r = ask_sums(c, "day", &all, &days, err);
	for (size_t i = 0; i < days.count; i++)
		most = fmax(most, days.items[i].core);
	if (r < 0 || most <= 0)
		return r;
	html_begin(c->h, "figure");
	html_begin_tag(c->h, "svg", { "class", "days" }, { "preserveAspectRatio", "xMinYMax" },
		       { "role", "img" }, { "aria-label", "Core-hours by day" });
	html_attribute(c->h, "viewBox", "0 0 %zu %d", MAX(days.count, (size_t)20) * COLUMN, HEIGHT);
	for (size_t i = 0; i < days.count; i++)
		put_day(c->h, &days.items[i], i, most);
	html_end(c->h);
	html_element(c->h, "figcaption", NULL,
		     "Core-hours by the day on which jobs started, %.10s to %.10s; at most %.0f a "
		     "day. Blue: used.",
		     timestamp_format(first, days.items[0].time_ns),
		     timestamp_format(last, days.items[days.count - 1].time_ns), most / HOUR_S);
	html_end(c->h);
	return 0;
}

/* ---- the page ---- */

static int put_usage(struct site_call *c, struct error *err)
{
	struct job_filter filter = site_filter(c, DAYS), worst = filter;
	int r;

	filter.limit = STORE_LIMIT_MAX;
	worst.limit = WORST_MAX;
	html_begin_class(c->h, "div", "list-head");
	html_element(c->h, "h1", NULL, "Usage");
	html_end(c->h);
	site_put_filters(c, "/usage", DAYS);
	r = put_days(c, &filter, err);
	html_element(c->h, "h2", NULL, "Jobs with the most unused core-hours");
	if (r == 0)
		r = site_list_jobs(c, &worst, "unused_core_seconds", err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(sections); i++) {
		if (!sections[i].is_of_all || c->sees_others)
			r = put_section(c, &sections[i], &filter, err);
	}
	return r;
}

const struct site_page usage_page = {
	.path = "/usage",
	.title = "Usage",
	.route = { .parameters = { api_filter_parameters, site_days_parameters,
				   site_range_parameters } },
	.put = put_usage,
};
