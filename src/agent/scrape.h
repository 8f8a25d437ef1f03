/* SPDX-License-Identifier: MIT */
/* scrape - the answer to GET /metrics: jobs as a snapshot has them, the node, and the agent itself.
 */
#pragma once

#include <stdbool.h>

#include "agent/agent_metrics.h"
#include "model/snapshot.h"

struct error;
struct http_answer;
struct http_request;
struct push;
struct sampler;

struct scrape_sources { /* the caller's; all outlive the answers */
	int root_fd;
	struct sampler *sampler;
	const struct push *push; /* NULL: nothing goes to a server */
	bool wants_node; /* its numbers */
	const char *prefix; /* of metrics' names */
	struct scrapes scrapes;
};

/*
 * Takes a reference of @snapshot.  @may_see (NULL: all jobs) and @done get @context, which is given
 * back by @done (may be NULL) when the answer is out, and not after an error.  @is_whole: the
 * node's and the agent's own numbers, too.
 */
struct scrape_view {
	bool is_whole;
	bool (*may_see)(void *context, const struct snapshot_job *job);
	void (*done)(void *context);
	void *context;
};
int scrape_answer(struct scrape_sources *sources, const struct http_request *request,
		  struct snapshot *snapshot, const struct scrape_view *view,
		  struct http_answer *ret);
