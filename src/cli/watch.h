/* SPDX-License-Identifier: MIT */
/*
 * watch - looks at jobs that already run, from now on to their end, a time or a signal, and says
 * what they did in this time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "codec/session.h"

struct error;
struct watch_source;
struct watched_list;

struct watch_options {
	uint64_t duration_ns; /* 0: to the end */
	uint64_t interval_ns;
	/* Called after each look, with what was read before in watched.before and now in .last; may
	 * be NULL. */
	void (*look)(void *context, const struct watched_list *list);
	void *context;
};

/*
 * Until no job lives any more, the time is over, or SIGINT, SIGTERM or SIGHUP comes (which are held
 * from here to the process' end).  *ret has a record a job, of this time only.  -EPIPE: the agent
 * went away: *ret has what was known until then, and *err says so.  Other errors: there is nothing.
 */
int watch_jobs(struct watch_source *source, const struct watch_options *options,
	       struct session *ret, struct error *err);
