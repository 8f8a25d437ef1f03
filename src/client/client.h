/* SPDX-License-Identifier: MIT */
/*
 * client - talks to the agent of this node on its Unix socket (docs/internals/socket.md).
 *
 * Every function returns in a bounded time, whatever the agent does, with errors in words: -ENOENT:
 * there is no such thing, or it is not yours; -ETIMEDOUT: no answer; -ECONNREFUSED and the like:
 * the agent is gone; -EPROTO: that was no answer of an agent; -EBUSY: it cannot do that now, and
 * says why.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "codec/agent_answer.h"

struct client;
struct error;
struct tick;
struct waiter;

#define CLIENT_SOCKET "/run/jobmeter/agent.sock"
#define CLIENT_ANSWER_MAX (64u * 1024 * 1024)
#define CLIENT_HELLO_MS \
	2000 /* for whether an agent lives: where none does, that is known at once */
#define CLIENT_ANSWER_MS 10000 /* for everything else */
#define CLIENT_TRACE_MS 60000 /* until a trace begins */

/* Open it if a live agent answers there.  @socket_path NULL: $JOBMETER_SOCKET, else CLIENT_SOCKET.
 * -ENOENT, -ECONNREFUSED: no agent runs. */
int client_open(const char *socket_path, struct client **ret, struct error *err);
struct client *client_close(struct client *c); /* NULL is fine; returns NULL */
void client_closep(struct client **c);

int client_get_agent(struct client *c, struct client_agent *ret, struct error *err);

/* Sensors and balance of the node's energy (jobmeter.energy/1), as text; the caller frees. -EACCES:
 * for root and admins only. */
int client_get_energy(struct client *c, char **ret, struct error *err);
/* The node's GPUs, and who is on them (jobmeter.gpus/1), as text; the caller frees. */
int client_get_gpus(struct client *c, char **ret, struct error *err);
/* One of these by the agent of this node; where none answers, or @is_standalone, what
 * @measure finds. */
int client_get_or(bool is_standalone, int (*get)(struct client *c, char **ret, struct error *err),
		  int (*measure)(char **ret, struct error *err), char **ret, struct error *err);

/* Who is asked while a later answer is waited for: the caller's, until the client is closed.  He
 * must not use the client meanwhile. */
void client_set_waiter(struct client *c, const struct waiter *waiter);

const char *client_socket_path(const struct client *c);

/* The caller's jobs, live and those that ended lately; root's and admins': all. */
int client_list_jobs(struct client *c, struct client_jobs *ret, struct error *err);

int client_get_record(struct client *c, const char *manager, const char *id, struct record **ret,
		      struct error *err);

/* All of the caller's jobs as they are now, from a reading no older than @max_age_ns (the agent
 * takes none more often than every 50 ms); those that ended only if it was less than @ended_ns
 * before.  @before: the last answer, with which the result shares the records of jobs that did
 * nothing since; one that begins as {}: none yet, and another one will be asked for at once, so the
 * agent takes another reading meanwhile, if that one is older than 0.1 s; NULL: all is wanted.
 * @in_sums: of files, sums by mount do, which an agent that does not know that wish does not make.
 */
int client_get_snapshot(struct client *c, uint64_t max_age_ns, uint64_t ended_ns,
			const struct tick *before, bool in_sums, struct tick *ret,
			struct error *err);

struct endpoint_taker;
/* Calls of library functions of the caller's own processes; @query as docs/internals/socket.md has
 * it, "pid=17&sets=mpi".  Returns when the trace has ended.  -EACCES: it is not permitted. */
int client_trace(struct client *c, const char *query, const struct endpoint_taker *taker,
		 struct error *err);
/* Let it end, from within its taker or waiter: what is left of it still comes. */
int client_end_trace(struct client *c, struct error *err);

int client_find_process(struct client *c, pid_t pid, struct client_group *ret, struct error *err);
int client_find_group(struct client *c, const char *path, struct client_group *ret,
		      struct error *err);

/* What a trace of a job counted so far, a trace_post as text; for root.  -ENOENT: there is no such
 * job. */
int client_tell_trace(struct client *c, const char *post, struct error *err);

/* Announce a run: @pid, a child of ours that has not begun, is put into a group of its own.  *ret:
 * its manager, id, path and group. */
int client_begin_run(struct client *c, pid_t pid, struct client_group *ret, struct error *err);
/* The run is over.  Its record may lack what has just ended: while record.is_final is false, a
 * later client_get_run() may know more. */
int client_end_run(struct client *c, const struct client_group *run, struct record **ret,
		   struct error *err);
int client_get_run(struct client *c, const struct client_group *run, struct record **ret,
		   struct error *err);
