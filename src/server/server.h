/* SPDX-License-Identifier: MIT */
/*
 * server - takes records on TCP, and shows jobs on a Unix socket to those whose they are.
 *
 * It may be started as root, and goes on as the user of its settings, without a right.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "http/http.h"
#include "server/ingest.h"
#include "server/store/store.h"

struct error;
struct server_config;
struct sync;

struct server { /* what its files share */
	const struct server_config *config;
	struct store *store;
	struct permission *permission;
	struct munge *munge; /* NULL: not wanted */
	struct sync *sync; /* likewise */
	uid_t munge_uid; /* of the agents */
	struct http *tcp, *socket; /* NULL: not wanted */
	struct ingest_counts counts;
	uint64_t failed_works;
	uint64_t begun_ns; /* since the epoch: nothing is closed for what came before */
	uint64_t next_work_ms; /* by CLOCK_MONOTONIC */
	bool has_failed; /* it has been said that the database does not take what comes */
	int signal_fd;
};

extern const struct http_route server_tcp_routes[]; /* pages.c */
extern const struct http_route server_socket_routes[]; /* pages.c */

/* Until SIGTERM, SIGINT or SIGHUP.  Negative: it could not start, and *err says why. */
int server_run(const struct server_config *config, struct error *err);
