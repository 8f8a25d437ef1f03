/* SPDX-License-Identifier: MIT */
/*
 * server_client - asks the site's server for jobs of the past, on its Unix socket (docs/jobs.md).
 *
 * Every function returns in a bounded time, whatever the server does, with errors as client.h has
 * them; -ENOTCONN: no server answers there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct job_filter;
struct job_name;
struct job_rows;
struct records;
struct server_client;

#define SERVER_SOCKET "/run/jobmeter/server.sock"

/* @socket_path NULL: $JOBMETER_SERVER_SOCKET, else SERVER_SOCKET.  Nobody is asked yet. */
int server_client_open(const char *socket_path, struct server_client **ret, struct error *err);
struct server_client *server_client_close(struct server_client *c); /* NULL is fine; returns NULL */
void server_client_closep(struct server_client **c);

/* Whether it answers, soon. */
int server_client_greet(struct server_client *c, struct error *err);

/* The jobs that the caller may see and that match, the newest first, added to @rows. */
int server_client_list_jobs(struct server_client *c, const struct job_filter *filter,
			    struct job_rows *rows, struct error *err);

/* The records of the newest job of that name, one a node, added to @records.  -ENOENT: there is
 * none that the caller may see. */
int server_client_get_records(struct server_client *c, const struct job_name *name,
			      struct records *records, struct error *err);

/*
 * What a server answers to a question for jobs (@text may be NULL: nothing), added to @rows;
 * *ret_more: it has more of them.  It is trusted no more than a file: -EPROTO: the text is no such
 * list, and nothing is added.
 */
int server_parse_jobs(const char *text, size_t length, struct job_rows *rows, bool *ret_more,
		      struct error *err);
