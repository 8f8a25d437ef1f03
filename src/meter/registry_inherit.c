/* SPDX-License-Identifier: MIT */
/* What a kernel side counted that ends becomes part of the jobs, whose leaves may live on. */
#include <errno.h>

#include "registry_parts.h"

static int inherit_group(struct registry *r, struct registry_group *g)
{
	const struct leaf_tasks *tasks = g->task ? &r->tasks[g->task - 1] : NULL;
	int code = 0;

	for (size_t i = 0; code == 0 && i < g->member_count; i++) {
		struct registry_member *m = &g->members[i];
		struct value ended[METRIC_JOB_COUNT] = {};

		if (m->is_folded)
			continue;
		code = registry_job_reserve_cores(m->job, g);
		if (code == 0 && m->step)
			code = registry_step_reserve_rank(m->step, m->rank);
		if (code == 0)
			code = registry_network_reserve(m, g);
		if (code == 0)
			code = registry_job_reserve_block(m->job, g);
		if (code == 0)
			code = registry_job_add_rows(m->job, g);
		if (code < 0)
			return code;
		if (tasks)
			registry_add_tasks(r, ended, tasks, registry_is_managers(m->job, m->step, m->rank, tasks));
		registry_job_add_cores(m->job, g);
		registry_team_add_group(&m->job->team, r, g);
		registry_network_fold(m, g);
		registry_job_add_block(m->job, g);
		values_add(m->job->folded, ended);
		if (m->step) {
			values_add(m->step->folded, ended);
			registry_step_add_rank(m->step, m->rank, r, g);
		}
		m->job->is_changed = true;
	}
	g->task = g->row_count = 0;
	return code;
}

int registry_inherit(struct registry *r)
{
	size_t at = 0;
	int code = 0;

	if (!r->has_rows)
		return -EINVAL;
	for (struct registry_group *g; code == 0 && (g = idmap_next(&r->groups, &at));)
		code = g->is_learned ? inherit_group(r, g) : 0;
	return code;
}
