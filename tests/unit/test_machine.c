/* SPDX-License-Identifier: MIT */
#include "sources/machine.h"

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "test.h"
#include "tree.h"

TEST(a_machine_is_read_below_its_root)
{
	_cleanup_close_ int root = tree_open("node");
	struct machine m;

	tree_write(root, "proc/sys/kernel/hostname", "node17\n");
	tree_write(root, "proc/sys/kernel/osrelease", "6.1.0-50-amd64\n");
	tree_write(root, "proc/sys/kernel/arch", "aarch64\n");
	tree_write(root, "sys/kernel/btf/vmlinux", "x");
	tree_write(root, "sys/devices/system/cpu/online", "0-3,8\n");
	tree_write(root, "sys/devices/system/cpu/possible", "0-255\n");
	tree_write(root, "proc/meminfo", "MemTotal:       16 kB\nMemFree: 3 kB\n");
	tree_write(root, "sys/class/dmi/id/sys_vendor", "QEMU\n");
	tree_write(root, "sys/class/dmi/id/product_name", "Standard PC\n");
	machine_read(root, &m);
	ASSERT_STREQ(m.node, "node17");
	ASSERT_STREQ(m.kernel, "6.1.0-50-amd64");
	ASSERT_STREQ(m.arch, "aarch64");
	ASSERT(m.has_btf);
	ASSERT_EQ(m.cpus_online, 5u);
	ASSERT_EQ(m.cpus_possible, 256u);
	ASSERT_EQ(m.memory_bytes, (uint64_t)16384);
	ASSERT(m.is_virtual);
	ASSERT_STREQ(m.product, "QEMU Standard PC");
}

TEST(the_scheduler_names_the_preemption_mode_and_the_version_only_what_is_certain)
{
	static const struct {
		const char *scheduler, *version, *mode;
	} cases[] = {
		{ "none voluntary (full) lazy\n", "#1 SMP PREEMPT_DYNAMIC\n", "full" },
		{ "(none)", "", "none" },
		{ "none full", "#1 SMP PREEMPT Debian\n", "full" },
		{ "(a mode that is far too long)", "#1 SMP PREEMPT_RT Debian\n", "rt" },
		{ "none )full(", "#1 SMP PREEMPT_DYNAMIC Debian\n", "" },
		{ "", "#1 SMP Debian\n", "" },
		{ "()", "", "" },
	};
	_cleanup_close_ int root = tree_open("preemption");
	struct machine m;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		tree_write(root, "sys/kernel/debug/sched/preempt", cases[i].scheduler);
		tree_write(root, "proc/sys/kernel/version", cases[i].version);
		machine_read(root, &m);
		ASSERT_STREQ(m.preemption, cases[i].mode);
	}
}

TEST(what_an_empty_root_does_not_say_is_unknown)
{
	_cleanup_close_ int root = tree_open("empty");
	struct machine m;

	machine_read(root, &m);
	ASSERT_STREQ(m.kernel, "");
	ASSERT_STREQ(m.arch, "");
	ASSERT(!m.has_btf);
	ASSERT_EQ(m.cpus_online, 0u);
	ASSERT_EQ(m.memory_bytes, (uint64_t)0);
	ASSERT(!m.is_virtual);
}

TEST(broken_files_are_unknown_too)
{
	_cleanup_close_ int root = tree_open("broken");
	struct machine m;

	tree_write(root, "sys/devices/system/cpu/online", "0-3,x\n");
	tree_write(root, "sys/devices/system/cpu/possible", "99999999999\n");
	tree_write(root, "proc/meminfo", "MemTotal: 99999999999999999999 kB\n");
	machine_read(root, &m);
	ASSERT_EQ(m.cpus_online, 0u);
	ASSERT_EQ(m.cpus_possible, 0u);
	ASSERT_EQ(m.memory_bytes, (uint64_t)0);
}

TEST(a_guest_is_known_by_its_flag)
{
	ASSERT(machine_parse_hypervisor(
		"processor\t: 0\nflags\t\t: fpu hypervisor sse\nbugs\t:\n"));
	ASSERT(machine_parse_hypervisor("flags\t: fpu hypervisor\n"));
	ASSERT(machine_parse_hypervisor("flags\t: fpu hypervisor"));
	ASSERT(!machine_parse_hypervisor("flags\t: fpu sse\nmodel name\t: hypervisor\n"));
	ASSERT(!machine_parse_hypervisor("flags\t: fpu hypervisors\n"));
	ASSERT(!machine_parse_hypervisor("model name\t: a hypervisor\n"));
	ASSERT(!machine_parse_hypervisor(""));
}
