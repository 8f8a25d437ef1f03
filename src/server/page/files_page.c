/* SPDX-License-Identifier: MIT */
/* Which file systems jobs load, and of one the jobs that load it. */
#include "basic/humanize.h"
#include "model/job_filter.h"
#include "server/page/site.h"
#include "server/server.h"

#define DAYS 1 /* unless others are asked for */
#define ROWS_MAX 50

static void put_numbers(struct html *h, const struct store_mount *row)
{
	site_put_cell(h, "Read", NULL, humanize_bytes(row->read_bytes).text);
	site_put_cell(h, "Written", NULL, humanize_bytes(row->write_bytes).text);
	site_put_cell(h, "Metadata calls", NULL, humanize_count(row->meta_calls).text);
	html_end(h);
}

static void put_mount(void *context, const struct store_mount *row)
{
	static const char *const without[] = { "mount", NULL };
	struct site_call *c = context;
	struct address address;

	html_begin(c->h, "tr");
	html_begin_tag(c->h, "th", { "scope", "row" });
	html_begin(c->h, "a");
	address = address_begin(c->h, "href", "/files", NULL);
	address_add_filter(&address, c, without);
	address_add(&address, "mount", row->mount);
	address_end(&address);
	html_text(c->h, "%s", row->mount);
	html_end(c->h);
	html_end(c->h);
	site_put_cell(c->h, "Type", "text", row->fstype ? row->fstype : "-");
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

static int put_files(struct site_call *c, struct error *err)
{
	/* clang-format off */
	static const struct site_head mounts[] = {
		{ "File system", "text" }, { "Type", "text" }, { "Jobs", NULL }, { "Read", NULL }, { "Written", NULL },
		{ "Metadata calls", NULL }, {},
	}, jobs[] = {
		{ "Job", "text" }, { "User", "text" }, { "Read", NULL }, { "Written", NULL }, { "Metadata calls", NULL }, {},
	};
	/* clang-format on */
	const char *mount = api_text(&c->api, "mount");
	struct job_filter filter = site_filter(c, DAYS);
	int r;

	filter.limit = ROWS_MAX;
	html_begin_class(c->h, "div", "list-head");
	html_element(c->h, "h1", NULL, "Files%s%s", mount ? " on " : "", mount ? mount : "");
	if (mount)
		site_put_link(c->h, "/files", "All file systems", false);
	html_end(c->h);
	site_put_filters(c, "/files", DAYS);
	html_element(c->h, "p", "note",
		     "Jobs that ran in this time, those that run up to their last checkpoint; "
		     "the most bytes first. A job counts whole.");
	site_begin_table(c->h, mount ? jobs : mounts);
	r = store_list_mounts(c->api.server->store, &filter, &c->api.who, mount,
			      mount ? put_job : put_mount, c, err);
	site_end_table(c->h);
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
