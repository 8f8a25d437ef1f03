/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* resolve - from a descriptor to its file, and from a file to its place. */
#pragma once

#include "bpf/compat.bpf.h"
#include "bpf/files.h"
#include "bpf/groups.bpf.h"
#include "bpf/lost.bpf.h"

#define E2BIG 7 /* of a map: it is full */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024); /* set before load, as all hashes here: see the meter's sizing */
	__type(key, __u64); /* place; added with its first row, removed by user space where groups
			       are told apart */
	__type(value, struct superblock);
} superblocks SEC(".maps");

struct new_superblock {
	__u64 address;
	__u64 vfsmount; /* 0: it was met without a file */
	struct superblock seen;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); /* too large for a stack */
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct new_superblock);
} new_superblock SEC(".maps");

#define CASE_1(n) \
	case n:   \
		return files->fd_array[n];
#define CASE_4(n) CASE_1(n) CASE_1((n) + 1) CASE_1((n) + 2) CASE_1((n) + 3)
#define CASE_16(n) CASE_4(n) CASE_4((n) + 4) CASE_4((n) + 8) CASE_4((n) + 12)

/* The verifier accepts no variable index into the kernel's arrays. */
static __always_inline struct file *own_file(struct files_struct *files, __u32 descriptor)
{
	switch (descriptor) {
		CASE_16(0)
		CASE_16(16)
		CASE_16(32)
		CASE_16(48)
	}
	return NULL;
}

/* What a superblock's place is made of; see files.h. */
static __always_inline __u64 make_place(__u32 device, __u64 address, __u32 generation, __u32 uuid)
{
	return (__u64)device << 32 | ((__u32)(address >> 6) ^ generation ^ uuid);
}

/* @sb is typed, so each step is one load.  The verifier allows no arithmetic on typed pointers, so
 * the value goes through @scratch, in a map. */
static __always_inline __u64 place_of(struct super_block *sb, volatile __u64 *scratch)
{
	__u32 uuid = *(const __u32 *)sb->s_uuid.b; /* one load: each is checked */

	*scratch = (__u64)sb;
	return make_place(sb->s_dev, *scratch, sb->s_root->d_inode->i_generation, uuid);
}

/* The same by probe reads, each of which costs some 40 ns. */
static __always_inline __u64 far_place_of(struct super_block *sb)
{
	__u32 uuid = 0;

	bpf_probe_read_kernel(&uuid, sizeof(uuid), &sb->s_uuid);
	return make_place(BPF_CORE_READ(sb, s_dev), (__u64)sb,
			  BPF_CORE_READ(sb, s_root, d_inode, i_generation), uuid);
}

#define CLIMBS 40 /* names and mounts on the way from a mount to its namespace's root */

/* On the way up from a mount point. */
struct climb {
	struct mount *mount;
	struct dentry *dentry;
	const struct mount *root_mount; /* where it ends */
	const struct dentry *root;
	struct superblock *sb;
};

static __always_inline long climb(__u32 i, void *context)
{
	struct climb *at = context;
	struct mount *mount = at->mount, *parent; /* BPF_CORE_READ() would take @at for the
						     kernel's, too */
	struct dentry *dentry = at->dentry;
	struct superblock *sb = at->sb;
	const unsigned char *name;
	long length;
	__u8 count;

	if (mount == at->root_mount && dentry == at->root) {
		sb->is_cut = 0;
		return 1;
	}
	if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
		parent = BPF_CORE_READ(mount, mnt_parent);
		if (parent == mount) {
			sb->is_cut = 0;
			return 1;
		}
		at->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		at->mount = parent;
		return 0;
	}
	count = *(volatile __u8 *)&sb->name_count;
	if (count >= PATH_NAMES)
		return 1;
	name = BPF_CORE_READ(dentry, d_name.name);
	length = bpf_probe_read_kernel_str(sb->names[count], PATH_NAME, name);
	if (length < 0 || length == PATH_NAME)
		return 1;
	*(volatile __u8 *)&sb->name_count = count + 1;
	at->dentry = BPF_CORE_READ(dentry, d_parent);
	return 0;
}

/* Note the names from @mnt's mount point up to @root, the task's own, or the root of the namespace.
 * Their count stays in memory, where the verifier forgets its value: else it would follow each
 * count separately. */
static __always_inline void note_path(struct vfsmount *mnt, const struct path *root,
				      struct superblock *sb)
{
	struct mount *mount = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
	struct climb from = {
		.mount = mount,
		.dentry = BPF_CORE_READ(mount, mnt.mnt_root),
		.root_mount = (void *)root->mnt - bpf_core_field_offset(struct mount, mnt),
		.root = root->dentry,
		.sb = sb,
	};
	__u64 ns = (__u64)BPF_CORE_READ(mount, mnt_ns);

	sb->has_path = 1;
	sb->is_mounted = ns && ns < (__u64)-4095; /* errors mean the kernel's own mounts */
	sb->is_cut = 1;
	repeat(CLIMBS, climb, &from);
}

/* A place that is new.  False: there is no room. */
static __always_inline bool add_superblock(__u64 place, struct task_struct *task,
					   struct superblock *sb)
{
	if (has_groups()) {
		sb->cgroup = answering_group(fold_group((__u64)far_cgroup_of(task)));
		if (!take_share(sb->cgroup, SHARE_SUPERBLOCKS))
			return false;
	}
	if (bpf_map_update_elem(&superblocks, &place, sb, BPF_NOEXIST) != -E2BIG)
		return true;
	if (has_groups())
		untake_share(sb->cgroup, SHARE_SUPERBLOCKS);
	return false;
}

