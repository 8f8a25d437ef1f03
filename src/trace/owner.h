/* SPDX-License-Identifier: MIT */
/*
 * owner - which processes a user may have traced by a process with more rights.
 *
 * As for ptrace: all ids of the process are the user's, it has no capabilities, its memory may be
 * dumped (it was not started from a set-user-ID program, or one that the user cannot read), and it
 * is in our user namespace.
 */
#pragma once

#include <sys/types.h>

struct error;

struct owner {
	uid_t uid;
	gid_t gid;
};

/* The state now: hold a pidfd and check afterwards to rely on it longer.  -ENOENT: no such process,
 * or another user's (same message); -EPERM: the user's own, with more rights.  @err may be NULL. */
int owner_check(const struct owner *owner, pid_t pid, struct error *err);

/* The same of the text of proc's status. */
int owner_check_status(const struct owner *owner, const char *status, struct error *err);
