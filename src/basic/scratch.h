/* SPDX-License-Identifier: MIT */
/*
 * scratch - a directory for the life of the process. A killed process leaves its own; the next
 * scratch_make() of that name removes it, because the lock on it is gone.
 */
#pragma once

#include <stddef.h>

struct scratch {
	char path[64]; /* "": there is none */
	int fd; /* holds the lock */
};

#define SCRATCH_NONE ((struct scratch){ .fd = -EBADF })

/* @prefix: "/dev/shm/jobmeter-selftest-": some letters come behind it.  Negative errno. */
int scratch_make(const char *prefix, struct scratch *ret);
void scratch_remove(struct scratch *s); /* with all that is in it, on its file system; none is fine
					 */