/*
 * Learn the new_superblock, which is behind @place.  1: nothing more to learn.  A global function,
 * which the verifier checks once; those take no pointers.
 */
__noinline int learn_new_superblock(__u64 place)
{
	struct superblock *known = bpf_map_lookup_elem(&superblocks, &place), *seen;
	struct new_superblock *new;
	struct task_struct *task = (void *)bpf_get_current_task();
	struct path root = {};
	struct super_block *sb;
	const char *name;
	__u32 zero = 0;

	new = bpf_map_lookup_elem(&new_superblock, &zero);
	if (!new)
		return 0;
	if (known && (known->has_path || !new->vfsmount))
		return known->has_path;
	sb = (void *)new->address;
	seen = &new->seen;
	seen->magic = BPF_CORE_READ(sb, s_magic);
	seen->device = BPF_CORE_READ(sb, s_dev);
	seen->is_mounted = seen->has_path = seen->is_cut = seen->name_count = 0;
	name = BPF_CORE_READ(sb, s_type, name);
	bpf_probe_read_kernel_str(seen->fstype, sizeof(seen->fstype), name);
	seen->mnt_ns = BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum);
	seen->cgroup = known ? known->cgroup : 0;
	/* Before the long part, since it may fail at each call. */
	if (!known && !add_superblock(place, task, seen))
		return count_lost_of(fold_group((__u64)far_cgroup_of(task)), LOST_PLACE);
	if (!new->vfsmount)
		return 0;
	root.mnt = BPF_CORE_READ(task, fs, root.mnt);
	root.dentry = BPF_CORE_READ(task, fs, root.dentry);
	note_path((void *)new->vfsmount, &root, seen);
	if (bpf_map_update_elem(&superblocks, &place, seen, BPF_ANY) < 0)
		count_lost_of(fold_group((__u64)far_cgroup_of(task)), LOST_PLACE);
	return 1;
}

/* Learn what is behind @place: once, and once more if it was first met without a file (@mnt is
 * NULL).  True: there is no more to learn. */
static __always_inline bool learn_superblock(__u64 place, struct super_block *sb,
					     struct vfsmount *mnt)
{
	__u32 zero = 0;
	struct new_superblock *new = bpf_map_lookup_elem(&new_superblock, &zero);

	if (!new)
		return false;
	new->address = (__u64)sb;
	new->vfsmount = (__u64)mnt;
	return learn_new_superblock(place);
}

/* What is behind a descriptor; PLACE_UNRESOLVED: nothing that we could find. */
struct resolved {
	struct super_block *sb;
	struct vfsmount *mnt;
	__u64 place;
	__u64 socket; /* its struct socket's address; 0: it is none */
	__u32 mode; /* its f_mode */
	__u32 pad;
};

/* By an untyped pointer: by probe reads. */
static __always_inline void resolve_file(struct file *file, struct resolved *ret)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct super_block *sb;

	ret->mode = BPF_CORE_READ(file, f_mode);
	sb = BPF_CORE_READ(inode, i_sb);
	if (!sb)
		return;
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFSOCK)
		ret->socket = (__u64)BPF_CORE_READ(file, private_data);
	ret->sb = sb;
	ret->mnt = BPF_CORE_READ(file, f_path.mnt);
	ret->place = far_place_of(sb);
}

static __always_inline void resolve_far(struct fdtable *table, __u32 descriptor,
					struct resolved *ret)
{
	struct file *file = far_file(table, descriptor);

	if (file)
		resolve_file(file, ret);
}

static __always_inline void begin_resolved(struct resolved *ret)
{
	ret->sb = NULL;
	ret->mnt = NULL;
	ret->place = PLACE_UNRESOLVED;
	ret->socket = 0;
	ret->mode = 0;
}

#ifndef OLD_KERNEL
/* A process of few files has its table within files_struct, where pointers are typed: one load
 * each. */
static __always_inline void resolve(struct files_struct *files, __u32 descriptor,
				    volatile __u64 *scratch, struct resolved *ret)
{
	struct super_block *sb;
	struct inode *inode;
	struct file *file;

	begin_resolved(ret);
	if (files->fdt != &files->fdtab || descriptor >= OWN_FILES) {
		resolve_far(files->fdt, descriptor, ret);
		return;
	}
	file = own_file(files, descriptor);
	if (!file)
		return;
	ret->mode = file->f_mode;
	inode = file->f_inode;
	sb = inode->i_sb;
	if (!sb)
		return;
	if ((inode->i_mode & S_IFMT) == S_IFSOCK) {
		*scratch = (__u64)file->private_data; /* since Linux 6.17 no number either */
		ret->socket = *scratch;
	}
	ret->sb = sb;
	ret->mnt = file->f_path.mnt;
	ret->place = place_of(sb, scratch);
}
#else
static __always_inline void resolve(struct files_struct *files, __u32 descriptor,
				    volatile __u64 *scratch, struct resolved *ret)
{
	begin_resolved(ret);
	resolve_far(BPF_CORE_READ(files, fdt), descriptor, ret);
}
#endif
