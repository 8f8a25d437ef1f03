/* SPDX-License-Identifier: MIT */
/* Agents that end and others that start: what is not to count twice, and how long nobody counted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/shape.h"
#include "basic/macro.h"
#include "jobs/registry_internal.h"

/* In each job that the task's group is one of. */
static int keep_base(struct registry *r, const struct task_base *base)
{
	const struct registry_group *g = idmap_get(&r->groups, base->cgroup);
	int code = 0;

	for (size_t i = 0; code == 0 && g && i < g->member_count; i++) {
		struct registry_job *j = g->members[i].job;

		if (!g->members[i].is_folded && j->bases.count < BASES_MAX)
			code = task_bases_add(&j->bases, base);
	}
	return code;
}

static int inherit_group(struct registry_group *g)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < g->member_count; i++) {
		if (!g->members[i].is_folded)
			code = registry_member_add(&g->members[i], g, 0);
	}
	if (code < 0)
		return code;
	g->task = g->row_count = 0;
	return 0;
}

int registry_inherit(struct registry *r)
{
	size_t at = 0;
	int code = 0;

	if (!r->has_rows)
		return -EINVAL;
	for (struct registry_group *g; code == 0 && (g = idmap_next(&r->groups, &at));)
		code = g->is_learned ? inherit_group(g) : 0;
	registry_forget_parts(r); /* they are the jobs' now */
	return code;
}

int registry_put_aside(struct registry *r, const struct task_bases *bases, uint64_t boot_ns)
{
	int code = registry_inherit(r);

	for (size_t i = 0; code == 0 && i < r->job_count; i++) {
		if (!r->jobs[i]->is_ended) {
			task_bases_clear(&r->jobs[i]->bases);
			r->jobs[i]->counted_until_ns = boot_ns;
			r->jobs[i]->is_put_aside = true;
			r->jobs[i]->is_changed = true;
		}
	}
	for (size_t i = 0; code == 0 && i < bases->count; i++)
		code = keep_base(r, &bases->items[i]);
	return code;
}

int registry_bases(const struct registry *r, struct task_bases *ret, uint64_t *ret_until_ns)
{
	for (size_t i = 0; i < r->job_count; i++) {
		const struct registry_job *j = r->jobs[i];

		if (j->is_ended)
			continue;
		*ret_until_ns = MAX(*ret_until_ns, j->counted_until_ns);
		for (size_t k = 0; k < j->bases.count; k++) {
			if (task_bases_add(ret, &j->bases.items[k]) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* Since when what its groups that live did is in nothing that is left; @is_taken_over: of the
 * kernel side. */
static uint64_t uncounted_since(const struct registry_job *j, bool is_taken_over)
{
	if (j->is_put_aside)
		return j->counted_until_ns;
	return is_taken_over ? 0 : MAX(j->counted_until_ns, j->facts->start_boot_ns);
}

int registry_resume(struct registry *r, bool is_taken_over, uint64_t boot_ns)
{
	r->is_taken_over = is_taken_over;
	for (size_t i = 0; i < r->job_count; i++) {
		struct registry_job *j = r->jobs[i];
		uint64_t since_ns = uncounted_since(j, is_taken_over),
			 life_ns = boot_ns - j->facts->start_boot_ns;
		struct job *facts;

		if (j->is_ended || !since_ns || since_ns >= boot_ns)
			continue;
		facts = registry_job_facts(j);
		if (!facts)
			return -ENOMEM;
		facts->unmeasured_ns = MIN(facts->unmeasured_ns + (boot_ns - since_ns), life_ns);
		j->is_put_aside = false;
		j->is_changed = true;
	}
	return 0;
}

/* ---- in a state ---- */

/* clang-format off */
static const struct field base_fields[] = {
	{ NULL, SHAPE_UINT, 0, offsetof(struct task_base, pid), sizeof(uint32_t), .most = UINT32_MAX },
	{ NULL, SHAPE_UINT, 0, offsetof(struct task_base, started_ns), sizeof(uint64_t) },
	{ NULL, SHAPE_UINTS, 0, offsetof(struct task_base, counters), TASK_COUNTERS },
};
static const struct shape base_shape = { SHAPE_OF(struct task_base, base_fields), .max = BASES_MAX };
static const struct field gap_fields[] = {
	{ "counted_until_ns", SHAPE_UINT, 0, offsetof(struct registry_job, counted_until_ns), sizeof(uint64_t) },
	{ "is_put_aside", SHAPE_BOOL, 0, offsetof(struct registry_job, is_put_aside) },
	{ "tasks", SHAPE_TUPLES, 0, offsetof(struct registry_job, bases), .rows = &base_shape },
};
/* clang-format on */
const struct shape registry_gaps_shape = { SHAPE_OF(struct registry_job, gap_fields) };
