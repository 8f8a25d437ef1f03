/* SPDX-License-Identifier: MIT */
/* agent_internal - what the files of the agent share. */
#pragma once

#include <stdbool.h>

#include "agent/agent.h"
#include "agent/api.h"
#include "http/http.h"
#include "service/privileges.h"
#include "agent/agent_metrics.h"
#include "agent/ticker.h"

struct agent {
	struct config *config;
	int root_fd, lock_fd, pins_fd, signal_fd;
	struct service_user user;
	struct helper *helper;
	struct tracer_helper *tracer; /* NULL: not wanted */
	struct run_groups *runs;
	struct push *push;
	struct api_runs api_runs;
	struct sampler *sampler;
	struct scrapes scrapes;
	struct permission *permission;
	struct api *api;
	struct http *tcp, *socket; /* NULL: not wanted */
	struct ticker ticker;
	bool is_ending, keeps;
};

/* ---- agent_pages.c: what it answers itself ---- */

extern const struct http_route agent_tcp_routes[];
void agent_count_answer(void *context, const struct http_route *route, unsigned int status);
/* For the API: over the socket each sees his own jobs, and who sees all the node and the agent,
 * too. */
int agent_expose(void *context, const struct http_request *request, struct snapshot *snapshot,
		 const struct api_view *view, struct http_answer *ret);

/* ---- agent_open.c: also for a reload ---- */

int agent_make_permission(const struct config *config, struct permission **ret, struct error *err);
