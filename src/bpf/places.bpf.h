/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * places - which file system a call by path ended on.  Adds places to calls that files counts, and counts
 * nothing: where these programs cannot be had, or miss something, a call is only less well placed.
 *
 * The kernel asks its security hooks at each folder that it searches and at each object that it touches.  The
 * last one asked tells where the call ended.  A stacked file system (overlay) asks the ones below it with
 * rights of its own, which the caller's never are, and only for statfs() with the caller's: there the first
 * one tells.
 *
 * Costs some 30 ns a folder on the way, of every task on the machine.
 */
#pragma once

#include "lost.bpf.h"
#include "resolve.bpf.h"
#include "slots.bpf.h"

/* Which argument is the dentry: from Linux 5.12 on, and of some only later, the user namespace (then the
 * idmap) goes before it.  User space looks it up in BTF. */
const volatile __u8 setattr_dentry, setxattr_dentry, removexattr_dentry;

static __always_inline struct call *current_call(struct call_slot *slot, struct task_struct *task)
{
	__u64 key = (__u64)task;
	struct call *parked;

	if (slot->call.task == key)
		return &slot->call;
	parked = bpf_map_lookup_elem(&parked_calls, &key);
	return parked && !parked->is_interrupted ? parked : NULL;
}

/* Has a file system put other rights in the caller's place?  access() does too, and marks them so. */
static __always_inline bool has_other_rights(struct task_struct *task)
{
	const struct cred *cred = LOAD(task, cred);

	return cred != LOAD(task, real_cred) && !LOAD(cred, non_rcu);
}

static __always_inline int note_superblock(struct super_block *sb, bool is_statfs)
{
	struct task_struct *task = current_task();
	struct call_slot *slot = get_slot();
	struct call *call;

	if (!slot)
		return 0;
	call = current_call(slot, task);
	if (!call || !call->is_by_path || call->has_statfs || has_other_rights(task))
		return 0;
	call->has_statfs = is_statfs;
	call->place = place_of(sb, &slot->scratch);
	if (call->place != slot->known_place)
		learn_superblock(call->place, sb, NULL);
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
