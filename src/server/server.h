/* SPDX-License-Identifier: MIT */
/*
 * server - takes records on TCP, and shows users their own jobs on a Unix socket.
 *
 * It may be started as root, and goes on as the user of its settings, without a right.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "basic/cli.h"
#include "basic/error.h"
#include "energy/emission.h"
#include "http/http.h"
#include "server/evaluate.h"
#include "server/ingest.h"
#include "server/store/store.h"
#include "server/store/tokens.h"
#include "server/sync/sync.h"
#include "service/token.h"

struct kept;
struct known_tokens;
struct server_config;
struct workers;

struct server_figures { /* counted since the start, by the writer */
	struct ingest_counts counts;
	struct store_facts facts;
	struct sync_facts sync;
	uint64_t failed_works;
};

#define SERVER_LINKS 4 /* of a new one the oldest is forgotten */

struct server_link { /* for one sign-in */
	char digest[TOKEN_DIGEST_SIZE]; /* of its secret; "": none */
	char user[TOKEN_USER_SIZE];
	uint32_t uid;
	bool sees_all;
};

struct server { /* what its files share; each worker has a copy of its own, with its store */
	const struct server_config *config;
	struct store *store; /* NULL in the loop of HTTP, which waits for no database */
	struct known_tokens *known_tokens; /* of all threads */
	struct kept *kept; /* of all threads */
	struct workers *workers; /* NULL until the database is there */
	struct permission *permission;
	struct munge *munge; /* NULL: not wanted */
	uid_t munge_uid; /* of the agents */
	char proxy_secret[TOKEN_SIZE]; /* "": there is no proxy */
	struct rules *rules; /* of insights, for reports */
	struct {
		uint64_t since_ns, denied; /* requests in this minute */
	} audit;
	struct {
		uint64_t until_ns; /* by CLOCK_MONOTONIC: so long it is not asked again */
		int r;
		struct error err;
	} health;
	struct served served; /* the trained models, of each thread */
	struct http *tcp, *socket; /* NULL: not wanted */
	struct emission_factors factors; /* of the site's zone and others; empty: not wanted */
	struct emission_factors tariffs; /* prices over time; empty: the site names none */
	/* Of the provider, as the file had them then; each worker reads it for itself. */
	struct emission_factors fetched;
	struct timespec fetched_at;
	uint64_t fetched_until_ns; /* by CLOCK_MONOTONIC: it is not looked at before */
	int factors_fd; /* of the process that fetches them; -EBADF: none */
	struct emission_terms terms;
	uint64_t begun_ns; /* since the epoch: nothing is closed for what came before */
	int signal_fd;
	/* Of the writer: */
	struct sync *sync; /* NULL: not wanted */
	struct server_figures figures;
	struct server_link links[SERVER_LINKS];
	size_t link_count; /* that were ever made */
	uint64_t next_work_ms; /* by CLOCK_MONOTONIC */
	bool has_failed; /* it has been said that the database does not take what comes */
};

extern const struct http_route server_tcp_routes[]; /* pages.c */
extern const struct http_route server_socket_routes[]; /* pages.c */

/* Read what the provider's process has written meanwhile, once a second at most. */
void server_read_fetched(struct server *s);
/* The upkeep that is due, by CLOCK_MONOTONIC, in the writer's thread. */
void server_work(struct server *s, uint64_t now_ms);
/* store_check(), once a second at most: every client of the port may ask. */
int server_check(struct server *s, struct error *err);

/* The records of a job as NDJSON, one after the other; errors are those of store_find_records(). */
int server_stream_records(struct server *s, const struct store_question *question,
			  const struct store_who *who, struct http_answer *ret, struct error *err);

/* Until SIGTERM, SIGINT or SIGHUP.  Negative: it could not start, and *err says why. */
int server_run(const struct server_config *config, struct error *err);

/* What people type to start a server, or to look after its database. */
extern const struct cli_command cmd_server;
