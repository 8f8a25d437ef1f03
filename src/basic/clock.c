/* SPDX-License-Identifier: MIT */
#include "basic/clock.h"

#define NEAR_NS 10000 /* two readings without a wait between them are nearer */
#define TRIES 20

uint64_t clock_now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct clock_moment clock_now(void)
{
	struct clock_moment best = {};
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < TRIES && least_ns > NEAR_NS; i++) {
		const uint64_t before_ns = clock_now_ns(CLOCK_BOOTTIME),
			       real_ns = clock_now_ns(CLOCK_REALTIME),
			       took_ns = clock_now_ns(CLOCK_BOOTTIME) - before_ns;

		if (took_ns >= least_ns)
			continue;
		least_ns = took_ns;
		best = (struct clock_moment){ before_ns + took_ns / 2, real_ns };
	}
	return best;
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
