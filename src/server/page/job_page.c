/* SPDX-License-Identifier: MIT */
/* One job: what it asked for beside what it used and what would fit, what changed since the run
 * before, and its report. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "codec/records.h"
#include "model/job_filter.h"
#include "model/record.h"
#include "report/html_report.h"
#include "report/report_compare.h"
#include "server/api/caller.h"
#include "server/page/site.h"
#include "server/predict.h"
#include "server/server.h"

#define NODES_SHOWN 8 /* of more the names are folded away */
#define EARLIER_MAX 20 /* of the same name, that are looked at */

/* ---- the run before ---- */

struct earlier {
	char *id, *state;
	uint64_t start_ns, before_ns;
};

static int take_earlier(void *context, const struct store_job *job)
{
	struct earlier *e = context;

	if (e->id || !job->is_final || job->is_unmeasured || job->start_ns >= e->before_ns)
		return 0;
	e->id = strdup(job->id);
	e->state = job->state ? strdup(job->state) : NULL;
	e->start_ns = job->start_ns;
	return e->id ? 0 : -ENOMEM;
}

/* Of the same name and user, measured, and over; its manager and cluster are those of @now. */
static int read_earlier(struct site_call *c, const struct record *now, struct earlier *e,
			struct record **ret)
{
	const struct job_filter filter = { .name = now->job.name,
					   .user = now->job.user,
					   .manager = now->job.manager,
					   .cluster = now->cluster,
					   .until_ns = now->time.start_ns,
					   .limit = EARLIER_MAX };
	struct error unused = {};
	int r;

	e->before_ns = now->time.start_ns;
	r = now->job.name && now->job.user
		    ? store_list_jobs(c->api.server->store, &filter, &c->api.who, take_earlier, e,
				      NULL, &unused)
		    : -ENOENT;
	if (r < 0 || !e->id)
		return -ENOENT;
	return api_read_job(&c->api,
			    &(struct store_question){ .id = e->id,
						      .manager = now->job.manager,
						      .cluster = now->cluster,
						      .start_ns = e->start_ns,
						      .tells_clock = true },
			    ret, &unused);
}

/* Where there is none, or it cannot be read any more, nothing is said. */
static void put_comparison(struct site_call *c, const struct record *now)
{
	_cleanup_(record_freep) struct record *last = NULL;
	_cleanup_free_ char *change = NULL;
	struct earlier e = {};

	if (read_earlier(c, now, &e, &last) == 0) {
		const struct store_job job = { .id = e.id,
					       .manager = now->job.manager,
					       .cluster = now->cluster,
					       .start_ns = e.start_ns };

		html_begin_class(c->h, "p", "compared");
		html_text(c->h, "Job ");
		site_put_job_link(c->h, &job, e.id);
		html_text(c->h, " of ");
		site_put_moment(c->h, e.start_ns);
		html_text(c->h, " was the run before.");
		free(last->job.state);
		last->job.state = TAKE_PTR(e.state);
		/* half a run is no less than a whole one */
		if (now->is_final && (change = report_compare(last, now))) {
			html_text(c->h, " Compared with it: ");
			html_element(c->h, "strong", NULL, "%s.", change);
		}
		html_end(c->h);
	}
	free(e.id);
	free(e.state);
}

/* ---- what would fit ---- */

#define ROOM 1.2 /* as the rules advise it of one job (share/insights.yaml) */
static const enum target fitted[] = { TARGET_RUNTIME, TARGET_MEMORY, TARGET_CORES };
struct fit { /* by the like jobs of its user */
	double value; /* below 0: not known */
	double chance; /* that one needs more */
	unsigned int jobs;
	bool is_more; /* this job did not get by with what it had */
};

