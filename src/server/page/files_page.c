/* SPDX-License-Identifier: MIT */
/* Which file systems jobs load, and of one the jobs that load it. */
#include "basic/humanize.h"
#include "basic/macro.h"
#include "model/job_filter.h"
#include "server/page/site.h"
#include "server/server.h"

#define DAYS 1 /* unless others are asked for */
#define ROWS_MAX 50

static void put_numbers(struct html *h, const struct store_mount *row)
{
	site_begin_cell(h, "Now", NULL);
	if (row->now.is_known)
		html_text(h, "%s/s", humanize_bytes(row->now.number).text);
	else
		html_text(h, "-");
	html_end(h);
	site_put_cell(h, "Read", NULL, humanize_bytes(row->read_bytes).text);
	site_put_cell(h, "Written", NULL, humanize_bytes(row->write_bytes).text);
	site_put_cell(h, "Metadata calls", NULL, humanize_count(row->meta_calls).text);
	html_end(h);
}

/* The head of a row, which leads to its part of this page: @key is @value there. */
static void put_part(struct site_call *c, const char *key, const char *value)
{
	const char *const without[] = { key, NULL };
	struct address address;

	html_begin(c->h, "tr");
	html_begin_tag(c->h, "th", { "scope", "row" });
	address = site_begin_link(c->h, "/files");
	address_add_filter(&address, c, without);
	address_add(&address, key, value);
	site_end_link(&address, *value ? value : "(none)");
	html_end(c->h);
}

static void put_mount(void *context, const struct store_mount *row)
{
	struct site_call *c = context;

	put_part(c, "mount", row->mount);
	site_put_cell(c->h, "Type", "text", row->fstype ? row->fstype : "-");
	site_put_cell(c->h, "Jobs", NULL, humanize_count(row->jobs).text);
	put_numbers(c->h, row);
}

static void put_user(void *context, const struct store_mount *row)
{
	struct site_call *c = context;

	put_part(c, "user", row->job.user);
	site_put_cell(c->h, "Jobs", NULL, humanize_count(row->jobs).text);
	put_numbers(c->h, row);
}

static void put_job(void *context, const struct store_mount *row)
{
	struct site_call *c = context;

	html_begin(c->h, "tr");
	site_put_job_head(c->h, &row->job);
	site_put_cell(c->h, "User", "text", row->job.user ? row->job.user : "-");
	put_numbers(c->h, row);
}

/* clang-format off */
#define NUMBERS { "Now", NULL }, { "Read", NULL }, { "Written", NULL }, { "Metadata calls", NULL }, {}
static const struct view {
	enum store_loads of;
	const char *title; /* of one of several on a page */
	bool is_of_all; /* for those who see others' jobs */
	void (*put)(void *context, const struct store_mount *row);
	struct site_head heads[8];
} views[] = { /* the first is of all file systems, and the others of one */
	{ LOADS_OF_MOUNTS, NULL, false, put_mount, { { "File system", "text" }, { "Type", "text" }, { "Jobs", NULL }, NUMBERS } },
	{ LOADS_OF_USERS, "Users", true, put_user, { { "User", "text" }, { "Jobs", NULL }, NUMBERS } },
	{ LOADS_OF_JOBS, "Jobs", false, put_job, { { "Job", "text" }, { "User", "text" }, NUMBERS } },
};
/* clang-format on */

static int put_files(struct site_call *c, struct error *err)
{
	const char *mount = api_text(&c->api, "mount");
	struct job_filter filter = site_filter(c, DAYS);
	int r = 0;

	filter.limit = ROWS_MAX;
	html_begin_class(c->h, "div", "list-head");
	html_element(c->h, "h1", NULL, "Files%s%s", mount ? " on " : "", mount ? mount : "");
	if (mount)
		site_put_link(c->h, "/files", "All file systems", false);
	html_end(c->h);
	site_put_filters(c, "/files", DAYS);
	html_element(c->h, "p", "note",
		     "Jobs that ran in this time, with all that each of them did. Now: bytes read "
		     "and written per second by running jobs, averaged over each job's run so "
		     "far; the largest first.");
	for (size_t i = mount != NULL; r == 0 && i < (mount ? ARRAY_SIZE(views) : 1); i++) {
		if (views[i].is_of_all && !c->sees_others)
			continue;
		if (views[i].title)
			html_element(c->h, "h2", NULL, "%s", views[i].title);
		site_begin_table(c->h, views[i].heads);
		r = store_list_mounts(c->api.server->store, views[i].of, &filter, &c->api.who,
				      mount, views[i].put, c, err);
		site_end_table(c->h);
	}
	return r;
}

static const struct api_parameter mount_parameters[] = {
	{ "mount", API_STRING, "What each job did on this mount." },
	{},
};

const struct site_page files_page = {
	.path = "/files",
	.title = "Files",
	.route = { .parameters = { api_filter_parameters, site_days_parameters,
				   site_range_parameters, mount_parameters } },
	.put = put_files,
};
