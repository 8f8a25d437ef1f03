/* SPDX-License-Identifier: MIT */
/*
 * managers - the resource managers of this node, by their configuration or a running daemon. Listed
 * only, never queried.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Whether its configuration puts each job in a cgroup of its own. */
enum tracking { TRACKING_UNKNOWN, TRACKING_ON, TRACKING_OFF };

struct manager {
	const char *name; /* "Slurm" */
	const char *file; /* the configuration that is there; NULL: none */
	const char *daemon; /* the daemon that runs; NULL: none */
	pid_t daemon_pid;
	enum tracking tracking;
	const char *setting; /* "KEY=VALUE" that turns tracking on, where we know one; else NULL */
};

#define MANAGERS_MAX 16

struct managers {
	struct manager items[MANAGERS_MAX];
	size_t count;
};

void managers_read(int root_fd, struct managers *ret);

/* By the last line of a configuration that sets the key of @setting, "KEY=VALUE".  Capitals count
 * for nothing.  No such line: unknown. */
enum tracking managers_parse_tracking(const char *text, const char *setting);
