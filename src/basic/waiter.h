/* SPDX-License-Identifier: MIT */
/* waiter - somebody who has more to do than to wait for an answer: who looks at keys, say. */
#pragma once

struct waiter {
	int fds[2]; /* readable: there is something to do; < 0: none */
	int timeout_ms; /* at least that often he is asked, too */
	/* < 0: he waits no longer, and what is waited for fails with that. */
	int (*run)(void *context);
	void *context;
};
