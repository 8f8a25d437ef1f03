/* SPDX-License-Identifier: MIT */
#include "sources/gpus.h"

#include "basic/cleanup.h"
#include "test.h"
#include "tree.h"

#define PCI "sys/bus/pci/devices/"

TEST(a_gpu_has_its_vendor_and_driver)
{
	_cleanup_close_ int root = tree_open("gpus");
	struct gpus g;

	tree_write(root, PCI "0000:17:00.0/class", "0x030200\n");
	tree_write(root, PCI "0000:17:00.0/vendor", "0x10de\n");
	tree_write(root, PCI "0000:17:00.0/device", "0x2335\n");
	tree_link(root, PCI "0000:17:00.0/driver", "../../../bus/pci/drivers/nvidia");
	tree_write(root, PCI "0000:18:00.0/class", "0x030000\n");
	tree_write(root, PCI "0000:18:00.0/vendor", "0x1002\n");
	gpus_read(root, &g);
	ASSERT_EQ(g.count, (uint64_t)2);
	ASSERT_STREQ(g.items[0].vendor, "NVIDIA");
	ASSERT_STREQ(g.items[0].address, "0000:17:00.0");
	ASSERT_STREQ(g.items[0].device, "0x2335");
	ASSERT_STREQ(g.items[0].driver, "nvidia");
	ASSERT_STREQ(g.items[1].vendor, "AMD");
	ASSERT_STREQ(g.items[1].driver, "");
	ASSERT_STREQ(g.nvidia_driver, "");
}

TEST(other_devices_are_no_gpus)
{
	_cleanup_close_ int root = tree_open("others");
	struct gpus g;

	tree_write(root, PCI "0000:00:01.0/class", "0x020000\n"); /* a network card */
	tree_write(root, PCI "0000:00:01.0/vendor", "0x10de\n");
	tree_write(root, PCI "0000:00:02.0/class", "0x030000\n"); /* a board's own screen */
	tree_write(root, PCI "0000:00:02.0/vendor", "0x1a03\n");
	tree_write(root, PCI "0000:00:03.0/class", "a class that is no number at all");
	gpus_read(root, &g);
	ASSERT_EQ(g.count, (uint64_t)0);
}

TEST(the_version_of_either_nvidia_module_is_found)
{
	_cleanup_close_ int root = tree_open("versions");
	struct gpus g;

	tree_write(
		root, "proc/driver/nvidia/version",
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC\n");
	gpus_read(root, &g);
	ASSERT_STREQ(g.nvidia_driver, "550.54.15");
	tree_write(
		root, "proc/driver/nvidia/version",
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.1.2  Release Build\n");
	gpus_read(root, &g);
	ASSERT_STREQ(g.nvidia_driver, "570.1.2");
	tree_write(root, "proc/driver/nvidia/version", "no version\n1.2\n");
	gpus_read(root, &g);
	ASSERT_STREQ(g.nvidia_driver, "");
}

TEST(a_device_number_that_does_not_fit_is_none)
{
	_cleanup_close_ int root = tree_open("long");
	struct gpus g;

	tree_write(root, PCI "0000:17:00.0/class", "0x030200\n");
	tree_write(root, PCI "0000:17:00.0/vendor", "0x10de\n");
	tree_write(root, PCI "0000:17:00.0/device", "0x2335 and more than an array holds\n");
	gpus_read(root, &g);
	ASSERT_EQ(g.count, (uint64_t)1);
	ASSERT_STREQ(g.items[0].device, "");
}
