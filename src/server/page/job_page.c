/* SPDX-License-Identifier: MIT */
/* One job: what it asked for beside what it used, what changed since the run before, and its
 * report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "model/job_filter.h"
#include "model/record.h"
#include "report/html_report.h"
#include "report/report_compare.h"
#include "server/page/site.h"
#include "server/server.h"

#define EARLIER_MAX 20 /* of the same name, that are looked at */
#define NS 1e9

/* ---- the rows of jobs ---- */

struct found { /* as much of a row as is shown; texts are its own */
	char *id, *name, *user, *manager, *cluster, *state;
	bool is_unmeasured;
	uint64_t start_ns, wanted_start_ns;
	struct value elapsed_ns;
	struct store_run run; /* numbers alone */
};

static void found_clear(struct found *f)
{
	char *const texts[] = { f->id, f->name, f->user, f->manager, f->cluster, f->state };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
}

static char *copy_of(const char *text)
{
	return text ? strdup(text) : NULL;
}

static int copy_job(const struct store_job *job, struct found *f)
{
	f->id = strdup(job->id);
	f->name = copy_of(job->name);
	f->user = copy_of(job->user);
	f->manager = copy_of(job->manager);
	f->cluster = copy_of(job->cluster);
	f->state = copy_of(job->state);
	f->is_unmeasured = job->is_unmeasured;
	f->start_ns = job->start_ns;
	f->elapsed_ns = job->elapsed_ns;
	f->run = job->run;
	return f->id ? 0 : -ENOMEM;
}

/* The newest, or that of the moment that was asked for. */
static int take_this(void *context, const struct store_job *job)
{
	struct found *f = context;

	if (f->id || (f->wanted_start_ns && job->start_ns != f->wanted_start_ns))
		return 0;
	return copy_job(job, f);
}

static int take_earlier(void *context, const struct store_job *job)
{
	struct found *f = context;

	if (f->id || !job->is_final || job->is_unmeasured || job->start_ns >= f->wanted_start_ns)
		return 0;
	return copy_job(job, f);
}

static int find_this(struct site_call *c, struct found *ret, struct error *err)
{
	const struct job_filter filter = { .id = c->api.id,
					   .manager = api_text(&c->api, "manager"),
					   .cluster = api_text(&c->api, "cluster") };
	int r;

	ret->wanted_start_ns = api_moment(&c->api, "start");
	r = store_list_jobs(c->api.server->store, &filter, &c->api.who, take_this, ret, NULL, err);
	if (r == 0 && !ret->id)
		r = error_set(err, -ENOENT, "there is no job '%s'", c->api.id);
	return r;
}

/* Of the same name and user, measured, and over. */
static int find_earlier(struct site_call *c, const struct found *job, struct found *ret,
			struct error *err)
{
	const struct job_filter filter = { .name = job->name,
					   .user = job->user,
					   .manager = job->manager,
					   .cluster = job->cluster,
					   .until_ns = job->start_ns,
					   .limit = EARLIER_MAX };

	ret->wanted_start_ns = job->start_ns;
	if (!job->name || !job->user)
		return 0;
	return store_list_jobs(c->api.server->store, &filter, &c->api.who, take_earlier, ret, NULL,
			       err);
}

/* ---- the run before ---- */

static int read_earlier(struct site_call *c, const struct found *job, struct record **ret,
			struct error *err)
{
	struct api_call call = c->api;
	char start[TIMESTAMP_SIZE];
	const struct {
		const char *name, *value;
	} values[] = { { "manager", job->manager },
		       { "cluster", job->cluster },
		       { "start", timestamp_format(start, job->start_ns) } };
	const struct api_parameter *p;

	for (size_t i = 0; (p = api_parameter(call.route, i)); i++) {
		call.values[i] = NULL;
		for (size_t j = 0; j < ARRAY_SIZE(values); j++)
			call.values[i] = strcmp(p->name, values[j].name) == 0 ? values[j].value
									      : call.values[i];
	}
	call.id = job->id;
	return api_read_job(&call, ret, err);
}

static void put_link_to(struct html *h, const struct found *f)
{
	site_put_job_link(h,
			  &(struct store_job){ .id = f->id,
					       .manager = f->manager,
					       .cluster = f->cluster,
					       .start_ns = f->start_ns },
			  f->id);
}

/* Where there is none, or it cannot be read any more, nothing is said. */
static void put_comparison(struct site_call *c, const struct found *job, const struct record *now)
{
	_cleanup_(found_clear) struct found before = {};
	_cleanup_(record_freep) struct record *last = NULL;
	_cleanup_free_ char *change = NULL;
	struct error unused = {};

	if (find_earlier(c, job, &before, &unused) < 0 || !before.id ||
	    read_earlier(c, &before, &last, &unused) < 0)
		return;
	change = report_compare(last, now);
	if (!change)
		return;
	html_begin_class(c->h, "p", "compared");
	html_text(c->h, "Since the run before, job ");
	put_link_to(c->h, &before);
	html_text(c->h, " of ");
	site_put_moment(c->h, before.start_ns);
	html_text(c->h, ": ");
	html_element(c->h, "strong", NULL, "%s.", change);
	html_end(c->h);
}

