/* SPDX-License-Identifier: MIT */
/* server_internal - what the files of the server share, and nobody else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/http.h"
#include "server/ingest.h"
#include "server/server.h"
#include "server/store/store.h"

struct server {
	const struct server_config *config;
	struct store *store;
	struct permission *permission;
	struct http *tcp, *socket; /* NULL: not wanted */
	struct ingest_counts counts;
	uint64_t failed_works;
	uint64_t begun_ns; /* since the epoch: nothing is closed for what came before */
	uint64_t next_work_ms; /* by CLOCK_MONOTONIC */
	bool has_failed; /* it has been said that the database does not take what comes */
	int signal_fd;
};

extern const struct http_route server_tcp_routes[]; /* push.c */
extern const struct http_route server_socket_routes[]; /* pages.c */

/* "ok", on both. */
int server_answer_health(void *context, const struct http_request *request,
			 struct http_answer *ret);
