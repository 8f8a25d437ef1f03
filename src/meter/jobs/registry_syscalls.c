/* SPDX-License-Identifier: MIT */
/* System calls by name, of cgroups that are folded: of those that are not the kernel side tells
 * when a record is made. */
#include <errno.h>
#include <stdlib.h>

#include "jobs/registry_internal.h"
#include "model/document.h"
#include "model/json_place.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/sections/syscalls.h"

static const struct syscalls none = { .is_known = true };

const struct syscalls *registry_job_syscalls(const struct registry_job *j)
{
	const struct registry *r = j->registry;

	if (j->lacks_syscalls || (r->feeds && !registry_has(r, COUNTED_SYSCALLS)))
		return NULL;
	return j->syscalls ? j->syscalls : &none;
}

static int add_to_job(struct registry_job *j, const struct syscall_row *row)
{
	if (!j->syscalls)
		j->syscalls = calloc(1, sizeof(*j->syscalls));
	if (!j->syscalls)
		return -ENOMEM;
	j->syscalls->is_known = true;
	j->is_changed = true;
	return syscalls_add(j->syscalls, row);
}

int registry_fold_syscall(struct registry *r, uint64_t cgroup, const struct syscall_row *row)
{
	const struct registry_group *g = idmap_get(&r->groups, cgroup);
	int code = 0;

	if (!g || !g->is_learned || !g->died_ns || !registry_group_is_folded(g))
		return 0;
	for (size_t i = 0; code == 0 && i < g->member_count; i++)
		code = add_to_job(g->members[i].job, row);
	return code;
}

int registry_inherit_syscall(struct registry *r, uint64_t cgroup, const struct syscall_row *row)
{
	const struct registry_group *g = idmap_get(&r->groups, cgroup);
	int code = 0;

	for (size_t i = 0; code == 0 && g && g->is_learned && i < g->member_count; i++) {
		if (!g->members[i].is_folded)
			code = add_to_job(g->members[i].job, row);
	}
	return code;
}

/* ---- in a state ---- */

void registry_syscalls_clear(struct registry_job *j)
{
	if (j->syscalls)
		syscalls_clear(j->syscalls);
	free(j->syscalls);
	j->syscalls = NULL;
}

void registry_syscalls_format(const struct registry_job *j, struct document *d)
{
	const struct syscalls *syscalls = registry_job_syscalls(j);

	if (!syscalls)
		return;
	document_key(d, syscalls_section.name);
	syscalls_section.format(syscalls, d);
}

int registry_syscalls_parse(const struct place *place, const json_t *root, struct registry_job *j)
{
	j->lacks_syscalls = !json_object_get(root, syscalls_section.name);
	if (j->lacks_syscalls)
		return 0;
	j->syscalls = calloc(1, sizeof(*j->syscalls));
	return j->syscalls ? section_take(&syscalls_section, place, root, j->syscalls) : -ENOMEM;
}
