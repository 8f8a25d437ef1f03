/* SPDX-License-Identifier: MIT */
#include "basic/clock.h"

uint64_t clock_now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int64_t clock_unix_offset_ns(void)
{
	return (int64_t)(clock_now_ns(CLOCK_REALTIME) - clock_now_ns(CLOCK_MONOTONIC));
}

void clock_correct(uint64_t *moment_ns, int64_t ahead_ns)
{
	int64_t ours;

	if (*moment_ns && !__builtin_sub_overflow((int64_t)*moment_ns, ahead_ns, &ours) && ours > 0)
		*moment_ns = (uint64_t)ours;
}
