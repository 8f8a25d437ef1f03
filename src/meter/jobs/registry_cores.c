/* SPDX-License-Identifier: MIT */
/* Time on each CPU, of cgroups and of jobs: how many cores a job touched, and how evenly. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "jobs/registry_internal.h"

void registry_cores_clear(struct registry_cores *c)
{
	free(c->items);
	*c = (struct registry_cores){};
}

static int make_room(struct registry_cores *c, size_t more)
{
	struct registry_core *larger = reallocarray(c->items, c->count + more + 1, sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	c->items = larger;
	return 0;
}

/* There has to be room. */
static void add(struct registry_cores *c, uint32_t cpu, uint64_t on_ns)
{
	size_t at = c->count;

	while (at > 0 && c->items[at - 1].key >= cpu)
		at--;
	if (at < c->count && c->items[at].key == cpu) {
		c->items[at].on_ns += on_ns;
		return;
	}
	memmove(c->items + at + 1, c->items + at, (c->count - at) * sizeof(*c->items));
	c->items[at] = (struct registry_core){ .key = cpu, .on_ns = on_ns };
	c->count++;
}

int registry_cores_add(struct registry_cores *c, uint32_t cpu, uint64_t on_ns)
{
	int r = make_room(c, 1);

	if (r == 0)
		add(c, cpu, on_ns);
	return r;
}

/* ---- what is fed ---- */

static int compare_cores(const void *a, const void *b)
{
	const struct cgroup_core *x = a, *y = b;

	return (x->cgroup > y->cgroup) - (x->cgroup < y->cgroup);
}

int registry_take_cores(struct registry *r, const struct cgroup_core *cores, size_t count)
{
	struct cgroup_core *copy = calloc(count + 1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	if (count) {
		memcpy(copy, cores, count * sizeof(*copy));
		qsort(copy, count, sizeof(*copy), compare_cores);
	}
	registry_forget_cores(r);
	r->cores = copy;
	r->core_count = count;
	return 0;
}

void registry_forget_cores(struct registry *r)
{
	free(r->cores);
	r->cores = NULL;
	r->core_count = 0;
}

/* Those of one cgroup. */
static const struct cgroup_core *find_cores(const struct registry *r, uint64_t cgroup,
					    size_t *ret_count)
{
	const struct cgroup_core key = { .cgroup = cgroup };
	const struct cgroup_core *end = r->cores + r->core_count,
				 *first = r->core_count ? bsearch(&key, r->cores, r->core_count,
								  sizeof(key), compare_cores)
							: NULL;

	*ret_count = 0;
	while (first && first > r->cores && first[-1].cgroup == cgroup)
		first--;
	for (const struct cgroup_core *c = first; c && c < end && c->cgroup == cgroup; c++)
		++*ret_count;
	return first;
}

int registry_cores_reserve(struct registry_cores *to, const struct registry *r,
			   const struct registry_group *g)
{
	size_t count;

	find_cores(r, g->id, &count);
	return make_room(to, count);
}

void registry_cores_add_group(struct registry_cores *to, const struct registry *r,
			      const struct registry_group *g)
{
	size_t count;
	const struct cgroup_core *cores = find_cores(r, g->id, &count);

	for (size_t i = 0; i < count; i++)
		add(to, cores[i].cpu, cores[i].on_ns);
}

int registry_cores_copy(struct registry_cores *to, const struct registry_cores *from)
{
	int r = make_room(to, from->count);

	for (size_t i = 0; r == 0 && i < from->count; i++)
		add(to, from->items[i].key, from->items[i].on_ns);
	return r;
}

/* Was the job on it for enough of its time? */
static bool is_used(const struct registry_core *core, uint64_t elapsed_ns)
{
	return core->on_ns && core->on_ns >= elapsed_ns / 100 * CORES_USED_PERCENT;
}

int registry_cores_list_used(const struct registry_cores *c, uint64_t elapsed_ns, char **ret)
{
	struct cpulist used = {};

	*ret = NULL;
	for (size_t i = 0; i < c->count; i++) {
		if (c->items[i].key >= CPULIST_MAX) /* a part is not told apart: nobody knows */
			return 0;
		if (is_used(&c->items[i], elapsed_ns))
			cpulist_set(&used, c->items[i].key);
	}
	if (!elapsed_ns || !cpulist_count(&used))
		return 0;
	*ret = cpulist_format(&used);
	return *ret ? 0 : -ENOMEM;
}

int registry_cores_load_balance(const struct registry_cores *c, uint64_t elapsed_ns,
				struct balance *ret)
{
	_cleanup_free_ uint64_t *touched = calloc(c->count + 1, sizeof(*touched));
	size_t count = 0;

	*ret = (struct balance){};
	if (!touched)
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++) {
		if (c->items[i].key == TIME_ALL_CPUS)
			return 0; /* a part is not told apart: nobody knows */
		if (is_used(&c->items[i], elapsed_ns))
			touched[count++] = c->items[i].on_ns;
	}
	if (elapsed_ns)
		*ret = load_balance_of(touched, count);
	return 0;
}

/* ---- work of each task of a step: how many ranks a job has, and how evenly they worked ---- */

uint32_t registry_rank_of(const char *task)
{
	uint64_t number;

	return parse_u64(task, &number) == 0 && number < RANK_NONE ? (uint32_t)number : RANK_NONE;
}

static struct registry_core *find_rank(const struct registry_cores *ranks, uint32_t rank)
{
	for (size_t i = 0; i < ranks->count; i++) {
		if (ranks->items[i].key == rank)
			return &ranks->items[i];
	}
	return NULL;
}

uint64_t registry_group_work(const struct registry *r, const struct registry_group *g)
{
	const struct cgroup_tasks *tasks = g->task ? &r->tasks[g->task - 1] : NULL;
	uint64_t cpu_ns = tasks ? tasks->counters.user_ns + tasks->counters.system_ns : 0;

	return cpu_ns -
	       (registry_has(r, COUNTED_SPINNING) && tasks ? MIN(tasks->polls.ns, cpu_ns) : 0);
}

int registry_step_reserve_rank(struct registry_step *s, uint32_t rank)
{
	if (rank == RANK_NONE || find_rank(&s->ranks, rank))
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
	struct registry_core *at = rank == RANK_NONE ? NULL : find_rank(&s->ranks, rank);

	if (at)
		at->on_ns += registry_group_work(r, g);
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
