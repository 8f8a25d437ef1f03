/* SPDX-License-Identifier: MIT */
/*
 * server_client - asks the site's server for jobs of the past, on its Unix socket (docs/jobs.md) or
 * by HTTP.
 *
 * Every function returns in a bounded time, whatever the server does, with errors as client.h has
 * them; -ENOTCONN: there is no server; -ECONNREFUSED: there was one, and it is away.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct error;
struct job_filter;
struct job_name;
struct records;
struct server_client;

#define SERVER_SOCKET "/run/jobmeter/server.sock"
#define SERVER_ANSWER_MAX (256u * 1024 * 1024) /* records of a job on many nodes */
#define SERVER_HELLO_MS 2000
#define SERVER_ANSWER_MS 30000 /* for everything else */

/* @socket_path NULL: $JOBMETER_SERVER_SOCKET, else SERVER_SOCKET.  Nobody is asked yet. */
int server_client_open(const char *socket_path, struct server_client **ret, struct error *err);
/* The same by HTTP, as web.h has it: its errors go before those of client.h. */
int server_client_open_url(const char *url, struct server_client **ret, struct error *err);
struct server_client *server_client_close(struct server_client *c); /* NULL is fine; returns NULL */
void server_client_closep(struct server_client **c);

/* Whether it answers, soon. */
int server_client_greet(struct server_client *c, struct error *err);

/* Of a server on its own machine, by its socket: an address at which a browser is signed in as the
 * caller, once.  The caller frees *ret. */
int server_client_make_link(struct server_client *c, char **ret, struct error *err);

/* The jobs that the caller may see and that match, the newest first, added to the list @jobs, each
 * a map as the server says it (docs/sites/server.md).  Without a limit the server has its own;
 * *ret_more: there are more. */
int server_client_list_jobs(struct server_client *c, const struct job_filter *filter, json_t *jobs,
			    bool *ret_more, struct error *err);

/* What the jobs that match add up to, by a column: rows as `jobmeter jobs --by` has them, in no
 * order; the caller unrefs *ret.  -ENOTSUP: it adds up nothing by that. */
int server_client_sum_jobs(struct server_client *c, const char *by, const struct job_filter *filter,
			   json_t **ret, struct error *err);
/* The same out of an answer's text.  -EPROTO. */
int server_parse_sums(const char *text, size_t length, json_t **ret, struct error *err);

/* What they emitted and cost, as GET /v1/emissions has it: one by one (@by NULL), or by a column;
 * "emissions" of *ret is a list of maps, and the caller unrefs it.  -ENOTSUP: an older server, or
 * it adds up nothing by that; -ETIME: it took too long. */
int server_client_get_emissions(struct server_client *c, const char *by,
				const struct job_filter *filter, json_t **ret, struct error *err);

/* What jobs used, by the roll-ups, as GET /api/v1/usage has it: "usage" of *ret is a list of maps,
 * "more" whether it goes on, and the caller unrefs it.  @period NULL: all of the time together. */
int server_client_get_usage(struct server_client *c, const char *by, const char *period,
			    const struct job_filter *filter, json_t **ret, struct error *err);

/* The records of the newest job of that name, one a node, added to @records.  -ENOENT: there is
 * none that the caller may see. */
int server_client_get_records(struct server_client *c, const struct job_name *name,
			      struct records *records, struct error *err);

/* Post a map of JSON to a path of its API; *ret, the caller's: the map that it answers. */
int server_client_post(struct server_client *c, const char *path, const json_t *body, json_t **ret,
		       struct error *err);

/*
 * What a server answers to a question for jobs (@text may be NULL: nothing): maps that name a
 * manager and an id, added to the list @ret; of their other members nothing is known.  *ret_more:
 * it has more of them.  It is trusted no more than a file: -EPROTO: the text is no such list, and
 * nothing is added.
 */
int server_parse_jobs(const char *text, size_t length, json_t *ret, bool *ret_more,
		      struct error *err);
