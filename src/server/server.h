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

#include "energy/emission.h"
#include "http/http.h"
#include "server/ingest.h"
#include "server/store/store.h"

struct error;
struct server_config;
struct workers;

struct server_figures { /* counted since the start, by the writer */
	struct ingest_counts counts;
	struct store_facts facts;
	uint64_t failed_works;
};

struct server { /* what its files share; each worker has a copy of its own, with its store */
	const struct server_config *config;
	struct store *store; /* NULL in the loop of HTTP */
	struct workers *workers;
	struct permission *permission;
	struct munge *munge; /* NULL: not wanted */
	uid_t munge_uid; /* of the agents */
	struct http *tcp, *socket; /* NULL: not wanted */
	struct emission_factors factors; /* of the site's zone and others; empty: not wanted */
	uint64_t begun_ns; /* since the epoch: nothing is closed for what came before */
	int signal_fd;
	/* Of the writer: */
	struct server_figures figures;
	uint64_t next_work_ms; /* by CLOCK_MONOTONIC */
	bool has_failed; /* it has been said that the database does not take what comes */
};

extern const struct http_route server_tcp_routes[]; /* pages.c */
extern const struct http_route server_socket_routes[]; /* pages.c */

/* The upkeep that is due, by CLOCK_MONOTONIC, in the writer's thread. */
void server_work(struct server *s, uint64_t now_ms);

/* Until SIGTERM, SIGINT or SIGHUP.  Negative: it could not start, and *err says why. */
int server_run(const struct server_config *config, struct error *err);
