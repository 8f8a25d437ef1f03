/* SPDX-License-Identifier: MIT */
/* exchange - one HTTP request and its reply, by a connection of its own to a Unix socket, in a
 * bounded time. */
#pragma once

#include "client/reply.h"

struct waiter;

struct exchange {
	const char *path; /* of the socket */
	const char *target; /* "/v1/jobs?x=y", percent-encoded */
	const char *body; /* what is posted; NULL: it is a GET */
	int timeout_ms; /* for all of it */
	const struct waiter *waiter; /* who is asked meanwhile; NULL: nobody */
};

/*
 * *ret begins with its max set; what came stays there, also after an error, for the caller to
 * clear.
 *
 * -ECONNRESET: the connection ended before the reply did; -ETIMEDOUT; -EAGAIN: too many wait for a
 * connection already; what connect() says, or the waiter who waits no longer (*ret_gave_up); and as
 * reply_feed().
 */
int exchange_run(const struct exchange *e, struct reply *ret, bool *ret_gave_up);
