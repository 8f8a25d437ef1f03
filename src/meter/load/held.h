/* SPDX-License-Identifier: MIT */
/*
 * held - a child process that waits until it is released, so that it can be put in a group first.
 *
 * It waits in poll(), which moves no data and so is not counted, and is there before the parent
 * goes on: what is counted from then on is what it does after its release.
 */
#pragma once

#include <sys/types.h>

struct held {
	pid_t pid; /* in the parent; 0 in the child */
	int fd; /* a socket to the other side, closed at execve() */
};

/* Fork.  The parent returns 0 when the child is at rest; the child returns 0, with pid 0, once it
 * is released (and never, if its parent gave up).  -Exxx: no process was made. */
int held_fork(struct held *ret);

/* Let it go on.  Its socket stays open until it has. */
int held_release(const struct held *h);
