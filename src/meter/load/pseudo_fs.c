/* SPDX-License-Identifier: MIT */
#include "load/pseudo_fs.h"

#include <linux/magic.h>
#include <string.h>

#include "basic/macro.h"

/* Those with magic number 0 are never mounted, which is checked elsewhere. */
/* clang-format off */
static const struct {
	const char *type;
	uint64_t magic;
} types[] = {
	{ "anon_inodefs", 0 }, { "dma_buf", 0 }, { "nsfs", 0 }, { "pidfs", 0 }, { "secretmem", 0 },
	{ "bpf", BPF_FS_MAGIC }, { "cgroup", CGROUP_SUPER_MAGIC }, { "cgroup2", CGROUP2_SUPER_MAGIC },
	{ "configfs", 0x62656570 }, { "debugfs", DEBUGFS_MAGIC }, { "efivarfs", EFIVARFS_MAGIC },
	{ "proc", PROC_SUPER_MAGIC }, { "pstore", PSTOREFS_MAGIC }, { "securityfs", SECURITYFS_MAGIC },
	{ "selinuxfs", SELINUX_MAGIC }, { "sysfs", SYSFS_MAGIC }, { "tracefs", TRACEFS_MAGIC },
	{ "mqueue", 0x19800202 }, { "binfmt_misc", BINFMTFS_MAGIC },
};
/* clang-format on */

void pseudo_fs_fill(uint64_t *magics, size_t count)
{
	size_t filled = 0;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (types[i].magic && filled < count)
			magics[filled++] = types[i].magic;
	}
}

bool pseudo_fs_is(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcmp(type, types[i].type) == 0)
			return true;
	}
	return false;
}
