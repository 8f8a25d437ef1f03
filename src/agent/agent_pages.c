/* SPDX-License-Identifier: MIT */
/* What the agent answers itself: its page of metrics (jobs as a snapshot has them, the node, and
 * the agent itself), and that it lives. */
#include "agent/agent_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/push.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "config/config.h"
#include "export/exposition.h"
#include "service/log.h"
#include "basic/macro.h"
#include "service/permission.h"
#include "node/sampler.h"

#define SCRAPE_AGE_NS UINT64_C(1000000000) /* a reading that is no older serves another scraper */

/* What an answer holds until it is out. */
struct held {
	struct snapshot *snapshot;
	bool has_view; /* else all is shown */
	struct api_view view;
};

static void let_go(void *context)
{
	struct held *held = context;

	snapshot_unref(held->snapshot);
	free(held);
}

static bool may_see(void *context, const struct snapshot_job *job)
{
	const struct held *held = context;

	return !held->has_view || api_view_sees(&held->view, job);
}

static int put_own_numbers(struct agent *a, struct samples *to)
{
	struct object_map forms[MAPS_MAX]; /* holds the names of maps */
	struct agent_facts facts = { .version = JOBMETER_VERSION, .scrapes = &a->scrapes };
	int r = sampler_put_samples(a->sampler, a->config->has_node_metrics, to);

	if (r < 0)
		return r;
	sampler_get_state(a->sampler, &facts.sampler);
	if (a->push)
		push_get_status(a->push, &facts.push);
	agent_facts_read(a->root_fd, sampler_meter(a->sampler), forms, &facts);
	return agent_facts_put(&facts, to);
}

/* @view NULL: of who sees all.  Takes a reference of @snapshot. */
static int answer_scrape(struct agent *a, const struct http_request *request,
			 struct snapshot *snapshot, const struct api_view *view,
			 struct http_answer *ret)
{
	_cleanup_(samples_clear) struct samples samples = {};
	struct exposition_options options = {
		.format = exposition_choose(http_header(request, "Accept")),
		.prefix = a->config->metrics_prefix,
		.snapshot = snapshot,
		.may_see = may_see,
		.done = let_go,
	};
	struct held *held = calloc(1, sizeof(*held));
	struct exposition *exposition = NULL;
	int r = held ? 0 : -ENOMEM;

	if (r == 0 && (!view || permission_sees_all(view->permission, &view->peer)))
		r = put_own_numbers(a, &samples);
	if (r == 0) {
		*held = (struct held){ snapshot, view, view ? *view : (struct api_view){} };
		options.context = held;
		options.samples = samples;
		r = exposition_new(&options, &exposition);
	}
	if (r < 0) {
		free(held);
		return r;
	}
	samples = (struct samples){}; /* taken over */
	snapshot_ref(snapshot);
	exposition_answer(exposition, ret);
	return 0;
}

static int answer_metrics(void *context, const struct http_request *request,
			  struct http_answer *ret)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct agent *a = context;
	struct error err = {};

	if (sampler_get(a->sampler, SCRAPE_AGE_NS, &snapshot, &err) < 0) {
		log_say(CONFIG_LOG_WARNING, "%s", err.text);
		return http_fail(ret, 503, "%s", err.text);
	}
	return answer_scrape(a, request, snapshot, NULL, ret);
}

int agent_expose(void *context, const struct http_request *request, struct snapshot *snapshot,
		 const struct api_view *view, struct http_answer *ret)
{
	return answer_scrape(context, request, snapshot, view, ret);
}

static int answer_health(void *context UNUSED, const struct http_request *request UNUSED,
			 struct http_answer *ret)
{
	ret->status = 200;
	ret->type = "text/plain; charset=utf-8";
	ret->text = strdup("ok\n");
	ret->length = strlen("ok\n");
	return ret->text ? 0 : -ENOMEM;
}

const struct http_route agent_tcp_routes[] = {
	{ "GET", "/metrics", answer_metrics, .gives_text = true },
	{ "GET", "/health", answer_health, .is_open = true, .gives_text = true },
	{},
};

void agent_count_answer(void *context, const struct http_route *route, unsigned int status)
{
	struct agent *a = context;

	scrapes_add(&a->scrapes, route ? route->path : NULL, status);
}
