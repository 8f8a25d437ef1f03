/* SPDX-License-Identifier: MIT */
/* Work of each task of a step: how many ranks a job has, and how evenly they worked. */
#include <errno.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "jobs/registry_internal.h"

uint32_t registry_rank_of(const char *task)
{
	uint64_t number;

	return parse_u64(task, &number) == 0 && number < RANK_NONE ? (uint32_t)number : RANK_NONE;
}

static struct registry_core *find(const struct registry_cores *ranks, uint32_t rank)
{
	for (size_t i = 0; i < ranks->count; i++) {
		if (ranks->items[i].key == rank)
			return &ranks->items[i];
	}
	return NULL;
}

static uint64_t work_of(const struct registry *r, const struct registry_group *g)
{
	const struct cgroup_tasks *tasks = g->task ? &r->tasks[g->task - 1] : NULL;
	uint64_t cpu_ns = tasks ? tasks->counters.user_ns + tasks->counters.system_ns : 0;

	return cpu_ns -
	       (registry_has(r, COUNTED_SPINNING) && tasks ? MIN(tasks->polls.ns, cpu_ns) : 0);
}

int registry_step_reserve_rank(struct registry_step *s, uint32_t rank)
{
	if (rank == RANK_NONE || find(&s->ranks, rank))
		return 0;
	if (s->ranks.count >= RANKS_MAX) {
		s->lacks_ranks = true;
		return 0;
	}
	return registry_cores_add(&s->ranks, rank, 0);
}

void registry_step_add_rank(struct registry_step *s, uint32_t rank, const struct registry *r,
			    const struct registry_group *g)
{
	struct registry_core *at = rank == RANK_NONE ? NULL : find(&s->ranks, rank);

	if (at)
		at->on_ns += work_of(r, g);
}

int registry_ranks_add_group(struct registry_cores *to, uint32_t rank, const struct registry *r,
			     const struct registry_group *g)
{
	return rank == RANK_NONE || to->count >= RANKS_MAX
		       ? 0
		       : registry_cores_add(to, rank, work_of(r, g));
}

int registry_ranks_load_balance(const struct registry_cores *ranks, struct balance *ret)
{
	_cleanup_free_ uint64_t *times = calloc(ranks->count + 1, sizeof(*times));

	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < ranks->count; i++)
		times[i] = ranks->items[i].on_ns;
	*ret = load_balance_of(times, ranks->count);
	return 0;
}
