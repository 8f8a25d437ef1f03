/* SPDX-License-Identifier: MIT */
#include "model/file_system.h"

#include "basic/macro.h"
#include "test.h"

TEST(of_a_type_it_is_known_what_it_stands_on_and_whether_it_may_hang)
{
	static const struct {
		const char *type;
		enum storage storage;
		bool may_hang, lacks_space;
	} cases[] = {
		{ "nfs4", STORAGE_NETWORK, true, false },
		{ "lustre", STORAGE_NETWORK, true, false },
		{ "beegfs_nodev", STORAGE_NETWORK, true, false },
		{ "fuse.sshfs", STORAGE_NETWORK, true, false },
		{ "fuse.ceph-fuse", STORAGE_NETWORK, true, false },
		{ "fuse.mergerfs", STORAGE_UNKNOWN, true, false },
		{ "fuse", STORAGE_UNKNOWN, true, false },
		{ "fuseblk", STORAGE_DISK, true, false },
		{ "virtiofs", STORAGE_UNKNOWN, true, false },
		{ "ext4", STORAGE_DISK, false, false },
		{ "overlay", STORAGE_DISK, false, false },
		{ "tmpfs", STORAGE_MEMORY, false, false },
		{ "ramfs", STORAGE_MEMORY, false, true },
		{ "iso9660", STORAGE_DISK, false, true },
		{ "fusectl", STORAGE_UNKNOWN, false, true },
		{ "nfsd", STORAGE_UNKNOWN, false, false },
		{ "ext44", STORAGE_UNKNOWN, false, false },
		{ "", STORAGE_UNKNOWN, false, false },
		{ NULL, STORAGE_UNKNOWN, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct file_system *f = file_system_of(cases[i].type);

		ASSERT_EQ((int)f->storage, (int)cases[i].storage);
		ASSERT_EQ(f->may_hang, cases[i].may_hang);
		ASSERT_EQ(f->lacks_space, cases[i].lacks_space);
	}
}

TEST(volumes_of_some_show_as_devices_of_their_own)
{
	ASSERT(file_system_of("btrfs")->has_many_devices);
	ASSERT(!file_system_of("xfs")->has_many_devices);
}

TEST(what_the_kernel_makes_holds_no_data)
{
	static const char *const none[] = { "proc", "sysfs", "devpts", "devtmpfs", "cgroup2" },
				 *const data[] = { "ext4",    "tmpfs", "nfs4", "squashfs",
						   "iso9660", "newfs", NULL };

	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		ASSERT(file_system_of(none[i])->holds_no_data);
	for (size_t i = 0; i < ARRAY_SIZE(data); i++)
		ASSERT(!file_system_of(data[i])->holds_no_data);
}
