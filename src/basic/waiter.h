/* SPDX-License-Identifier: MIT */
/* waiter - work that continues while an answer is awaited, such as reading keys. */
#pragma once

struct waiter {
	int fds[2]; /* readable: there is something to do; < 0: none */
	int timeout_ms; /* work() is called at least that often */
	/* < 0: the waiting ends, and the awaited call fails with it. */
	int (*run)(void *context);
	void *context;
};
