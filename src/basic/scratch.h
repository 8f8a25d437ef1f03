/* SPDX-License-Identifier: MIT */
/*
 * scratch - a directory for as long as we live.  One that is killed leaves its own; whoever makes
 * the next one of that name removes it, told by a lock that ends with its holder.
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