/* Where the user's jobs cannot be read, nothing is known. */
static void read_fits(const struct site_call *c, const struct record *r, const struct use *cores,
		      const struct job_request *request, struct fit fits[TARGETS])
{
	_cleanup_(predictor_freep) struct predictor *p = NULL;
	char user[24];
	const struct job_filter filter = { .user = user };
	const struct store_who theirs = { .uid = (uint32_t)r->job.uid };
	const bool is_all = c->api.who.sees_all; /* then by the user's own index */
	struct error unused = {};
	double used[TARGETS] = {}; /* 0: not known */
	size_t count;

	used[TARGET_RUNTIME] = (double)r->time.elapsed_ns / 1e9;
	used[TARGET_MEMORY] = (double)r->reading.values[METRIC_MEMORY_PEAK].number;
	if (cores->share.is_known)
		used[TARGET_CORES] = cores->share.number *
				     (double)r->reading.values[METRIC_CPU_ALLOCATED].number / 1e3;
	snprintf(user, sizeof(user), "%lld", (long long)r->job.uid);
	if (r->job.uid >= 0)
		(void)predict_read_history(c->api.server->store,
					   is_all ? &(struct job_filter){} : &filter,
					   is_all ? &theirs : &c->api.who, NULL, &p, &count,
					   &unused);
	for (size_t i = 0; i < ARRAY_SIZE(fitted); i++) {
		struct fit *fit = &fits[fitted[i]];

		fit->value = p ? predictor_within(p, request, fitted[i], PREDICT_ADVICE_RISK,
						  &fit->chance, &fit->jobs)
			       : -1;
		if (fit->value < 0 || !(used[fitted[i]] > fit->value))
			continue;
		fit->value = used[fitted[i]]; /* less would not have been enough for this one */
		fit->chance = predictor_chance_above(p, request, fitted[i], fit->value, &fit->jobs);
	}
	for (size_t i = 0; i < TARGETS; i++) {
		fits[i].is_more = predict_lacked(r->job.state) == i;
		fits[i].is_more |= i == TARGET_MEMORY &&
				   r->reading.values[METRIC_MEMORY_OOM_KILLS].number;
		fits[i].value = fits[i].is_more ? -1 : fits[i].value;
	}
}

/* Up to a whole number of @step. */
static uint64_t round_up(double value, double step)
{
	return (uint64_t)fmin(ceil(fmax(value / step, 0)) * step, 1e18);
}

/* As lines of a script; those that are known. */
static void put_sbatch(const struct fit fits[TARGETS], bool is_of_many, struct html *h)
{
	const double limit_s = ROOM * fits[TARGET_RUNTIME].value,
		     bytes = ROOM * fits[TARGET_MEMORY].value;
	const uint64_t minutes = round_up(limit_s / 60, limit_s < 3600 ? 1 : 5),
		       mib = round_up(bytes / 0x1p20, bytes < 0x1p31 ? 64 : 1024),
		       cores = round_up(fits[TARGET_CORES].value, 1);

	if (limit_s < 0 && bytes < 0 && fits[TARGET_CORES].value < 0)
		return;
	html_element(h, "p", "note", "From your similar jobs, with a fifth more memory and time:");
	html_begin_tag(h, "pre", { "class", "fits" }, { "tabindex", "0" },
		       { "aria-label", "Lines for sbatch that would fit" });
	if (limit_s >= 0)
		html_element(h, "code", NULL, "#SBATCH --time=%llu-%02llu:%02llu:00",
			     (unsigned long long)minutes / 1440,
			     (unsigned long long)minutes / 60 % 24,
			     (unsigned long long)minutes % 60);
	if (bytes >= 0)
		html_element(h, "code", NULL, "#SBATCH --mem=%llu%c",
			     (unsigned long long)(mib % 1024 ? mib : mib / 1024),
			     mib % 1024 ? 'M' : 'G');
	if (fits[TARGET_CORES].value >= 0)
		html_element(h, "code", NULL, "#SBATCH --%s=%llu%s",
			     is_of_many ? "ntasks" : "cpus-per-task",
			     (unsigned long long)MAX(cores, UINT64_C(1)),
			     is_of_many ? "" : " # or --ntasks");
	html_end(h);
}

/* ---- what it asked for ---- */

static void put_fit(struct html *h, const struct fit *fit, struct human human)
{
	html_begin(h, "td");
	html_text(h, "%s", fit->value >= 0 ? human.text : fit->is_more ? "more" : "not known");
	if (fit->value >= 0)
		html_element(h, "span", "name", "%s of %u similar jobs needed more",
			     humanize_percent(fit->chance).text, fit->jobs);
	html_end(h);
}

static void put_asked(struct html *h, const char *what, const char *asked, const char *used,
		      double share)
{
	html_begin(h, "tr");
	html_begin_tag(h, "th", { "scope", "row" });
	html_text(h, "%s", what);
	html_end(h);
	html_element(h, "td", NULL, "%s", asked);
	html_element(h, "td", NULL, "%s", used);
	html_begin(h, "td");
	site_put_share(h, share >= 0, share);
	html_end(h);
}

