/* SPDX-License-Identifier: MIT */
/*
 * watch - follows running jobs from now until they end, a time or a signal, and reports what they
 * did in this time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "codec/session.h"

struct error;
struct client;
struct client_jobs;
struct hardware_events;
struct on_demand;
struct record;
struct watch_target;
struct watch_targets;

/* ---- where the numbers come from: the agent of the node, or a meter of our own ---- */

#define WATCHED_MAX 4096

struct watched { /* a job; strings and records are owned */
	char *manager, *id; /* NULL: it is only a group */
	char *label; /* what it is called in a line */
	bool is_live;
	bool is_new; /* it began while we watched, so all of it is ours */
	bool is_replaced; /* another has its name by now, and is in the list behind it */
	struct record *first, *before, *last; /* NULL: not read yet; before: the one before the last
					       */
};

struct watched_list {
	struct watched **items;
	size_t count;
};
/* An empty one, that belongs to the list.  NULL: no memory, or too many. */
struct watched *watched_add(struct watched_list *list);
void watched_clear(struct watched_list *list);

struct watch_source {
	/* Find out which jobs there are and which of them live: new ones are added. */
	int (*refresh)(struct watch_source *s, struct watched_list *list, struct error *err);
	/* Its record from its beginning (or the source's) to now. */
	int (*read)(struct watch_source *s, const struct watched *job, struct record **ret,
		    struct error *err);
	void (*close)(struct watch_source *s);
};
void watch_source_closep(struct watch_source **s);

struct watch_backend { /* who knows all jobs of the node */
	void *context;
	int (*list)(void *context, struct client_jobs *ret, struct error *err);
	int (*get_record)(void *context, const char *manager, const char *id, struct record **ret,
			  struct error *err);
	void (*close)(void *context);
};
/* @client is not taken over before a source takes the backend. */
struct watch_backend watch_backend_of(struct client *client);
/* A sampler of our own; as root. */
int watch_node_open(const struct on_demand *demand, struct watch_backend *ret, struct error *err);

/* Jobs that are known; @backend is taken over on success.  -ENOENT, -ENOTUNIQ: see
 * watch_target_choose(). */
int watch_jobs_open(const struct watch_backend *backend, const struct watch_targets *targets,
		    struct watch_source **ret, struct error *err);
/* All jobs of a user, also those that begin later. */
int watch_jobs_open_user(const struct watch_backend *backend, uid_t uid, struct watch_source **ret,
			 struct error *err);
/* The job in which a process (or, @pid 0, the group @path) is, by the agent.  -ENOENT: in none. */
int watch_agent_open_group(struct client *client, pid_t pid, const char *path,
			   struct watch_source **ret, struct error *err);

struct watch_meter_options {
	/* What to watch: the group of a job; else the one in which a process is; else a group by
	 * its path, for which its directory may stand. */
	const struct watch_target *job;
	pid_t pid;
	const char *group;
	unsigned int followed_max; /* files to follow one by one; 0: none */
	bool names_syscalls; /* count system calls by name */
	const struct hardware_events *hardware; /* NULL: the machine's own */
};

/* Without an agent, or for what it does not count.  Takes root. */
int watch_meter_open(const struct watch_meter_options *options, struct watch_source **ret,
		     struct error *err);

/* ---- the watch ---- */

struct watch_options {
	uint64_t duration_ns; /* 0: to the end */
	uint64_t interval_ns;
	/* Called after each look, with what was read before in watched.before and now in .last; may
	 * be NULL.  @due_ns: when it was due, by CLOCK_REALTIME. */
	void (*look)(void *context, const struct watched_list *list, uint64_t due_ns);
	void *context;
};

/*
 * Until no job lives any more, the time is over, or SIGINT, SIGTERM or SIGHUP comes (which are held
 * from here to the process' end).  *ret has a record a job, of this time only.  -EPIPE: the agent
 * went away: *ret has what was known until then, and *err says so.  Other errors: there is nothing.
 */
int watch_jobs(struct watch_source *source, const struct watch_options *options,
	       struct session *ret, struct error *err);
