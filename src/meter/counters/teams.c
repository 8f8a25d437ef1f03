/* SPDX-License-Identifier: MIT */
#include "counters/teams.h"

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

struct thread_team thread_levels_team(const struct thread_levels *levels)
{
	struct thread_team team = { .greatest_ns = levels->greatest_ns };
	size_t greatest = level_of(levels->greatest_ns);

	for (size_t i = greatest - MIN(greatest, (size_t)TEAM_REACH); i < THREAD_LEVELS; i++) {
		team.count += levels->counts[i];
		team.sum_ns += levels->sums_ns[i];
	}
	return team;
}

void thread_team_raise(struct thread_team *to, const struct thread_team *from)
{
	if (from->sum_ns > to->sum_ns)
		*to = *from;
}