static double share_of(double used, double asked)
{
	return asked > 0 ? used / asked : -1;
}

/* @fit: NULL: not wanted. */
static void put_time(const struct store_run *run, uint64_t elapsed_ns, const struct fit *fit,
		     struct html *h)
{
	const struct value *limit = &run->time_limit;

	if (!limit->is_known && (!fit || (fit->value < 0 && !fit->is_more)))
		return;
	put_asked(h, "Time", limit->is_known ? humanize_duration(limit->number).text : "-",
		  humanize_duration(elapsed_ns).text,
		  limit->is_known ? share_of((double)elapsed_ns, (double)limit->number) : -1);
	if (fit)
		put_fit(h, fit, humanize_duration(round_up(fit->value * 1e9, 1)));
	html_end(h);
}

static void put_cores(const struct record *r, const struct analysis *a, const struct fit *fit,
		      struct html *h)
{
	const struct use *cores = &a->efficiency.uses[RESOURCE_CORES];
	const struct value *allocated = &r->reading.values[METRIC_CPU_ALLOCATED];

	if (!allocated->is_known || !cores->share.is_known)
		return;
	put_asked(h, "Cores", humanize_cores(allocated->number).text,
		  humanize_cores((uint64_t)(cores->share.number * (double)allocated->number)).text,
		  cores->share.number);
	put_fit(h, fit, humanize_cores(round_up(fit->value * 1000, 1)));
	html_end(h);
}

static void put_memory(const struct store_run *run, const struct record *r, const struct fit *fit,
		       struct html *h)
{
	const struct value *peak = &r->reading.values[METRIC_MEMORY_PEAK],
			   *limit = run->requested_memory.is_known
					    ? &run->requested_memory
					    : &r->reading.values[METRIC_MEMORY_LIMIT];

	if (!peak->is_known || (!limit->is_known && fit->value < 0 && !fit->is_more))
		return;
	put_asked(h, r->merged_nodes > 1 ? "Memory (used: on one node)" : "Memory",
		  limit->is_known ? humanize_bytes(limit->number).text : "-",
		  humanize_bytes(peak->number).text,
		  /* a peak is one node's, what was asked for is of all */
		  r->merged_nodes > 1 || !limit->is_known
			  ? -1
			  : share_of((double)peak->number, (double)limit->number));
	put_fit(h, fit, humanize_bytes(round_up(fit->value, 1)));
	html_end(h);
}

static void begin_box(bool has_fits, struct html *h)
{
	html_begin_class(h, "table", "asked");
	html_raw(h, "<thead><tr><td></td><th scope=\"col\">Asked for</th>"
		    "<th scope=\"col\">Used</th><td></td>");
	html_raw(h, has_fits ? "<th scope=\"col\">Would fit</th></tr></thead>" : "</tr></thead>");
	html_begin(h, "tbody");
}

/* ---- the page ---- */

static void put_links(struct site_call *c, const char *name, const char *user)
{
	struct address address;

	html_begin_class(c->h, "p", "links");
	site_put_link(c->h, "/jobs", "All jobs", false);
	if (name) {
		html_text(c->h, " · ");
		address = site_begin_link(c->h, "/jobs");
		address_add(&address, "name", name);
		address_add(&address, "user", user);
		site_end_link(&address, "Jobs like this one");
	}
	html_end(c->h);
}

static const char *node_of(const struct record *r)
{
	return r->node ? r->node : "";
}

/* To the jobs of each of its nodes, or for operators to the node. */
static void put_nodes(struct site_call *c, const struct records *records)
{
	size_t nodes = 0;

	/* records of a node stand together */
	for (size_t i = 0; i < records->count; i++)
		nodes += i == 0 ||
			 strcmp(node_of(records->items[i - 1]), node_of(records->items[i])) != 0;
	html_begin_class(c->h, nodes > NODES_SHOWN ? "details" : "p", "links");
	if (nodes > NODES_SHOWN)
		html_element(c->h, "summary", NULL, "Ran on %zu nodes", nodes);
	else
		html_text(c->h, "Ran on ");
	for (size_t i = 0; i < records->count; i++) {
		const struct record *r = records->items[i];
		struct address address;

		if (i && strcmp(node_of(records->items[i - 1]), node_of(r)) == 0)
			continue;
		html_text(c->h, "%s", i ? ", " : "");
		address = site_begin_link(c->h, c->caller->sees_all ? "/nodes" : "/jobs");
		address_add(&address, "node", r->node);
		if (!c->caller->sees_all)
			address_add(&address, "cluster", r->cluster);
		site_end_link(&address, node_of(r));
	}
	html_end(c->h);
}

