/* SPDX-License-Identifier: MIT */
#include "counters/threads.h"

#include <stddef.h>

#include "basic/macro.h"

static size_t level_of(uint64_t on_ns)
{
	size_t level = 0;

	for (on_ns >>= THREAD_LEVELS_FROM; on_ns > 1 && level < THREAD_LEVELS - 1; on_ns >>= 1)
		level++;
	return level;
}

void thread_levels_join(struct thread_levels *levels, uint64_t on_ns)
{
	size_t level = level_of(on_ns);

	levels->greatest_ns = MAX(levels->greatest_ns, on_ns);
	levels->sums_ns[level] += on_ns;
	levels->counts[level]++;
}

struct busiest_threads thread_levels_busiest(const struct thread_levels *levels)
{
	struct busiest_threads busiest = { .greatest_ns = levels->greatest_ns };
	size_t greatest = level_of(levels->greatest_ns);

	for (size_t i = greatest - MIN(greatest, (size_t)THREADS_REACH); i < THREAD_LEVELS; i++) {
		busiest.count += levels->counts[i];
		busiest.sum_ns += levels->sums_ns[i];
	}
	return busiest;
}

void busiest_threads_raise(struct busiest_threads *to, const struct busiest_threads *from)
{
	if (from->sum_ns > to->sum_ns)
		*to = *from;
}
