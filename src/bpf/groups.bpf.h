/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * groups - the cgroups that are counted separately, with their shares of the common tables.
 *
 * A group without an entry (a user made too many, or the table was full) is counted with the
 * nearest one above it.  Without settings.has_groups nothing of this is loaded.  Costs a look-up
 * when a CPU switches to another cgroup, and some when a row is made; beyond a share, some 200 ns
 * a call.
 */
#pragma once

#include "bpf/groups.h"
#include "bpf/cgroup.bpf.h"

_Static_assert(sizeof(((struct watch *)0)->shares) == SHARES * sizeof(__u32), "one each");

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated */
	__uint(max_entries, 1); /* set before load, as all hashes here: see the meter's sizing */
	__type(key, __u64); /* a cgroup's id; added at its birth, removed by user space after its
			       death */
	__type(value, struct group_entry);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64); /* a cgroup's id; added and removed by user space */
	__type(value, struct given_back);
} given_back SEC(".maps");

/* Are groups counted separately? */
static __always_inline bool has_groups(void)
{
	return settings.has_groups && watch.sees_groups;
}

/*
 * The cgroup that @cgroup, an address, is counted as: the nearest with an entry, from itself
 * upwards; itself if none has one, as before user space has added the older ones.  A global
 * function, as others here, since the verifier checks those once; they take no pointers.
 */
__noinline __u64 fold_group(__u64 address)
{
	const struct cgroup *cgrp = (const void *)address;
	int level;

	if (!settings.has_groups)
		return 0;
	level = BPF_CORE_READ(cgrp, level);
	if (level >= GROUPS_LEVELS)
		level = GROUPS_LEVELS - 1;
	for (int i = 0; i < GROUPS_LEVELS; i++) {
		__u64 id;

		if (i > level)
			break;
		id = ancestor_id(cgrp, level - i);
		if (bpf_map_lookup_elem(&groups, &id))
			return id;
	}
	return BPF_CORE_READ(cgrp, kn, id);
}

/* The same of a task's group, of which @cgroup is the id; most have an entry of their own. */
static __always_inline __u64 fold_cgroup(struct task_struct *task, __u64 cgroup)
{
	if (!has_groups() || bpf_map_lookup_elem(&groups, &cgroup))
		return cgroup;
	return fold_group((__u64)far_cgroup_of(task));
}

/* Did a user make the group?  Then all CPUs count in one entry, so that those of many groups are
 * not many. */
static __always_inline bool is_guest(__u64 cgroup)
{
	struct group_entry *group = has_groups() ? bpf_map_lookup_elem(&groups, &cgroup) : NULL;

	return group && group->is_guest;
}

/* The group charged for @cgroup; NULL: unknown. */
static __always_inline struct group_entry *find_answering(__u64 cgroup)
{
	struct group_entry *group = bpf_map_lookup_elem(&groups, &cgroup), *answering;
	__u64 id;

	if (!group || group->answers == cgroup)
		return group;
	id = group->answers;
	answering = bpf_map_lookup_elem(&groups, &id);
	return answering ? answering : group;
}

__noinline __u64 answering_group(__u64 cgroup)
{
	struct group_entry *group = settings.has_groups ? bpf_map_lookup_elem(&groups, &cgroup)
							: NULL;

	return group ? group->answers : cgroup;
}

/* Take one of @share for @cgroup; 0: the share is used up. */
__noinline int take_share(__u64 cgroup, __u32 share)
{
	struct given_back *given;
	struct group_entry *group;
	__u32 taken;
	__u64 id;

	if (!settings.has_groups || share >= SHARE_COUNT)
		return 1;
	group = find_answering(cgroup);
	if (!group)
		return 1;
	id = group->answers;
	given = bpf_map_lookup_elem(&given_back, &id);
	taken = group->taken[share];
	if (given)
		taken -= given->counts[share];
	if ((__s32)taken >= (__s32)watch.shares[share])
		return 0;
	__sync_fetch_and_add(&group->taken[share], 1);
	return 1;
}

/* What was taken was of no use. */
__noinline int untake_share(__u64 cgroup, __u32 share)
{
	struct group_entry *group;

	if (!settings.has_groups || share >= SHARE_COUNT)
		return 0;
	group = find_answering(cgroup);
	if (group)
		__sync_fetch_and_add(&group->taken[share], -1);
	return 0;
}
