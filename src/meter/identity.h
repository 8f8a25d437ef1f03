/* SPDX-License-Identifier: MIT */
/*
 * identity - whose a cgroup is: its path, by a table of rules, gives (manager, job, step, task).
 *
 * Only the path decides; a process' environment is never asked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define IDENTITY_MAX 256 /* a component of a path has at most 255 bytes, so nothing is cut */

struct identity {
	const char *rule;    /* the rule's name: "slurm-v1" */
	const char *manager; /* "slurm" */
	/* What the rule took from the path; "" where it says nothing. */
	char job[IDENTITY_MAX], step[IDENTITY_MAX], task[IDENTITY_MAX];
	char user[IDENTITY_MAX]; /* a number */
	char node[IDENTITY_MAX];
	size_t start, end; /* the part of the path that the rule covers */
};

/*
 * The innermost rule that matches @path, a group's path within its hierarchy.  False: none does, and
 * *@ret is as it was.  Groups below the one that the rule names belong to it too.
 */
bool identity_of(const char *path, struct identity *ret);

/* The rule that matches around @inner in the same path: the Slurm job in which a `run` was started. */
bool identity_around(const char *path, const struct identity *inner, struct identity *ret);
