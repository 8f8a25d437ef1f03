/* SPDX-License-Identifier: MIT */
/*
 * tracer_helper - a second small process with rights, which is there only with `trace: users: on`:
 * it traces library functions of processes for the users whose they are, since that takes rights
 * that neither they nor the agent have.
 *
 * What may be traced it judges itself (trace/owner.h, trace/installed_sets.h).  It ends with the
 * agent, also with one that is killed, and all that it attached ends with it.
 */
#pragma once

#include <sys/types.h>

struct error;
struct service_user;
struct tracer_helper;
struct tracer_request;

/* Fork it, as root and before rights are given up. */
int tracer_helper_start(const struct service_user *user, struct tracer_helper **ret,
			struct error *err);
struct tracer_helper *tracer_helper_stop(struct tracer_helper *h); /* NULL is fine; returns NULL */

/* Begin a session.  *ret_fd, which does not block, is the caller's: a struct tracer_reply comes
 * first.  Closing it ends the session.  -EPIPE: the helper is gone; -EBUSY. */
int tracer_helper_begin(struct tracer_helper *h, struct tracer_request *request, int *ret_fd,
			struct error *err);

int tracer_helper_fd(const struct tracer_helper *h); /* readable: it is gone; -EBADF: that is known
						      */
void tracer_helper_bury(struct tracer_helper *h); /* then */
