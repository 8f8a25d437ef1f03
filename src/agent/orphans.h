/* SPDX-License-Identifier: MIT */
/*
 * orphans - groups of runs that a helper before us made and left: its agent was killed while they
 * lived.  Nobody but root can remove them, and as long as they are there their job's group cannot
 * go.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ORPHANS_MAX 4096

struct orphan {
	char *path; /* below the root */
	bool is_released;
};

struct orphans { /* begins as {} */
	int root_fd; /* not ours */
	struct orphan *items; /* the deepest first */
	size_t count;
};

/* Look for all groups of runs that are there now. */
int orphans_find(int root_fd, struct orphans *ret);
void orphans_clear(struct orphans *o);

/* The client lives, and says that its command has ended.  Returns whether there is a group of its.
 */
bool orphans_release(struct orphans *o, pid_t client);

/* Remove those that are empty and released, or whose client has ended.  Returns whether some are
 * left. */
bool orphans_sweep(struct orphans *o);

/* The client's number in the name of a run's group, or of the one beside it; 0: it is none. */
pid_t orphans_client_of(const char *name);