/* ---- what it asked for ---- */

static void put_asked(struct html *h, const char *what, const char *asked, const char *used,
		      double share)
{
	html_begin(h, "tr");
	html_begin(h, "th");
	html_attribute(h, "scope", "row");
	html_text(h, "%s", what);
	html_end(h);
	html_element(h, "td", NULL, "%s", asked);
	html_element(h, "td", NULL, "%s", used);
	html_begin(h, "td");
	site_put_share(h, share >= 0, share);
	html_end(h);
	html_end(h);
}

static const struct value *first_known(const struct value *a, const struct value *b)
{
	return a->is_known ? a : b;
}

static double share_of(double used, double asked)
{
	return asked > 0 ? used / asked : -1;
}

static void put_time(const struct found *job, struct html *h)
{
	const struct value *limit = &job->run.time_limit;

	if (limit->is_known && job->elapsed_ns.is_known)
		put_asked(h, "Time", humanize_duration(limit->number).text,
			  humanize_duration(job->elapsed_ns.number).text,
			  share_of((double)job->elapsed_ns.number, (double)limit->number));
}

static void put_cores(const struct record *r, const struct analysis *a, struct html *h)
{
	const struct use *cores = &a->efficiency.uses[RESOURCE_CORES];
	const struct value *allocated = &r->reading.values[METRIC_CPU_ALLOCATED];

	if (allocated->is_known && cores->share.is_known)
		put_asked(
			h, "Cores", humanize_cores(allocated->number).text,
			humanize_cores((uint64_t)(cores->share.number * (double)allocated->number))
				.text,
			cores->share.number);
}

static void put_memory(const struct found *job, const struct record *r, struct html *h)
{
	const struct value *limit = first_known(&job->run.requested_memory,
						&r->reading.values[METRIC_MEMORY_LIMIT]),
			   *peak = &r->reading.values[METRIC_MEMORY_PEAK];

	if (limit->is_known && peak->is_known)
		put_asked(h, "Memory", humanize_bytes(limit->number).text,
			  humanize_bytes(peak->number).text,
			  /* a peak is one node's, what was asked for is of all */
			  r->merged_nodes > 1
				  ? -1
				  : share_of((double)peak->number, (double)limit->number));
}

static void put_box(const struct found *job, const struct record *r, const struct analysis *a,
		    struct html *h)
{
	static const char *const heads[] = { "Asked for", "Used", "" };

	html_begin_class(h, "table", "asked");
	html_begin(h, "thead");
	html_begin(h, "tr");
	html_begin(h, "td");
	html_end(h);
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		html_element(h, *heads[i] ? "th" : "td", NULL, "%s", heads[i]);
	html_end(h);
	html_end(h);
	html_begin(h, "tbody");
	put_time(job, h);
	if (r) {
		put_cores(r, a, h);
		put_memory(job, r, h);
	}
	html_end(h);
	html_end(h);
}

/* ---- the page ---- */

static void put_links(struct site_call *c, const struct found *job)
{
	struct address address;

	html_begin_class(c->h, "p", "links");
	html_begin(c->h, "a");
	html_attribute(c->h, "href", "/jobs");
	html_text(c->h, "All jobs");
	html_end(c->h);
	if (job->name) {
		html_text(c->h, " · ");
		html_begin(c->h, "a");
		address = address_begin(c->h, "href", "/jobs", NULL);
		address_add(&address, "name", job->name);
		address_add(&address, "user", job->user);
		address_end(&address);
		html_text(c->h, "Jobs like this one");
		html_end(c->h);
	}
	html_end(c->h);
}

static int put_measured(struct site_call *c, const struct found *job, struct error *err)
{
	_cleanup_(record_freep) struct record *record = NULL;
	_cleanup_(analysis_clear) struct analysis analysis = {};
	int r = api_read_job(&c->api, &record, err);

	if (r == 0)
		r = analysis_make(c->api.server->rules, record, &analysis);
	if (r < 0)
		return r;
	put_comparison(c, job, record);
	put_box(job, record, &analysis, c->h);
	html_report_body(record, &analysis, c->h);
	return 0;
}

static int put_job(struct site_call *c, struct error *err)
{
	_cleanup_(found_clear) struct found job = {};
	int r = find_this(c, &job, err);

	if (r < 0)
		return r;
	put_links(c, &job);
	if (!job.is_unmeasured)
		return put_measured(c, &job, err);
	html_element(c->h, "h1", NULL, "Job %s %s", job.id, job.name ? job.name : "");
	html_element(c->h, "p", "outcome", "%s. No node measured this job.",
		     job.state ? job.state : "Its state is not known");
	put_box(&job, NULL, NULL, c->h);
	return 0;
}

const struct site_page job_page = {
	.path = "/jobs/",
	.route = { .parameters = { api_job_parameters } },
	.put = put_job,
};
