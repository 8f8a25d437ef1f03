/* SPDX-License-Identifier: MIT */
/* traced - what `trace` needs beside the tracer: what the kernel counted of the command's files (by
 * the agent or a meter of our own), the job, and the agent that gets the counts for its record. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cgroup/identity.h"

struct child;
struct error;
struct reading;
struct traced_calls;
struct traced_files;
struct traced_run;
struct watch_target;
struct sites;
struct trace_teller;
struct tracing_moment;

/* Before the command's process exists. */
int traced_files_begin(struct traced_files **ret, struct error *err);
/* The command's process is held back. */
int traced_files_admit(struct traced_files *f, pid_t pid, struct error *err);
/* It has ended. */
int traced_files_read(struct traced_files *f, const struct child *child, struct error *err);
/* What was read, with its mounts; owned by @f.  NULL: nothing was. */
const struct reading *traced_files_reading(const struct traced_files *f);
struct traced_files *traced_files_free(struct traced_files *f); /* NULL is fine; returns NULL */
void traced_files_freep(struct traced_files **f);

#define TRACED_JOB_SCOPE 64

struct traced_job { /* .identity.manager NULL: of none that is known */
	struct identity identity;
	char scope[TRACED_JOB_SCOPE]; /* the boot, of a `run`, whose id another node may have too;
					 else "" */
};

/* Of @target; where it is NULL, of the process: a manager's, around whatever else it is part of. */
void traced_job_find(const struct watch_target *target, pid_t pid, struct traced_job *ret);

/* Sends the counts to the agent, for the job's record and metrics.  NULL: no agent, or no memory.
 */
struct trace_teller *trace_teller_open(const struct sites *sites);
struct trace_teller *trace_teller_close(struct trace_teller *t); /* NULL is fine; returns NULL */

/* What cannot be sent is sent with the next; at the end a message says so. */
void trace_teller_tell(struct trace_teller *t, const struct tracing_moment *moment);

/* ---- the functions that `run` traces of its command, for the command's record ---- */

/* Of sets by their names, with commas between. */
int traced_run_open(const char *names, struct traced_run **ret, struct error *err);
struct traced_run *traced_run_close(struct traced_run *t); /* NULL is fine; returns NULL */

struct traced_command {
	pid_t pid; /* it has not begun */
	char *const *command;
	int (*begin)(void *context, struct error *err); /* let it: all is on */
	/* At most that long; returns 1 while it runs. */
	int (*wait)(void *context, int timeout_ms, struct error *err);
	void *context;
};

/* Trace it until it has ended.  On failure it may have begun, and run on.  @ret begins as {}. */
int traced_run_trace(struct traced_run *t, const struct traced_command *command,
		     struct traced_calls *ret, struct error *err);
