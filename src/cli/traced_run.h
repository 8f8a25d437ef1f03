/* SPDX-License-Identifier: MIT */
/* traced_run - the functions that `run` traces of its command, for the command's record. */
#pragma once

#include <sys/types.h>

struct error;
struct traced_calls;
struct traced_run;

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