struct row { /* of the list of jobs */
	struct site_call *call;
	uint64_t start_ns; /* of the requested job; 0: the newest of that id */
	struct store_run run; /* numbers alone */
	struct job_request request;
	bool is_there;
	struct record *record; /* NULL: no node measured it, and all that is known is shown */
};

/* What the manager knows goes before what the nodes know of it. */
static int add_outcome(struct record *r, const struct store_job *job)
{
	char *state = job->state ? strdup(job->state) : NULL;

	if (job->state && !state)
		return -ENOMEM;
	free(r->job.state);
	r->job.state = state;
	if (job->is_final && job->exit_code.is_known && r->job.exit_code < 0 && r->job.signal <= 0)
		r->job.exit_code = (int)MIN(job->exit_code.number, (uint64_t)INT32_MAX);
	return 0;
}

static int take_row(void *context, const struct store_job *job)
{
	struct row *row = context;
	struct html *h = row->call->h;

	if (row->is_there || (row->start_ns && job->start_ns != row->start_ns))
		return 0;
	row->is_there = true;
	row->run = job->run;
	row->request = predict_request_of(job);
	if (row->record)
		return add_outcome(row->record, job);
	put_links(row->call, job->name, job->user);
	html_element(h, "h1", NULL, "Job %s %s", job->id, job->name ? job->name : "");
	html_element(h, "p", "outcome", "%s. %s%s.",
		     job->state ? job->state : "Its state is not known",
		     job->waits ? "It has not begun: " : "No node measured this job",
		     !job->waits	    ? ""
		     : job->run.wait_reason ? job->run.wait_reason
					    : "it waits");
	begin_box(false, h);
	put_time(&job->run, job->elapsed_ns.number, NULL, h);
	site_end_table(h);
	return 0;
}

static int find_row(struct row *row, struct error *err)
{
	const struct api_call *call = &row->call->api;
	const struct job_filter filter = { .id = call->id,
					   .manager = api_text(call, "manager"),
					   .cluster = api_text(call, "cluster") };

	row->start_ns = api_moment(call, "start");
	return store_list_jobs(call->server->store, &filter, &call->who, take_row, row, NULL, err);
}

static int put_job(struct site_call *c, struct error *err)
{
	_cleanup_(record_freep) struct record *record = NULL;
	_cleanup_(analysis_clear) struct analysis analysis = {};
	struct row row = { .call = c };
	struct error unused = {};
	struct fit fits[TARGETS] = {};
	_cleanup_(records_clear) struct records records = {};
	const struct store_question question = api_question(&c->api);
	int r = api_read_records(&c->api, &question, &records, err);

	if (r == 0)
		r = record_merge((const struct record *const *)records.items, records.count,
				 &record);
	row.record = record;
	if (r == -ENOENT)
		return find_row(&row, &unused) == 0 && row.is_there ? 0 : r;
	if (r == 0)
		r = find_row(&row, err);
	if (r == 0)
		r = analysis_make(c->api.server->rules, record, &analysis);
	if (r < 0 || !record)
		return r;
	put_links(c, record->job.name, record->job.user);
	put_nodes(c, &records);
	put_comparison(c, record);
	read_fits(c, record, &analysis.efficiency.uses[RESOURCE_CORES], &row.request, fits);
	html_begin_class(c->h, "div", "asked");
	begin_box(true, c->h);
	put_time(&row.run, record->time.elapsed_ns, &fits[TARGET_RUNTIME], c->h);
	put_cores(record, &analysis, &fits[TARGET_CORES], c->h);
	put_memory(&row.run, record, &fits[TARGET_MEMORY], c->h);
	site_end_table(c->h);
	if (record->job.manager && strcmp(record->job.manager, "slurm") == 0)
		put_sbatch(fits, record->merged_nodes > 1, c->h);
	html_end(c->h);
	html_report_body(record, &analysis, c->h);
	site_put_heat(&records, record, c->h);
	return 0;
}

const struct site_page job_page = {
	.path = "/jobs/",
	.route = { .parameters = { api_job_parameters } },
	.put = put_job,
};
