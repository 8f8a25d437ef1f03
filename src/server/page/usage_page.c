/* SPDX-License-Identifier: MIT */
/* What jobs used and left unused: by day, account, user and what stands out, and the worst ones. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "model/json_place.h"
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
	{ "reason", "By what stands out", "text", false },
	{ "account", "By account", "account", false },
	{ "user", "By user", "user", true },
	{ "name", "By name", "name", false },
};

/* ---- the sums ---- */

struct asking {
	struct site_call *call;
	const char *by;
	const struct job_filter *filter;
	struct error *err;
	int r;
};

static void format_sums(const void *what, struct document *d)
{
	struct asking *a = *(struct asking *const *)what;
	struct site_call *c = a->call;
	bool wanted[STORE_COLUMNS_MAX], has_more;

	memset(wanted, true, sizeof(wanted));
	document_begin_map(d);
	document_begin_list_of(d, "rows");
	a->r = store_format_sums(c->api.server->store, a->by, "key", wanted, a->filter, &c->api.who,
				 d, &has_more, a->err);
	document_end_list(d);
	document_end_map(d);
}

static int ask_sums(struct site_call *c, const char *by, const struct job_filter *filter,
		    json_t **ret, struct error *err)
{
	struct asking asking = { c, by, filter, err, 0 }, *what = &asking;
	_cleanup_(json_freep) json_t *root = NULL;
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	int r = document_format_line(format_sums, &what, &text, &length);

	if (r < 0 || asking.r < 0)
		return r < 0 ? r : asking.r;
	root = json_loadb(text, length, 0, NULL);
	*ret = json_incref(json_object_get(root, "rows"));
	return *ret ? 0 : -ENOMEM;
}

static double number_of(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

static double used_of(const json_t *row)
{
	return number_of(row, "cpu.user_seconds") + number_of(row, "cpu.system_seconds");
}

static double unused_of(const json_t *row)
{
	return MAX(number_of(row, "core_seconds") - used_of(row), 0.0);
}

static int compare_unused(const void *a, const void *b)
{
	double left = unused_of(*(json_t *const *)a), right = unused_of(*(json_t *const *)b);

	return (left < right) - (left > right);
}

/* The rows by what they left unused.  NULL: no memory.  The caller frees; the rows are the list's.
 */
static json_t **sort_rows(const json_t *list, size_t count)
{
	json_t **rows = malloc((count + 1) * sizeof(*rows));

	for (size_t i = 0; rows && i < count; i++)
		rows[i] = json_array_get(list, i);
	if (rows)
		qsort(rows, count, sizeof(*rows), compare_unused);
	return rows;
}

/* ---- tables ---- */

/* How much of it the jobs left unused, and of how much. */
static void put_numbers(struct html *h, const json_t *row)
{
	double core = number_of(row, "core_seconds");
	const json_t *joules = json_object_get(row, "energy.joules");

	site_put_cell(h, "Jobs", NULL, humanize_count((uint64_t)number_of(row, "jobs")).text);
	site_begin_cell(h, "Core-hours", NULL);
	site_put_hours(h, core);
	html_end(h);
	site_begin_cell(h, "CPU used", NULL);
	site_put_share(h, core > 0, core > 0 ? MIN(used_of(row) / core, 1.0) : 0);
	html_end(h);
	site_begin_cell(h, "Unused core-hours", NULL);
	site_put_hours(h, unused_of(row));
	html_end(h);
	site_put_cell(h, "Energy", NULL,
		      json_is_number(joules)
			      ? humanize_energy((uint64_t)(json_number_value(joules) * 1e6)).text
			      : "-");
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
	html_begin(c->h, "a");
	address = address_begin(c->h, "href", "/jobs", NULL);
	address_add_filter(&address, c, without);
	address_add(&address, section->filter, key);
	snprintf(days, sizeof(days), "%u", (unsigned int)api_number(&c->api, "days", DAYS));
	address_add(&address, "days", days);
	address_add(&address, "sort", "unused_core_seconds");
	address_end(&address);
	html_text(c->h, "%s", key);
	html_end(c->h);
	html_end(c->h);
}

static int put_section(struct site_call *c, const struct section *section,
		       const struct job_filter *filter, struct error *err)
{
	_cleanup_(json_freep) json_t *list = NULL;
	_cleanup_free_ json_t **rows = NULL;
	/* clang-format off */
	const struct site_head heads[] = {
		{ section->title + strlen("By "), "text" }, { "Jobs", NULL }, { "Core-hours", NULL }, { "CPU used", NULL },
		{ "Unused core-hours", NULL }, { "Energy", NULL }, {},
	};
	/* clang-format on */
	int r = ask_sums(c, section->by, filter, &list, err);
	size_t count = json_array_size(list);

	if (r < 0)
		return r;
	rows = sort_rows(list, count);
	if (!rows)
		return -ENOMEM;
	html_begin(c->h, "section");
	html_element(c->h, "h2", NULL, "%s", section->title);
	site_begin_table(c->h, heads);
	for (size_t i = 0; i < MIN(count, (size_t)ROWS_MAX); i++) {
		html_begin(c->h, "tr");
		put_key(c, section, json_string_value(json_object_get(rows[i], "key")));
		put_numbers(c->h, rows[i]);
		html_end(c->h);
	}
	site_end_table(c->h);
	if (count > ROWS_MAX)
		html_element(c->h, "p", "note", "The %d that left most unused, of %zu.", ROWS_MAX,
			     count);
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

static void put_day(struct html *h, const json_t *row, size_t i, double most)
{
	double core = number_of(row, "core_seconds"), used = MIN(used_of(row), core);
	double height = core / most * HEIGHT, used_height = used / most * HEIGHT;

	html_begin(h, "g");
	html_element(h, "title", NULL, "%.10s: %.0f of %.0f core-hours used, %.0f jobs",
		     json_string_value(json_object_get(row, "key")), used / HOUR_S, core / HOUR_S,
		     number_of(row, "jobs"));
	put_rect(h, "gap", (double)(i * COLUMN), HEIGHT - height, height - used_height);
	put_rect(h, "c0", (double)(i * COLUMN), HEIGHT - used_height, used_height);
	html_end(h);
}

static int put_days(struct site_call *c, const struct job_filter *filter, struct error *err)
{
	_cleanup_(json_freep) json_t *list = NULL;
	struct job_filter all = *filter;
	double most = 0;
	size_t count;
	int r;

	all.limit = DAY_ROWS_MAX;
	r = ask_sums(c, "day", &all, &list, err);
	count = json_array_size(list);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		most = MAX(most, number_of(json_array_get(list, i), "core_seconds"));
	if (most <= 0)
		return 0;
	html_begin(c->h, "figure");
	html_begin_tag(c->h, "svg", { "class", "days" }, { "preserveAspectRatio", "xMinYMax" },
		       { "role", "img" }, { "aria-label", "Core-hours by day" });
	html_attribute(c->h, "viewBox", "0 0 %zu %d", MAX(count, (size_t)20) * COLUMN, HEIGHT);
	for (size_t i = 0; i < count; i++)
		put_day(c->h, json_array_get(list, i), i, most);
	html_end(c->h);
	html_begin(c->h, "figcaption");
	html_text(c->h,
		  "Core-hours of jobs by the day on which they started, %.10s to %.10s; the "
		  "greatest %.0f. Blue: used.",
		  json_string_value(json_object_get(json_array_get(list, 0), "key")),
		  json_string_value(json_object_get(json_array_get(list, count - 1), "key")),
		  most / HOUR_S);
	html_end(c->h);
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
	html_element(c->h, "h2", NULL, "Jobs that left most unused");
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
