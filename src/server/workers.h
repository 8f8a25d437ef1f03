/* SPDX-License-Identifier: MIT */
/*
 * workers - the server's threads: one writes to the database, one answers what watches the server,
 * the others read.  Each has a store of its own, so that no list delays a node's records, and
 * none of these a list.
 *
 * The loop of HTTP hands requests over (http_options.defer) and sends what the threads made.  A
 * route's function gets a struct server of its thread: all of the server's, but with the thread's
 * store.
 */
#pragma once

struct error;
struct http_answer;
struct http_request;
struct http_route;
struct server;
struct server_figures;
struct workers; /* opaque */

enum worker_kind { /* http_route.thread */
		   WORKER_NONE, /* the loop itself */
		   WORKER_WRITER, /* records that come, and upkeep */
		   WORKER_WATCH, /* health and metrics: waits for no list */
		   WORKER_READER,
		   WORKER_KIND_COUNT,
};

#define WORKER_READERS 4
#define WORKERS_UNSENT_MAX (128u << 20) /* bytes of answers that clients have not taken */

/* Open the stores, the writer's first: it makes and changes tables.  @s stays the caller's and
 * outlives them; its member workers is set.  No thread runs before workers_start(). */
int workers_open(struct server *s, struct error *err);
int workers_start(struct workers *w, struct error *err);
/* Ends the threads, when what they do is done.  NULL is fine; returns NULL. */
struct workers *workers_close(struct workers *w);

/* What the writer has counted so far. */
void workers_read_figures(struct workers *w, struct server_figures *ret);

/* For http_options.defer; @context is the struct server. */
int workers_defer(void *context, const struct http_route *route, const struct http_request *request,
		  struct http_answer *ret);

/* Something that a thread does for an answer that comes in pieces. */
struct work; /* opaque */
/* Have @run called by a reader, with its struct server.  @fd, an eventfd that does not block, is
 * readable when that is done.  NULL: no memory. */
struct work *work_begin(struct server *s, void (*run)(struct server *s, void *context),
			void *context, int fd);
int work_is_done(struct work *work); /* yes or no */
/* Waits until it is done.  NULL is fine; returns NULL. */
struct work *work_end(struct work *work);
