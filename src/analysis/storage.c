/* SPDX-License-Identifier: MIT */
#include "analysis/storage.h"

#include <string.h>

#include "analysis/variables.h"
#include "basic/macro.h"
#include "model/record.h"

/* clang-format off */
static const struct {
	const char *fstype; /* as in /proc/filesystems; a '*' at its end stands for anything */
	enum storage storage;
} types[] = {
	{ "nfs*", STORAGE_NETWORK },       { "lustre", STORAGE_NETWORK },   { "gpfs", STORAGE_NETWORK },
	{ "beegfs*", STORAGE_NETWORK },    { "ceph", STORAGE_NETWORK },     { "cifs", STORAGE_NETWORK },
	{ "smb3", STORAGE_NETWORK },       { "panfs", STORAGE_NETWORK },    { "wekafs", STORAGE_NETWORK },
	{ "orangefs", STORAGE_NETWORK },   { "pvfs2", STORAGE_NETWORK },    { "afs", STORAGE_NETWORK },
	{ "gfs2", STORAGE_NETWORK },       { "ocfs2", STORAGE_NETWORK },    { "fuse.glusterfs", STORAGE_NETWORK },
	{ "fuse.ceph*", STORAGE_NETWORK }, { "fuse.sshfs", STORAGE_NETWORK }, { "fuse.s3fs", STORAGE_NETWORK },
	{ "ext2", STORAGE_DISK },          { "ext3", STORAGE_DISK },        { "ext4", STORAGE_DISK },
	{ "xfs", STORAGE_DISK },           { "btrfs", STORAGE_DISK },       { "zfs", STORAGE_DISK },
	{ "f2fs", STORAGE_DISK },          { "jfs", STORAGE_DISK },         { "bcachefs", STORAGE_DISK },
	{ "overlay", STORAGE_DISK },       { "vfat", STORAGE_DISK },        { "exfat", STORAGE_DISK },
	{ "ntfs3", STORAGE_DISK },         { "fuseblk", STORAGE_DISK },     { "iso9660", STORAGE_DISK },
	{ "tmpfs", STORAGE_MEMORY },       { "ramfs", STORAGE_MEMORY },     { "hugetlbfs", STORAGE_MEMORY },
};
/* clang-format on */

static bool is_of_type(const char *fstype, const char *pattern)
{
	size_t length = strcspn(pattern, "*");

	return strncmp(fstype, pattern, length) == 0 && (pattern[length] || !fstype[length]);
}

enum storage storage_of_type(const char *fstype)
{
	for (size_t i = 0; fstype && i < ARRAY_SIZE(types); i++) {
		if (is_of_type(fstype, types[i].fstype))
			return types[i].storage;
	}
	return STORAGE_UNKNOWN;
}

static uint64_t count_calls(const struct mount_row *row)
{
	uint64_t calls = 0;

	for (size_t op = 0; op < OP_COUNT; op++)
		calls += row->ops[op].calls;
	return calls;
}

enum storage storage_of_subject(const struct subject *subject)
{
	const struct reading *reading = &subject->record->reading;
	enum storage storage = subject->row ? storage_of_type(subject->row->fstype)
					    : STORAGE_UNKNOWN;
	uint64_t calls[STORAGE_COUNT] = {};

	if (storage != STORAGE_UNKNOWN || (subject->row && subject->row->kind == ROW_MOUNT))
		return storage;
	for (size_t i = 0; i < reading->mount_count; i++)
		calls[storage_of_type(reading->mounts[i].fstype)] +=
			count_calls(&reading->mounts[i]);
	for (size_t i = STORAGE_UNKNOWN + 1; i < STORAGE_COUNT; i++) {
		if (calls[i] > (storage ? calls[storage] : 0))
			storage = (enum storage)i;
	}
	return storage;
}
