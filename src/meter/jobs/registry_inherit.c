/* SPDX-License-Identifier: MIT */
/* What a kernel side counted that ends becomes part of the jobs, whose leaves may live on. */
#include <errno.h>

#include "jobs/registry_internal.h"

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
