// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * life - births and deaths of the cgroups of the key hierarchy, kept in a map instead of sent as
 * events: nothing is lost without a reader.  Runs as groups are made and removed, which the
 * kernel does one at a time.
 *
 * A group keeps the path of its birth, also after a rename.
 */
#include "bpf/groups.bpf.h"
#include "bpf/lost.bpf.h"

#define E2BIG 7 /* of a map: it is full */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY); /* too large for a stack; one runs at a time */
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct group_entry);
} new_group SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GENERATION_COUNT);
	__type(key, __u32); /* enum generation */
	__type(value, __u64);
} generations SEC(".maps");

static __always_inline int count_change(void)
{
	__u32 seen = GENERATION_SEEN;
	__u64 *generation = bpf_map_lookup_elem(&generations, &seen);

	if (generation)
		__sync_fetch_and_add(generation, 1);
	return 0;
}

static __always_inline struct cgroup_subsys_state *state_of(const struct cgroup *cgrp, int subsys)
{
	struct cgroup_subsys_state *state = NULL, *const * states;

	states = (void *)cgrp + bpf_core_field_offset(struct cgroup, subsys);
	bpf_probe_read_kernel(&state, sizeof(state), states + subsys);
	return state;
}

static __always_inline bool is_of_key(const struct cgroup *cgrp)
{
	if (settings.key_subsys < 0)
		return BPF_CORE_READ(cgrp, root, hierarchy_id) == 0;
	return state_of(cgrp, settings.key_subsys) != NULL;
}

/* The verifier allows no arithmetic on a typed pointer; this is the same one without its type. */
static __always_inline const struct cgroup *untyped(const struct cgroup *cgrp)
{
	return BPF_CORE_READ(cgrp, self.cgroup);
}

/* The known group at @level of @cgroup's ancestors or above; NULL: none. */
static __always_inline struct group_entry *find_above(const struct cgroup *cgrp, int level)
{
	for (int i = 0; i < GROUPS_LEVELS; i++) {
		struct group_entry *group;
		__u64 id;

		if (i > level)
			break;
		id = ancestor_id(cgrp, level - i);
		group = bpf_map_lookup_elem(&groups, &id);
		if (group)
			return group;
	}
	return NULL;
}

static __always_inline void note_path(struct group_entry *group, const char *path)
{
	char last = 0;
	long length = bpf_probe_read_kernel_str(group->path, sizeof(group->path), path);

	if (length == GROUPS_PATH)
		bpf_probe_read_kernel(&last, 1, path + GROUPS_PATH - 1);
	group->is_cut = last != 0;
}

/* Who answers for it; 0: it may not be known by itself. */
static __always_inline __u64 find_answer(const struct cgroup *cgrp, int level, __u64 id,
					 bool is_guest)
{
	struct group_entry *above = is_guest ? find_above(cgrp, level - 1) : NULL;
	__u64 answers = id;

	if (above) {
		answers = above->answers;
		if (!take_share(answers, SHARE_GROUPS))
			return 0;
	}
	return answers;
}

/* May others than root make, or on v1 rename, what is in that directory? */
static __always_inline bool is_users(const struct kernfs_node *node)
{
	const struct kernfs_iattrs *attributes = BPF_CORE_READ(node, iattr);
	unsigned int mode = BPF_CORE_READ(node, mode);

	if (!attributes)
		return mode & 0002;
	return BPF_CORE_READ(attributes, ia_uid.val) ||
	       mode & (BPF_CORE_READ(attributes, ia_gid.val) ? 0022 : 0002);
}

/* Is a directory above it another's than root's now? */
static __always_inline bool is_below_users(const struct cgroup *cgrp)
{
	for (int i = 0; i < GROUPS_LEVELS; i++) {
		cgrp = BPF_CORE_READ(cgrp, self.parent, cgroup);
		if (!cgrp)
			break;
		if (is_users(BPF_CORE_READ(cgrp, kn)))
			return true;
	}
	return false;
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(begin_group, struct cgroup *made, const char *path)
{
	const struct cgroup *cgrp = untyped(made);
	__u32 zero = 0, uid = bpf_get_current_uid_gid();
	int level = BPF_CORE_READ(cgrp, level);
	__u64 id = BPF_CORE_READ(cgrp, kn, id), answers;
	struct group_entry *group;

	if (!is_of_key(cgrp))
		return 0;
	group = bpf_map_lookup_elem(&new_group, &zero);
	if (!group || level < 1)
		return 0;
	if (level >= GROUPS_LEVELS)
		return count_lost_of(fold_group((__u64)cgrp), LOST_GROUP);
	answers = find_answer(cgrp, level, id, uid != 0);
	if (!answers)
		return count_lost_of(fold_group((__u64)cgrp), LOST_GUEST);
	group->parent = ancestor_id(cgrp, level - 1);
	group->answers = answers;
	group->born_ns = bpf_ktime_get_boot_ns();
	group->maker_uid = uid;
	group->is_guest = uid != 0;
	group->is_delegated = uid != 0 || is_below_users(cgrp);
	note_path(group, path);
	if (bpf_map_update_elem(&groups, &id, group, BPF_ANY) == 0)
		return count_change();
	if (answers != id)
		untake_share(answers, SHARE_GROUPS);
	return count_lost_of(fold_group((__u64)cgrp), LOST_GROUP);
}

/* What files would have said of the group's memory; its mem_cgroup lives on until its pages are
 * gone. */
static __always_inline void note_memory(struct group_entry *group, const struct cgroup *cgrp)
{
	struct mem_cgroup *memory;
	struct long_counter *events;
	__u64 kills;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return;
	memory = (void *)state_of(cgrp, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	if (!memory || !bpf_core_type_exists(struct mem_cgroup))
		return;
	if (bpf_core_field_exists(memory->memory.watermark))
		group->peak_pages = BPF_CORE_READ(memory, memory.watermark);
	if (!bpf_core_field_exists(memory->memory_events) ||
	    !bpf_core_enum_value_exists(enum memcg_memory_event, MEMCG_OOM_KILL))
		return;
	events = (void *)memory + bpf_core_field_offset(struct mem_cgroup, memory_events);
	events += bpf_core_enum_value(enum memcg_memory_event, MEMCG_OOM_KILL);
	if (bpf_probe_read_kernel(&kills, sizeof(kills), events) < 0)
		return;
	group->oom_kills += kills;
	group->has_oom_kills = 1;
}

/* On v1 a group counts its own kills alone, which are those above, too. */
static __always_inline void hand_up_kills(const struct group_entry *group)
{
	struct group_entry *parent;

	if (settings.key_subsys < 0 || !group->oom_kills)
		return;
	parent = bpf_map_lookup_elem(&groups, &group->parent);
	if (parent)
		parent->oom_kills += group->oom_kills;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(end_group, struct cgroup *removed)
{
	const struct cgroup *cgrp = untyped(removed);
	__u64 id = BPF_CORE_READ(cgrp, kn, id);
	struct group_entry *group = bpf_map_lookup_elem(&groups, &id);

	if (!group || !is_of_key(cgrp)) /* ids of other hierarchies may be the same */
		return 0;
	note_memory(group, cgrp);
	hand_up_kills(group);
	group->died_ns = bpf_ktime_get_boot_ns();
	return count_change();
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
