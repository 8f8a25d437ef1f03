/* SPDX-License-Identifier: MIT */
/* deadline - calls a function at a given time, even while the process waits for a reader of its
 * output. */
#pragma once

#include <stdint.h>

struct deadline;

/* Call @reached from a thread of its own, once: when @fd (below 0: none) is readable, or @after_ns
 * (0: never) have passed.  -errno. */
int deadline_new(int fd, uint64_t after_ns, void (*reached)(void *context), void *context,
		 struct deadline **ret);
/* It is not called any more when this returns.  NULL is fine; returns NULL. */
struct deadline *deadline_free(struct deadline *d);
