/* SPDX-License-Identifier: MIT */
/*
 * endpoint - who answers on a Unix socket, agent or server: asked by one request a connection, in a
 * bounded time, with what goes wrong in words.
 */
#pragma once

#include <stddef.h>

#include "client/reply.h"

struct error;
struct waiter;

struct endpoint {
	const char *who; /* "agent": so errors call it; of static duration */
	char *path; /* owned */
	size_t answer_max; /* bytes of an answer's body */
	const struct waiter *waiter; /* NULL: none */
};

/* @path is copied.  -ENAMETOOLONG, -ENOMEM.  Nobody is asked yet. */
int endpoint_init(const char *who, const char *path, size_t answer_max, struct endpoint *ret,
		  struct error *err);
void endpoint_clear(struct endpoint *e); /* one that begins as {} is fine */

/* @body NULL: it is a GET.  *ret begins as {} and is the caller's to clear, also after an error.
 * Errors are those of client.h; the answer's status is 200. */
int endpoint_ask(const struct endpoint *e, const char *target, const char *body, int timeout_ms,
		 struct reply *ret, struct error *err);

/* Who takes an answer piece by piece, as it comes. */
struct endpoint_taker {
	/* Its head is there, with status 200.  < 0: no more is wanted, and that is the result. */
	int (*begin)(void *context);
	int (*take)(void *context, const char *data, size_t length); /* < 0: as of begin() */
	void *context;
};

/* The same for an answer that goes on for as long as it wants; *ret keeps nothing of it but why it
 * was refused.  @timeout_ms: for its beginning. */
int endpoint_stream(const struct endpoint *e, const char *target, int timeout_ms,
		    const struct endpoint_taker *taker, struct reply *ret, struct error *err);

/* For a path or a query; the caller frees.  NULL: no memory. */
char *percent_encode(const char *text);
