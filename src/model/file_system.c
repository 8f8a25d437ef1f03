/* SPDX-License-Identifier: MIT */
#include "model/file_system.h"

#include <stddef.h>
#include <string.h>

#include "basic/macro.h"

/* clang-format off */
#define NETWORK(type) { type, STORAGE_NETWORK, .may_hang = true }
#define NODE(type, storage) { type, storage, .may_hang = false }
#define MADE(type) { type, STORAGE_UNKNOWN, .lacks_space = true, .holds_no_data = true }

/* The first that fits counts. */
static const struct file_system types[] = {
	NETWORK("nfs"), NETWORK("nfs4"), NETWORK("lustre"), NETWORK("gpfs"), NETWORK("beegfs*"), NETWORK("ceph"),
	NETWORK("cifs"), NETWORK("smb3"), NETWORK("smbfs"), NETWORK("panfs"), NETWORK("wekafs"), NETWORK("orangefs"),
	NETWORK("pvfs2"), NETWORK("afs"), NETWORK("coda"), NETWORK("gfs2"), NETWORK("ocfs2"), NETWORK("glusterfs"),
	NETWORK("ncpfs"), NETWORK("fuse.glusterfs"), NETWORK("fuse.ceph*"), NETWORK("fuse.sshfs"), NETWORK("fuse.s3fs"),

	NODE("ext2", STORAGE_DISK), NODE("ext3", STORAGE_DISK), NODE("ext4", STORAGE_DISK), NODE("xfs", STORAGE_DISK),
	NODE("zfs", STORAGE_DISK), NODE("f2fs", STORAGE_DISK), NODE("jfs", STORAGE_DISK), NODE("overlay", STORAGE_DISK),
	NODE("vfat", STORAGE_DISK), NODE("exfat", STORAGE_DISK), NODE("ntfs3", STORAGE_DISK), NODE("tmpfs", STORAGE_MEMORY),
	{ "btrfs", STORAGE_DISK, .has_many_devices = true }, { "bcachefs", STORAGE_DISK, .has_many_devices = true },
	{ "iso9660", STORAGE_DISK, .lacks_space = true }, /* always full */
	{ "ramfs", STORAGE_MEMORY, .lacks_space = true }, { "hugetlbfs", STORAGE_MEMORY, .lacks_space = true },

	MADE("autofs"), MADE("binfmt_misc"), MADE("bpf"), MADE("cgroup"), MADE("cgroup2"), MADE("configfs"), MADE("debugfs"),
	MADE("devpts"), MADE("efivarfs"), MADE("fusectl"), MADE("mqueue"), MADE("nsfs"), MADE("proc"), MADE("pstore"),
	MADE("rpc_pipefs"), MADE("securityfs"), MADE("selinuxfs"), MADE("sockfs"), MADE("sysfs"), MADE("tracefs"),
	{ "devtmpfs", STORAGE_UNKNOWN, .holds_no_data = true },
	{ "squashfs", STORAGE_UNKNOWN, .lacks_space = true }, /* always full */

	{ "9p", STORAGE_UNKNOWN, .may_hang = true }, { "virtiofs", STORAGE_UNKNOWN, .may_hang = true }, /* the host's */
	{ "fuseblk", STORAGE_DISK, .may_hang = true }, { "fuse*", STORAGE_UNKNOWN, .may_hang = true },
};
/* clang-format on */

static bool is_of_type(const char *type, const char *pattern)
{
	size_t length = strcspn(pattern, "*");

	return strncmp(type, pattern, length) == 0 && (pattern[length] || !type[length]);
}

const struct file_system *file_system_of(const char *type)
{
	static const struct file_system unknown;

	for (size_t i = 0; type && i < ARRAY_SIZE(types); i++) {
		if (is_of_type(type, types[i].type))
			return &types[i];
	}
	return &unknown;
}
