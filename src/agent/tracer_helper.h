/* SPDX-License-Identifier: MIT */
/*
 * tracer_helper - a second small process with rights, which is there only with `trace: users: on`
 * or `trace: sets`: it traces library functions of processes for the users whose they are, and of
 * all jobs for the site, since that takes rights that neither they nor the agent have.
 *
 * What may be traced it judges itself (trace/owner.h, trace/installed_sets.h).  It ends with the
 * agent, also with one that is killed, and all that it attached ends with it.
 */
#pragma once

#include <stdbool.h>

struct error;
struct identity_rules;
struct service_user;
struct tracer_helper;
struct tracer_request;
struct trace_post;

struct tracer_plan { /* what it is for, which is settled when it starts */
	const struct service_user *user; /* who it becomes */
	bool serves_users;
	const char *sets; /* of all jobs, with commas; "": none */
	const char *otlp; /* URL of a collector that is sent their calls; "": none */
	const struct identity_rules *rules; /* the site's, by which a job is known */
};

/* Fork it, as root and before rights are given up. */
int tracer_helper_start(const struct tracer_plan *plan, struct tracer_helper **ret,
			struct error *err);
struct tracer_helper *tracer_helper_stop(struct tracer_helper *h); /* NULL is fine; returns NULL */

/* Begin a session.  *ret_fd, which does not block, is the caller's: a struct tracer_reply comes
 * first.  Closing it ends the session.  -EPIPE: the helper is gone; -EBUSY. */
int tracer_helper_begin(struct tracer_helper *h, struct tracer_request *request, int *ret_fd,
			struct error *err);

int tracer_helper_fd(const struct tracer_helper *h); /* readable: it is gone; -EBADF: that is known
						      */
void tracer_helper_bury(struct tracer_helper *h); /* then */

/* What it counts of groups: for poll(2), and to be taken then.  -EBADF: nothing. */
typedef void (*tracer_listener)(void *context, const struct trace_post *post);
int tracer_helper_words_fd(const struct tracer_helper *h);
void tracer_helper_hear(struct tracer_helper *h, tracer_listener take, void *context);
/* It counts no more; what it has counted is taken, for which it has some seconds. */
void tracer_helper_finish(struct tracer_helper *h, tracer_listener take, void *context);
