/* SPDX-License-Identifier: MIT */
/*
 * query - a process that asks the resource manager, since the server may start no program once its
 * system calls are filtered.
 *
 * It is forked before that, gives up its rights, too, and does one thing: on three numbers of the
 * server it runs the manager's own command (an argv, no shell; ended after 5 minutes), and passes
 * its output back.  A server that was taken over could have it ask for other hours, and no more.
 * It ends with the server.
 */
#pragma once

#include "server/sync/manager.h"

struct error;
struct service_user;

/* @directory: where the manager's programs are; "": in PATH.  *ret_fd is readable when a part of an
 * answer is there; the process ends when it is closed. */
int query_start(const struct manager *manager, const char *directory,
		const struct service_user *user, int *ret_fd, struct error *err);

/* Begin; its answer comes by query_read().  -EPIPE: that process is gone. */
int query_ask(int fd, const struct query_request *request, struct error *err);

enum query_state {
	QUERY_GOES_ON,
	QUERY_IS_WHOLE, /* the command ended well */
	QUERY_FAILED, /* *err says why */
	QUERY_IS_GONE, /* so is the process */
};
/* Take what is there, up to a bound, so that others get their turn. */
enum query_state query_read(int fd, void (*take)(void *context, const char *bytes, size_t length),
			    void *context, struct error *err);
