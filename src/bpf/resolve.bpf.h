/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* resolve - from a descriptor to the superblock of its file. */
#pragma once

#include "compat.bpf.h"
#include "files.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32); /* s_dev; added with its first row, never removed */
	__type(value, struct superblock);
} superblocks SEC(".maps");

/* What is behind a descriptor; DEVICE_UNRESOLVED: nothing that we could find. */
struct resolved {
	struct super_block *sb;
	__u32 device;
	__u32 mode; /* its f_mode, where it was asked for */
};

#define CASE_1(n)                                                                                  \
	case n:                                                                                    \
		return files->fd_array[n];
#define CASE_4(n) CASE_1(n) CASE_1((n) + 1) CASE_1((n) + 2) CASE_1((n) + 3)
#define CASE_16(n) CASE_4(n) CASE_4((n) + 4) CASE_4((n) + 8) CASE_4((n) + 12)

/* The verifier takes no variable index into the kernel's arrays, so each index stands for itself. */
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

/* By probe reads, each of which costs some 40 ns. */
static __always_inline void resolve_far(struct fdtable *table, __u32 descriptor, bool has_mode,
					struct resolved *ret)
{
	struct super_block *sb;
	struct file *file = NULL;

	if (descriptor >= table->max_fds)
		return;
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + descriptor);
	if (!file)
		return;
	if (has_mode)
		ret->mode = BPF_CORE_READ(file, f_mode);
	sb = BPF_CORE_READ(file, f_inode, i_sb);
	if (!sb)
		return;
	ret->sb = sb;
	ret->device = BPF_CORE_READ(sb, s_dev);
}

/* A process of few files has its table within files_struct, where pointers are typed: one load each. */
static __always_inline void resolve(struct task_struct *task, __u64 descriptor, bool has_mode,
				    struct resolved *ret)
{
	struct files_struct *files = task->files;
	struct super_block *sb;
	struct file *file;

	ret->sb = NULL;
	ret->device = DEVICE_UNRESOLVED;
	ret->mode = 0;
	if (files->fdt != &files->fdtab || (__u32)descriptor >= OWN_FILES) {
		resolve_far(files->fdt, descriptor, has_mode, ret);
		return;
	}
	file = own_file(files, descriptor);
	if (!file)
		return;
	if (has_mode)
		ret->mode = file->f_mode;
	sb = file->f_inode->i_sb;
	if (!sb)
		return;
	ret->sb = sb;
	ret->device = sb->s_dev;
}

static void learn_superblock(struct super_block *sb, __u32 device)
{
	struct superblock seen = {};
	const char *name;

	if (bpf_map_lookup_elem(&superblocks, &device))
		return;
	seen.magic = BPF_CORE_READ(sb, s_magic);
	name = BPF_CORE_READ(sb, s_type, name);
	bpf_probe_read_kernel_str(seen.fstype, sizeof(seen.fstype), name);
	bpf_map_update_elem(&superblocks, &device, &seen, BPF_ANY);
}
