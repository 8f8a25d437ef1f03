/* SPDX-License-Identifier: MIT */
/*
 * ticker - a descriptor that becomes readable at every whole multiple of an interval since the
 * epoch, by the wall clock: so all nodes of a site tick together.  After the clock was set it
 * is aimed again at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

struct ticker { /* begins as TICKER_NONE */
	int fd;
	uint64_t interval_ns;
	uint64_t due_ns; /* since the epoch: the tick that is waited for */
};

#define TICKER_NONE ((struct ticker){ .fd = -EBADF })

/* The first multiple of @interval_ns (at least 1) behind @now_ns; UINT64_MAX: there is none. */
uint64_t ticker_next(uint64_t now_ns, uint64_t interval_ns);

int ticker_open(uint64_t interval_ns, struct ticker *ret, struct error *err);
void ticker_close(struct ticker *t);

/* Another interval from now on. */
int ticker_set(struct ticker *t, uint64_t interval_ns, struct error *err);

/* Call it when the descriptor is readable: it waits for the next tick from then on.  *@ret_is_due:
 * a tick it was, and not the clock that was set.  Ticks that were slept through are one. */
int ticker_read(struct ticker *t, bool *ret_is_due, struct error *err);
