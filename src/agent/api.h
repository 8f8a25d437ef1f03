/* SPDX-License-Identifier: MIT */
/*
 * api - what the agent answers on its Unix socket: HTTP with JSON, for people without root
 * (docs/internals/socket.md).
 *
 * Each asks for his own jobs (see permission.h).  A job that is not his and one that is not there
 * get the same answer.  The parts of a URL are looked up among the jobs, and used for nothing
 * else.
 */
#pragma once

#include <sys/types.h>

#include "http/http.h"
#include "model/snapshot.h"

struct api;
struct error;
struct hierarchy;
struct identity_rules;
struct permission;
struct push_status;
struct sampler;
struct tracer_helper;

#define API_RUNS_MAX 1024 /* that are under way... */
#define API_RUNS_OF_USER_MAX 256 /* ...of one user but root */
#define API_LIST_AGE_NS UINT64_C(1000000000) /* no list is older (a tick is, on demand), ... */
#define API_RECORD_AGE_NS UINT64_C(50000000) /* ...and no record of a job that the list has */

struct api_run { /* strings are the receiver's */
	char *id; /* the job's id with the manager "run" */
	uint64_t group_id; /* as the kernel numbers it; 0: not known */
	char *path; /* of its group in the key hierarchy; NULL: the API looks where the process is
		       now */
};

/* Who makes groups for runs: the root helper. */
struct api_runs {
	/* Make a group below @peer's own and move @pid into it, which is a child of his that has
	 * not begun yet. */
	int (*begin)(void *context, const struct http_peer *peer, pid_t pid, struct api_run *ret,
		     struct error *err);
	/* Remove the group; who is left in it goes to the group above.  Of a run that an agent
	 * before this one began, it goes once it is empty. */
	int (*end)(void *context, const char *id, struct error *err);
	void *context;
};

/* Which jobs a page of metrics shows. */
struct api_view {
	struct permission *permission;
	struct http_peer peer;
};
bool api_view_sees(const struct api_view *view, const struct snapshot_job *job);

struct api_options { /* all of it outlives the API */
	struct sampler *sampler;
	struct permission *permission;
	int root_fd; /* a directory that holds proc */
	const struct hierarchy *hierarchy; /* NULL: no cgroups */
	const struct identity_rules *rules; /* the site's; NULL: the built-in ones only */
	const struct api_runs *runs; /* NULL: there is no helper, and so no run */
	struct tracer_helper *tracer; /* NULL: users may not trace */
	/* GET /metrics: takes a reference of @snapshot and a copy of @view.  NULL: there is none.
	 */
	int (*expose)(void *context, const struct http_request *request, struct snapshot *snapshot,
		      const struct api_view *view, struct http_answer *ret);
	void *context; /* expose's */
	/* What goes to the site's server.  NULL: it is not known. */
	void (*get_push)(void *push, struct push_status *ret);
	void *push;
};

int api_open(const struct api_options *options, struct api **ret);
struct api *api_close(struct api *a); /* NULL is fine; returns NULL */

/* Somebody has got a tick and will ask for the next one at once: *@ret_age_ns is how old that
 * reading may be, which is best taken now, while he is at work, and on his account: *@ret_uid. Told
 * once. */
bool api_wants_ahead(struct api *a, uint64_t *ret_age_ns, uid_t *ret_uid);

/* Their context is the struct api. */
const struct http_route *api_routes(void);
