/* SPDX-License-Identifier: MIT */
/*
 * owner - whose a process is: what a user may have traced by somebody with more rights.
 *
 * That is a process that is his and nobody else's, as the kernel lets a user trace it: all of its
 * ids are his, it has no capability, its memory may be dumped (so it has not been started from a
 * set-user-ID program, nor from one that he may not read), and it is in our user namespace.
 */
#pragma once

#include <sys/types.h>

struct error;

struct owner {
	uid_t uid;
	gid_t gid;
};

/* Of now: whoever needs it for longer holds a pidfd and looks at that afterwards.  -ENOENT: there
 * is no such process, or it is another user's, which get the same words; -EPERM: it is his, with
 * more rights than he has.  @err may be NULL. */
int owner_check(const struct owner *owner, pid_t pid, struct error *err);

/* The same of the text of proc's status. */
int owner_check_status(const struct owner *owner, const char *status, struct error *err);
