/* SPDX-License-Identifier: MIT */
/* What the agent answers itself: its page of metrics, and that it lives. */
#include "agent/agent_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "service/log.h"
#include "basic/macro.h"
#include "service/permission.h"
#include "node/sampler.h"

#define SCRAPE_AGE_NS UINT64_C(1000000000) /* a reading that is no older serves another scraper */

static int fail_reading(const struct error *err, struct http_answer *ret)
{
	log_say(CONFIG_LOG_WARNING, "%s", err->text);
	return http_fail(ret, 503, "%s", err->text);
}

static int answer_metrics(void *context, const struct http_request *request,
			  struct http_answer *ret)
{
	static const struct scrape_view whole = { .is_whole = true };
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct agent *a = context;
	struct error err = {};

	if (sampler_get(a->sampler, SCRAPE_AGE_NS, &snapshot, &err) < 0)
		return fail_reading(&err, ret);
	return scrape_answer(&a->scrape, request, snapshot, &whole, ret);
}

static bool view_sees(void *context, const struct snapshot_job *job)
{
	return api_view_sees(context, job);
}

int agent_expose(void *context, const struct http_request *request, struct snapshot *snapshot,
		 const struct api_view *view, struct http_answer *ret)
{
	struct agent *a = context;
	struct api_view *copy = malloc(sizeof(*copy));
	struct scrape_view scrape = {
		.is_whole = permission_sees_all(view->permission, &view->peer),
		.may_see = view_sees,
		.done = free,
		.context = copy,
	};
	int r;

	if (!copy)
		return -ENOMEM;
	*copy = *view;
	r = scrape_answer(&a->scrape, request, snapshot, &scrape, ret);
	if (r < 0)
		free(copy);
	return r;
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

	scrapes_add(&a->scrape.scrapes, route ? route->path : NULL, status);
}
