/* SPDX-License-Identifier: MIT */
/*
 * agent answer - what the agent's socket answers of itself, its jobs and their groups, as its
 * clients have it (docs/internals/socket.md).
 *
 * Strings are owned by who parsed them; the agent fills in texts of others, and clears nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/record.h" /* struct strings */

struct shape;

struct client_job { /* of strings NULL: not known */
	char *manager, *id, *name, *user;
	char *sluid, *part; /* its other names: see job_name_of_part() */
	char *array_id; /* what the last is made of, with the next two; -1: none */
	int64_t array_index, het_offset;
	int64_t uid; /* -1: not known */
	bool is_live;
	uint64_t end_ns; /* since the epoch; 0: not known, or not yet */
};

#define CLIENT_JOBS_MAX 65536
struct client_jobs {
	struct client_job *items;
	size_t count;
};
extern const struct shape client_jobs_shape; /* only parsed: each job is written from its record */
void client_jobs_clear(struct client_jobs *jobs);

struct client_push { /* what goes to the site's server, for who sees all */
	bool is_on; /* a server is set, and the caller may know */
	char *server; /* its URL; NULL: it is not on */
	char *why_unsent; /* NULL: nothing is wrong */
	uint64_t finals_unsent, checkpoints_unsent, finals_dropped, checkpoints_dropped;
	uint64_t taken, known, refused; /* answers */
	uint64_t http_status; /* of the last answer; 0: there was none */
	uint64_t bytes, max_bytes; /* of the spool */
	uint64_t oldest_ns, answered_ns; /* since the epoch; 0: none waits; never */
};

/* What is on, what it does not see, and what weakens a number: in its own words. */
struct client_agent {
	bool is_whole; /* with the second group of counts, and push, of all users: written only */
	char *version; /* never NULL in a client */
	struct strings tiers, missing, notes;
	uint64_t readings, failed_readings, last_reading_ns, jobs_live, jobs_ended;
	uint64_t groups, walks, found_by_walk, state_errors, set_aside, lost_events;
	struct client_push push;
};
extern const struct shape client_agent_shape;
void client_agent_clear(struct client_agent *a);

struct client_group { /* which job it is part of; NULL: it does not say */
	char *manager, *id, *step, *task, *path;
	uint64_t group_id; /* of a run: what the kernel numbers its cgroup by, which no other job of
			      that name has; 0: not known */
};
/* Of any group, and of a run that begins. */
extern const struct shape client_group_shape, client_run_shape;
void client_group_clear(struct client_group *g);
