/* SPDX-License-Identifier: MIT */
/*
 * cgroup - which cgroup a task is accounted to, and whether it is one that we watch.
 *
 * On cgroup v1 one hierarchy is the key; ids are unique only within it.
 */
#pragma once

#include "bpf/compat.bpf.h"

/* In sections of their own, so that user space finds them in any object. */
const volatile struct settings settings SEC(".rodata.settings") = { .key_subsys = -1 };
volatile struct watch watch SEC(".data.watch") = { .id = ~0ULL };

#define LEVELS_MAX 24 /* levels below the watched cgroup that are searched */

/*
 * The pointers from a task of the kernel's own on are typed, so each step is one load: a probe read
 * would be a call, and on machines that guard returns it costs as much as all that is loaded here.
 */
#ifndef OLD_KERNEL
static __always_inline struct cgroup *cgroup_of(struct task_struct *task)
{
	struct css_set *sets = read_only(task)->cgroups;
	struct cgroup_subsys_state **states;

	if (settings.key_subsys < 0)
		return sets->dfl_cgrp;
	states = (void *)sets + bpf_core_field_offset(struct css_set, subsys);
	return states[settings.key_subsys]->cgroup; /* the verifier knows it: a fixed offset */
}
#endif

/* The same of a task that is known by its address alone: by probe reads. */
static __always_inline struct cgroup *far_cgroup_of(struct task_struct *task)
{
	struct css_set *sets = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state = NULL, **states;

	if (settings.key_subsys < 0)
		return BPF_CORE_READ(sets, dfl_cgrp);
	states = (void *)sets + bpf_core_field_offset(struct css_set, subsys);
	bpf_probe_read_kernel(&state, sizeof(state), states + settings.key_subsys);
	return BPF_CORE_READ(state, cgroup);
}

#ifdef OLD_KERNEL
static __always_inline struct cgroup *cgroup_of(struct task_struct *task)
{
	return far_cgroup_of(task);
}
#endif

/* @cgroup as cgroup_of() gave it. */
static __always_inline __u64 cgroup_id(const struct cgroup *cgrp)
{
	const struct kernfs_node *node = LOAD(cgrp, kn);

	return LOAD(node, id);
}

struct watched_search {
	const struct cgroup *cgrp;
	int level;
	bool is_found;
};

static __always_inline long look_for_watched(__u32 above, void *context)
{
	struct watched_search *search = context;
	int level = search->level - (int)above;

	if (level < 0)
		return 1;
	search->is_found = ancestor_id(search->cgrp, level) == watch.id;
	return search->is_found;
}

/* A few probe reads, so any pointer does: callers on a hot road keep the answer by cgroup. */
static __always_inline bool is_watched(const struct cgroup *cgrp)
{
	struct watched_search search = { .cgrp = cgrp };

	if (!watch.id)
		return true;
	search.level = BPF_CORE_READ(cgrp, level);
	repeat(LEVELS_MAX, look_for_watched, &search);
	return search.is_found;
}
