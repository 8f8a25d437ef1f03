/* SPDX-License-Identifier: MIT */
/* Whom the kernel killed: known to the jobs at once, and not only as their leaves are folded. */
#include <errno.h>
#include <stdlib.h>

#include "jobs/registry_parts.h"

static const struct victims nobody;

const struct victims *registry_job_victims(const struct registry_job *j)
{
	return j->victims ? j->victims : &nobody;
}

static int add_to_job(struct registry_job *j, const struct victim *victim)
{
	if (!j->victims)
		j->victims = calloc(1, sizeof(*j->victims));
	if (!j->victims)
		return -ENOMEM;
	j->is_changed |= victims_add(j->victims, victim);
	return 0;
}

int registry_add_victim(struct registry *r, uint64_t leaf, const struct victim *victim)
{
	struct registry_group *g = idmap_get(&r->groups, leaf);
	int code = 0;

	for (size_t i = 0; g && code == 0 && i < g->member_count; i++)
		code = add_to_job(g->members[i].job, victim);
	return code;
}
