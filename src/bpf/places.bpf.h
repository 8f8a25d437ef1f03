/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * places - the file system on which a call by path ended.  Adds places to calls that files counts,
 * and counts nothing: if these programs are missing, or miss something, only the place of a call is
 * less exact.
 *
 * The kernel asks its security hooks at each directory that it searches and at each object that it
 * touches.  The last one asked gives the place.  A stacked file system (overlay) asks the ones
 * below it with rights of its own, which differ from the caller's, and only for statfs() with the
 * caller's: there the first one gives the place.
 *
 * Costs some 30 ns a directory on the way, of every task on the machine; of a watched one three
 * times that.
 */
#pragma once

#include "bpf/lost_by_cgroup.bpf.h"
#include "bpf/resolve.bpf.h"
#include "bpf/slots.bpf.h"

/* Which argument is the dentry: from Linux 5.12 on, and of some only later, the user namespace
 * (then the idmap) goes before it.  User space looks it up in BTF. */
const volatile __u8 setattr_dentry, setxattr_dentry, removexattr_dentry;

/* Is the task inside a call by path that is counted?  Its own data are valid while it runs. */
static __always_inline bool is_by_path(__u64 task)
{
	struct call_slot *slot = get_slot();
	struct call *parked;

	if (slot && slot->call.task == task)
		return slot->call.is_by_path;
	parked = bpf_map_lookup_elem(&parked_calls, &task);
	return parked && !parked->is_interrupted && parked->is_by_path;
}

static __always_inline __u64 current_cgroup(void)
{
	struct task_struct *task = current_task();

	return fold_cgroup(task, cgroup_id(cgroup_of(task)));
}

static __always_inline struct path_end *get_path_end(__u64 task)
{
	const struct path_end nothing = { .place = PLACE_UNRESOLVED };
	struct path_end *end = bpf_map_lookup_elem(&path_ends, &task);

	if (end)
		return end;
	if (bpf_map_update_elem(&path_ends, &task, &nothing, BPF_NOEXIST) < 0)
		count_lost_of(current_cgroup(), LOST_PATH);
	return bpf_map_lookup_elem(&path_ends, &task);
}

/* Has a file system put other rights in the caller's place?  access() does too, and marks them so.
 */
static __always_inline bool has_other_rights(struct task_struct *task)
{
	const struct cred *cred = LOAD(task, cred);

	return cred != LOAD(task, real_cred) && !LOAD(cred, non_rcu);
}

static __always_inline int note_superblock(struct super_block *sb, bool is_statfs)
{
	struct task_struct *task = current_task();
	struct path_end *end;

	if (!is_by_path((__u64)task) || has_other_rights(task))
		return 0;
	end = get_path_end((__u64)task);
	if (!end || end->is_final)
		return 0;
	end->place = place_of(sb, &end->superblock);
	end->is_final = is_statfs;
	return 0;
}

SEC("fentry/security_inode_permission")
int BPF_PROG(note_permission, struct inode *inode)
{
	return note_superblock(inode->i_sb, false);
}

SEC("fentry/security_inode_getattr")
int BPF_PROG(note_getattr, struct path *path)
{
	return note_superblock(path->dentry->d_sb, false);
}

SEC("fentry/security_inode_readlink")
int BPF_PROG(note_readlink, struct dentry *dentry)
{
	return note_superblock(dentry->d_sb, false);
}

SEC("fentry/security_inode_getxattr")
int BPF_PROG(note_getxattr, struct dentry *dentry)
{
	return note_superblock(dentry->d_sb, false);
}

SEC("fentry/security_inode_listxattr")
int BPF_PROG(note_listxattr, struct dentry *dentry)
{
	return note_superblock(dentry->d_sb, false);
}

SEC("fentry/security_sb_statfs")
int BPF_PROG(note_statfs, struct dentry *dentry)
{
	return note_superblock(dentry->d_sb, true);
}

/* One of the first two arguments; both are loaded, since the verifier takes no chosen offset. */
static __always_inline int note_either(void *first, void *second, __u8 is_second)
{
	struct dentry *dentry = first;

	if (is_second)
		dentry = second;
	return note_superblock(dentry->d_sb, false);
}

SEC("fentry/security_inode_setattr")
int BPF_PROG(note_setattr, void *first, void *second)
{
	return note_either(first, second, setattr_dentry);
}

SEC("fentry/security_inode_setxattr")
int BPF_PROG(note_setxattr, void *first, void *second)
{
	return note_either(first, second, setxattr_dentry);
}

SEC("fentry/security_inode_removexattr")
int BPF_PROG(note_removexattr, void *first, void *second)
{
	return note_either(first, second, removexattr_dentry);
}
