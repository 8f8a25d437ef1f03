/* SPDX-License-Identifier: MIT */
/*
 * agent - one process, one thread, one loop: readings at an interval and on demand, HTTP
 * on TCP and on a Unix socket.  The root helper is the only other process.
 */
#pragma once

#include "basic/cli.h"

struct agent;
struct config;
struct error;

/*
 * As root: take the lock, make what has to be made, load the kernel side, listen, and give up
 * rights.  @config is taken over, on failure too.  -EALREADY: another agent runs.
 */
int agent_open(struct config *config, const char *root, struct agent **ret, struct error *err);

/* Until a signal ends it: SIGTERM and SIGINT for good, SIGUSR1 for the next agent, which takes over
 * what counts.  -EIO: what jobs did could not be written down; that is said already. */
int agent_run(struct agent *a);

struct agent *agent_close(struct agent *a); /* NULL is fine; returns NULL */

/* What people type to start an agent. */
extern const struct cli_command cmd_agent;
