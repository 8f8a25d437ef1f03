/* SPDX-License-Identifier: MIT */
/* clock - the time by one of the system's clocks, in ns. */
#pragma once

#include <stdint.h>
#include <time.h>

/* CLOCK_REALTIME, CLOCK_BOOTTIME..., which the kernel has. */
uint64_t clock_now_ns(clockid_t clock);

/* CLOCK_BOOTTIME and CLOCK_REALTIME of one moment, to some us: where something took the CPU between
 * two readings, they are read again, some times at most. */
struct clock_moment {
	uint64_t boot_ns, real_ns;
};
struct clock_moment clock_now(void);

/* By how much CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, now. */
int64_t clock_unix_offset_ns(void);

/* Convert a time from a clock that is @ahead of ours; 0 is none, and stays. */
void clock_correct(uint64_t *moment_ns, int64_t ahead_ns);
