/* SPDX-License-Identifier: MIT */
/* What another kernel side counted before becomes part of the jobs, whose leaves may live on. */
#include <errno.h>

#include "registry_parts.h"

static int inherit_group(struct registry *r, struct registry_group *g)
{
	struct value ended[METRIC_JOB_COUNT] = {};
	int code = 0;

	if (g->task)
		values_add_tasks(ended, &r->tasks[g->task - 1]);
	for (size_t i = 0; code == 0 && i < g->member_count; i++) {
		struct registry_member *m = &g->members[i];

		if (m->is_folded)
			continue;
		code = registry_job_add_rows(m->job, g);
		if (code < 0)
			return code;
		values_add(m->job->folded, ended);
		if (m->step)
			values_add(m->step->folded, ended);
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
