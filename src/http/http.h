/* SPDX-License-Identifier: MIT */
/*
 * http - the server side of HTTP, for agent and server: listens on TCP (with TLS, with a bearer
 * token) or on a Unix socket, and calls a route's function.  Runs in the caller's loop: wait for
 * http_fd(), then call http_run().
 *
 * Bounds: 256 connections a listener (16 a user on a Unix socket, root apart), 8 KiB of head, 64
 * KiB of body where a route takes no more; 64 MiB for all larger bodies together, beyond which a
 * request is answered 503; a whole request within 10 s, an answer taken within 2 minutes and
 * without 10 s of silence.  Where connections get scarce, those without a request go first.
 *
 * The requests of one user but root may take a tenth of a core, and those without the token
 * together as much: beyond that they wait, and come one a turn (see budgets.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct http;

#define HTTP_GROUPS_MAX 256 /* of a peer, that are looked at */

struct http_peer { /* of a Unix socket, from SO_PEERCRED and SO_PEERGROUPS: as it connected */
	bool is_known; /* else the ids are -1, which is no user */
	uid_t uid;
	gid_t gid;
	pid_t pid;
	gid_t groups[HTTP_GROUPS_MAX]; /* supplementary ones */
	size_t group_count;
};

struct http_request {
	const char *method, *path; /* "GET", "/metrics": without the query */
	struct http_peer peer;
	const char *body;
	size_t body_length;
	uint64_t begun_ns; /* when its head was read; since the epoch */
	void *caller; /* identity of the caller, set by admit() or the route's identify(); NULL
			 without authentication */
	bool has_user; /* the request is charged to this user's budget, set by identify(): */
	uint32_t user;
	void *connection; /* http's own */
};

/* NULL: the query has no such field, or the request no such header. */
const char *http_query(const struct http_request *request, const char *key);
const char *http_header(const struct http_request *request, const char *name);
const char *http_cookie(const struct http_request *request, const char *name);
/* Of several, http_header() gives the first one. */
bool http_has_several(const struct http_request *request, const char *header);

/* Each field of the query, as often as it is there; @value is "" where it has none.  What is not 0
 * ends it, and is returned. */
int http_each_query(const struct http_request *request,
		    int (*take)(void *context, const char *key, const char *value), void *context);

/*
 * An answer. Its body is either @text, which http frees, or made piece by piece: @next writes
 * up to @size bytes into @buffer and returns how many, 0 at the end, negative to break off; @done
 * gives back @context. gzip is used where the client takes it and the body is streamed or not
 * small.
 */
struct http_answer {
	unsigned int status; /* 200 */
	const char *type; /* Content-Type, of static duration */
	unsigned int retry_after_s; /* 0: it is not said */
	/* Headers, each of which http frees; NULL: it is not sent. */
	char *next_page; /* X-Next-Page */
	char *location; /* Location */
	char *cookie; /* Set-Cookie */
	char *tag; /* ETag */
	const char *policy; /* Content-Security-Policy, of static duration; NULL: that of a file */
	bool is_lasting; /* what is at this path never changes: it may be kept for a year */
	char *text;
	size_t length;
	ssize_t (*next)(void *context, char *buffer, size_t size);
	void (*done)(void *context);
	void *context;
	/* Streaming answers, with @next: @begin and @next return -EAGAIN until @fd is readable;
	 * other requests are served meanwhile. @begin fills in the rest of @ret, its own answer.
	 * When a client on a Unix socket disconnects, @done is called.  */
	int fd;
	int (*begin)(void *context, struct http_answer *ret); /* NULL: the answer is complete at
								 once */
	/* What is made in another thread is waited for to its end, whether or not the client is
	 * still there, and may be compressed: @fd says only that the thread is done. */
	bool is_of_thread;
};
/* Free what it holds: all is empty then but its type. */
void http_answer_clear(struct http_answer *a);

/* Answer {"error": "..."} as JSON, or as plain text for a route that gives text.  Gives back what
 * @ret held. */
int http_fail(struct http_answer *ret, unsigned int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* 0: @ret is the answer (it comes with status 200 and the route's type); negative: http answers
 * 500. */
typedef int (*http_function)(void *context, const struct http_request *request,
			     struct http_answer *ret);

#define HTTP_OF_THREAD_MAX 2 /* requests of a user but root that threads answer at a time */

struct http_route {
	const char *method, *path; /* a path that ends in "/" takes all below it, too; NULL ends the
				      table */
	http_function answer;
	bool is_open; /* needs no token */
	bool gives_text; /* failures are text, too; else they are JSON */
	size_t body_max; /* bytes of a request's body; 0: 64 KiB */
	bool is_free; /* of no budget: it is cheap, and monitoring must always get it */
	unsigned int thread; /* not 0: http_options.defer has it answered in a thread of that kind
			      */
	/* Identifies the caller, instead of the listener's token and admit(): sets the request's
	 * caller, which http frees by free(3), and user. Called once, before the body is read.
	 * -EPERM: 401; -EACCES: 403; else 503.  NULL: the listener's. */
	int (*identify)(void *context, struct http_request *request, struct error *err);
};

struct http_options {
	const struct http_route *routes;
	void *context; /* for the routes */
	/* Called as each answer begins; @route is NULL where none fits.  May be NULL. */
	void (*answered)(void *context, const struct http_route *route, unsigned int status);
	/* Has the route's function called in another thread, and fills @ret as of an answer that
	 * comes later, with is_of_thread.  The request stays until @ret's done() is called. */
	int (*defer)(void *context, const struct http_route *route,
		     const struct http_request *request, struct http_answer *ret);
	unsigned int silence_s; /* 0: 10 */
	int64_t burst_ns; /* of a user's requests, as in budgets.h */
	bool charges_elapsed; /* requests cost their users the time that they take, waiting for a
				 database or not; else that of the processor */
	/* Either: */
	const char *address; /* "127.0.0.1:9840", "[::1]:9840", "0.0.0.0:9840" */
	const char *token; /* the bearer token that every request must bring; NULL: none */
	/* Whether a request may come by what its header Authorization says, in the place of the
	 * token or beside it; NULL: none may.  Asked once, before its body comes.  0: it may, and
	 * *ret is its caller, which http frees by free(3); -EPERM: 401; else 503. */
	int (*admit)(void *context, const char *authorization, void **ret, struct error *err);
	const char *certificate, *key; /* PEM files: TLS; NULL: none */
	/* Or: */
	const char *socket_path; /* a Unix socket, replaced if no process listens on it */
	mode_t socket_mode;
};

/* -EADDRINUSE, -EACCES...; @err says so in words. */
int http_listen(const struct http_options *options, struct http **ret, struct error *err);
struct http *http_close(struct http *h); /* NULL is fine; returns NULL */
void http_closep(struct http **h);

uint16_t http_port(const struct http *h); /* of TCP: where the address said 0, the one that was
					     found */
int http_fd(const struct http *h); /* for poll(2): readable when there is something to do */
int http_timeout_ms(struct http *h); /* call http_run() after that at the latest; -1: no need */
void http_run(struct http *h); /* do what can be done without waiting */

/* A user's request had this done behind its answer. */
void http_charge(struct http *h, uid_t uid, uint64_t cost_ns);
/* The same of the caller, while the answer is being made. */
void http_charge_sender(const struct http_request *request, uint64_t cost_ns);
