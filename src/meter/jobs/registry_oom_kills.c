/* SPDX-License-Identifier: MIT */
/* Whom the kernel killed: known to the jobs at once, and not only as their cgroups are folded. */
#include <errno.h>
#include <stdlib.h>

#include "jobs/registry_internal.h"

static const struct oom_list nobody;

const struct oom_list *registry_job_oom_kills(const struct registry_job *j)
{
	return j->oom_list ? j->oom_list : &nobody;
}

static int add_to_job(struct registry_job *j, const struct oom_kill *oom_kill)
{
	if (!j->oom_list)
		j->oom_list = calloc(1, sizeof(*j->oom_list));
	if (!j->oom_list)
		return -ENOMEM;
	j->is_changed |= oom_list_add(j->oom_list, oom_kill);
	return 0;
}

int registry_add_oom_kill(struct registry *r, uint64_t cgroup, const struct oom_kill *oom_kill)
{
	struct registry_group *g = idmap_get(&r->groups, cgroup);
	int code = 0;

	for (size_t i = 0; g && code == 0 && i < g->member_count; i++)
		code = add_to_job(g->members[i].job, oom_kill);
	return code;
}
