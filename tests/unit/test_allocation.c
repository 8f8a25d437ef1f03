/* SPDX-License-Identifier: MIT */
#include "allocation.h"

#include <errno.h>
#include <unistd.h>

#include "cleanup.h"
#include "test.h"
#include "tree.h"

static char own[] = "/a/b", mount_point[] = "/cg";

static void read_made(int fd, struct reading *ret)
{
	struct hierarchy h = { .is_v2 = true, .v2_mount = mount_point, .v2_own = own };
	_cleanup_free_ char *cpus = NULL;

	ASSERT_OK(allocation_read(fd, &h, ret, &cpus));
	ASSERT(cpus && *cpus);
}

TEST(the_least_limit_from_the_own_group_up_counts)
{
	_cleanup_close_ int fd = tree_open("limits");
	struct reading r = {};

	tree_write(fd, "cg/a/b/cpu.max", "max 100000\n");
	tree_write(fd, "cg/a/cpu.max", "25000 100000\n");
	tree_write(fd, "cg/a/b/memory.max", "67108864\n");
	tree_write(fd, "cg/a/memory.max", "33554432\n");
	read_made(fd, &r);
	ASSERT_EQ(r.values[METRIC_CPU_ALLOCATED].number, 250);
	ASSERT_EQ(r.values[METRIC_MEMORY_LIMIT].number, 33554432);
}

TEST(without_limits_memory_is_absent_and_cores_are_those_of_the_affinity)
{
	_cleanup_close_ int fd = tree_open("unlimited");
	struct reading r = {};

	tree_write(fd, "cg/a/b/cpu.max", "max 100000\n");
	tree_write(fd, "cg/a/b/memory.max", "max\n");
	read_made(fd, &r);
	ASSERT(r.values[METRIC_CPU_ALLOCATED].number >= 1000);
	ASSERT(!r.values[METRIC_MEMORY_LIMIT].is_known);
}

TEST(rubbish_in_a_limit_is_no_limit)
{
	_cleanup_close_ int fd = tree_open("rubbish");
	struct reading r = {};

	tree_write(fd, "cg/a/b/cpu.max", "25000\n");
	tree_write(fd, "cg/a/cpu.max", "25000 0\n");
	tree_write(fd, "cg/cpu.max", "18446744073709552 100000\n"); /* times 1000 is over 64 bits */
	tree_write(fd, "cg/a/b/memory.max", "99999999999999999999999\n");
	read_made(fd, &r);
	ASSERT(r.values[METRIC_CPU_ALLOCATED].number >= 1000);
	ASSERT(!r.values[METRIC_MEMORY_LIMIT].is_known);
}

TEST(that_of_another_group_is_its_own)
{
	_cleanup_close_ int fd = tree_open("other");
	static char root[] = "/";
	struct hierarchy h = { .is_v2 = true, .v2_mount = mount_point, .v2_own = own, .v2_root = root };
	_cleanup_free_ char *cpus = NULL;
	struct reading r = {};

	tree_write(fd, "cg/a/b/memory.max", "1048576\n");
	tree_write(fd, "cg/c/memory.max", "33554432\n");
	tree_write(fd, "cg/c/d/cpu.max", "13000 100000\n");
	ASSERT_OK(allocation_read_group(fd, &h, "/c/d", getpid(), &r, &cpus));
	ASSERT_EQ(r.values[METRIC_CPU_ALLOCATED].number, 130);
	ASSERT_EQ(r.values[METRIC_MEMORY_LIMIT].number, 33554432);
	ASSERT(cpus && *cpus);
	ASSERT_ERR(allocation_read_group(fd, &h, "/c/d", 0, &r, &cpus), -ESRCH);
}
