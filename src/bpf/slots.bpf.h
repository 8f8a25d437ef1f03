/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * slots - the current call of each CPU's task, the calls of sleeping tasks, and
 * whether a cgroup is watched.  Programs that run with preemption off, so a slot has one writer.
 */
#pragma once

#include "bpf/files.h"
#include "bpf/groups.bpf.h"
#include "bpf/cgroup.bpf.h"
#include "bpf/resolve.bpf.h"
#include "bpf/traffic.bpf.h"

struct call_slot {
	struct call call;
	__u64 judged_cgroup, judged_for; /* what is_judged_watched is for; and watch.id */
	__u64 counted_cgroup; /* that the cgroup is counted as */
	__u64 known_place; /* a place that is in superblocks already, with its path */
	__u64 scratch;
	__u64 looking; /* the task inside a poll that must not wait, or giving the CPU away */
	__u64 looked; /* the same, also after its end: until the next poll */
	__u64 found_place; /* what look_up() found */
	__u32 found_mode;
	__u32 found_socket; /* its kind, plus one; 0: it is none */
	__u64 found_address; /* that of its struct socket */
	__u64 is_judged_watched;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: written under the run queue's lock */
	__uint(max_entries, 8192); /* tasks asleep in a counted call */
	__type(key, __u64); /* task_struct's address; removed at the call's end or the task's */
	__type(value, struct call);
} parked_calls SEC(".maps");

/*
 * Where a task's call by path ended.  Programs on trampolines note it, which may be preempted
 * halfway: so they write nothing that belongs to a CPU, and take nothing from a slot that they do
 * not check.
 */
struct path_end {
	__u64 place; /* PLACE_UNRESOLVED: nothing was noted */
	__u64 superblock;
	__u64 is_final; /* nothing after it counts */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192); /* tasks that made calls by path; without room those are
				      unresolved */
	__type(key, __u64); /* task_struct's address; removed at the task's end */
	__type(value, struct path_end);
} path_ends SEC(".maps");

static __always_inline struct call_slot *get_slot(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&slots, &zero);
}

/* Is the task of a cgroup that we watch?  Keeps the last answer. */
static __always_inline bool judge(struct call_slot *slot, struct task_struct *task,
				  __u64 *ret_cgroup)
{
	struct cgroup *cgrp = cgroup_of(task);
	__u64 cgroup = cgroup_id(cgrp);

	if (cgroup != slot->judged_cgroup || watch.id != slot->judged_for) {
		slot->judged_for = watch.id;
		slot->is_judged_watched = is_watched(cgrp);
		if (settings.has_groups)
			slot->counted_cgroup = fold_cgroup(task, cgroup);
		slot->judged_cgroup = cgroup;
	}
	*ret_cgroup = settings.has_groups ? slot->counted_cgroup : cgroup;
	return slot->is_judged_watched;
}

/* Note the place of what was resolved as found, and learn its superblock if it is new. */
static __always_inline void note_resolved(struct call_slot *slot, const struct resolved *file)
{
	slot->found_place = file->place;
	slot->found_mode = file->mode;
	slot->found_address = file->socket;
	slot->found_socket = file->socket ? kind_of_socket(file->socket) : 0;
	if (file->sb && file->place != slot->known_place &&
	    learn_superblock(file->place, file->sb, file->mnt))
		slot->known_place = file->place;
}

/* Find the place of a descriptor, and its file's mode, into the slot. */
static __always_inline void look_up_here(struct call_slot *slot, struct files_struct *files,
					 __u32 descriptor)
{
	struct resolved file;

	resolve(files, descriptor, &slot->scratch, &file);
	note_resolved(slot, &file);
}

/*
 * The same of the current task, as a global function, which the verifier checks once.  Costs some
 * 12 ns more where returns are guarded: not for a read or a write.
 */
__noinline int look_up(__u32 descriptor)
{
	struct call_slot *slot = get_slot();

	if (slot)
		look_up_here(slot, LOAD(read_only(current_task()), files), descriptor);
	return 0;
}
