/* SPDX-License-Identifier: MIT */
#include "agent/scrape.h"

#include <errno.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "agent/push.h"
#include "export/exposition.h"
#include "http/http.h"
#include "node/sampler.h"

/* What an answer holds until it is out. */
struct held {
	struct snapshot *snapshot;
	struct scrape_view view;
};

static void let_go(void *context)
{
	struct held *held = context;

	snapshot_unref(held->snapshot);
	if (held->view.done)
		held->view.done(held->view.context);
	free(held);
}

static bool may_see(void *context, const struct snapshot_job *job)
{
	const struct held *held = context;

	return !held->view.may_see || held->view.may_see(held->view.context, job);
}

static int put_own_numbers(struct scrape_sources *sources, struct samples *to)
{
	struct object_map forms[MAPS_MAX]; /* the names of maps stand here */
	struct agent_facts facts = { .version = JOBMETER_VERSION, .scrapes = &sources->scrapes };
	int r = sampler_put_samples(sources->sampler, sources->wants_node, to);

	if (r < 0)
		return r;
	sampler_get_state(sources->sampler, &facts.sampler);
	if (sources->push)
		push_get_status(sources->push, &facts.push);
	agent_facts_read(sources->root_fd, sampler_meter(sources->sampler), forms, &facts);
	return agent_facts_put(&facts, to);
}

int scrape_answer(struct scrape_sources *sources, const struct http_request *request,
		  struct snapshot *snapshot, const struct scrape_view *view,
		  struct http_answer *ret)
{
	_cleanup_(samples_clear) struct samples samples = {};
	struct exposition_options options = {
		.format = exposition_choose(http_header(request, "Accept")),
		.prefix = sources->prefix,
		.snapshot = snapshot,
		.may_see = may_see,
		.done = let_go,
	};
	struct held *held = calloc(1, sizeof(*held));
	struct exposition *exposition = NULL;
	int r = held ? 0 : -ENOMEM;

	if (r == 0 && view->is_whole)
		r = put_own_numbers(sources, &samples);
	if (r == 0) {
		*held = (struct held){ snapshot, *view };
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
