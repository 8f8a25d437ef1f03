/* SPDX-License-Identifier: MIT */
#include "cgroup/allocation.h"

#include <unistd.h>

#include "basic/cleanup.h"
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

static char memory[] = "/cg/memory", cpu[] = "/cg/cpu", cpuset[] = "/cg/cpuset", top[] = "/";

static const struct hierarchy v1 = {
	.key = CONTROLLER_MEMORY,
	.mount = { [CONTROLLER_MEMORY] = memory, [CONTROLLER_CPU] = cpu, [CONTROLLER_CPUSET] = cpuset },
	.root = { [CONTROLLER_MEMORY] = top, [CONTROLLER_CPU] = top, [CONTROLLER_CPUSET] = top },
};
static const struct hierarchy v2 = {
	.is_v2 = true, .v2_mount = mount_point, .v2_own = own, .v2_root = top
};

TEST(a_v2_group_may_use_its_cpuset_and_the_least_memory_from_it_up)
{
	_cleanup_close_ int fd = tree_open("group-v2");
	_cleanup_(allocation_clear) struct allocation a = {};

	tree_write(fd, "cg/slurm/job_7/cpuset.cpus.effective", "0-2,8\n");
	tree_write(fd, "cg/slurm/job_7/cpu.max", "max 100000\n");
	tree_write(fd, "cg/slurm/job_7/memory.max", "67108864\n");
	tree_write(fd, "cg/slurm/memory.max", "33554432\n");
	ASSERT_OK(allocation_read_group(fd, &v2, "/slurm/job_7", &a));
	ASSERT_EQ(a.cores.number, 4000);
	ASSERT_EQ(a.memory.number, 33554432);
	ASSERT_STREQ(a.cpus, "0-2,8");
}

TEST(a_quota_less_than_the_cpuset_counts)
{
	_cleanup_close_ int fd = tree_open("group-quota");
	_cleanup_(allocation_clear) struct allocation a = {};

	tree_write(fd, "cg/job_7/cpuset.cpus.effective", "0-3\n");
	tree_write(fd, "cg/job_7/cpu.max", "150000 100000\n");
	ASSERT_OK(allocation_read_group(fd, &v2, "/job_7", &a));
	ASSERT_EQ(a.cores.number, 1500);
	ASSERT_STREQ(a.cpus, "0-3");
	ASSERT(!a.memory.is_known);
}

TEST(a_v1_group_is_looked_up_in_each_hierarchy)
{
	_cleanup_close_ int fd = tree_open("group-v1");
	_cleanup_(allocation_clear) struct allocation a = {};

	tree_write(fd, "cg/cpuset/slurm/job_7/cpuset.effective_cpus", "4-7\n");
	tree_write(fd, "cg/cpu/slurm/job_7/cpu.cfs_quota_us", "-1\n");
	tree_write(fd, "cg/cpu/slurm/job_7/cpu.cfs_period_us", "100000\n");
	tree_write(fd, "cg/cpu/slurm/cpu.cfs_quota_us", "225000\n");
	tree_write(fd, "cg/cpu/slurm/cpu.cfs_period_us", "100000\n");
	tree_write(fd, "cg/memory/slurm/job_7/memory.limit_in_bytes", "1048576\n");
	tree_write(fd, "cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
	ASSERT_OK(allocation_read_group(fd, &v1, "/slurm/job_7", &a));
	ASSERT_EQ(a.cores.number, 2250);
	ASSERT_EQ(a.memory.number, 1048576);
	ASSERT_STREQ(a.cpus, "4-7");
}

TEST(without_a_cpuset_of_its_own_the_nearest_above_counts)
{
	_cleanup_close_ int fd = tree_open("group-above");
	_cleanup_(allocation_clear) struct allocation a = {};

	tree_write(fd, "cg/a/b/c/cpuset.cpus.effective", "\n"); /* none: no task could run there */
	tree_write(fd, "cg/a/cpuset.cpus.effective", "1-2\n");
	tree_write(fd, "cg/cpuset.cpus.effective", "0-7\n");
	ASSERT_OK(allocation_read_group(fd, &v2, "/a/b/c", &a));
	ASSERT_STREQ(a.cpus, "1-2");
}

TEST(without_any_cpuset_the_cpus_that_are_online_count)
{
	_cleanup_close_ int fd = tree_open("group-online");
	_cleanup_(allocation_clear) struct allocation a = {};

	tree_write(fd, "cg/job/cgroup.procs", "");
	ASSERT_OK(allocation_read_group(fd, &v2, "/job", &a));
	ASSERT(!a.cores.is_known && !a.cpus);
	tree_write(fd, "sys/devices/system/cpu/online", "0-5\n");
	ASSERT_OK(allocation_read_group(fd, &v2, "/job", &a));
	ASSERT_EQ(a.cores.number, 6000);
}

TEST(rubbish_in_a_cpuset_is_no_cpuset)
{
	_cleanup_close_ int fd = tree_open("group-rubbish");
	_cleanup_(allocation_clear) struct allocation a = {};

	tree_write(fd, "cg/job/cpuset.cpus.effective", "3-1,x\n");
	tree_write(fd, "cg/cpuset.cpus.effective", "0-99999999\n");
	tree_write(fd, "cg/job/memory.max", "lots\n");
	ASSERT_OK(allocation_read_group(fd, &v2, "/job", &a));
	ASSERT(!a.cores.is_known && !a.memory.is_known && !a.cpus);
}

TEST(limits_are_read_again_within_a_minute_and_then_ever_more_seldom)
{
	_cleanup_close_ int fd = tree_open("group-refresh");
	_cleanup_(allocation_clear) struct allocation a = {};
	uint64_t now = 17, age = 0;

	tree_write(fd, "cg/job/memory.max", "1048576\n");
	ASSERT_EQ(allocation_refresh(fd, &v2, "/job", now, &a), 1);
	ASSERT(a.wait_ns >= ALLOCATION_AGE_NS / 2 && a.wait_ns <= ALLOCATION_AGE_NS);
	for (int i = 0; i < 8; i++) {
		age = a.wait_ns;
		tree_write(fd, "cg/job/memory.max", i % 2 ? "1048576\n" : "2097152\n");
		ASSERT_EQ(allocation_refresh(fd, &v2, "/job", now + age - 1, &a), 0);
		ASSERT_EQ(a.memory.number, i % 2 ? 2097152 : 1048576);
		now += age;
		ASSERT_EQ(allocation_refresh(fd, &v2, "/job", now, &a), 1);
		ASSERT_EQ(a.memory.number, i % 2 ? 1048576 : 2097152);
	}
	ASSERT_EQ(age, ALLOCATION_AGE_MAX_NS);
}

TEST(limits_of_groups_that_are_met_together_are_not_read_together_ever_after)
{
	_cleanup_close_ int fd = tree_open("group-spread");
	const uint64_t met = 3 * ALLOCATION_AGE_NS, half = met + ALLOCATION_AGE_NS * 3 / 4;
	size_t early = 0;

	for (int i = 0; i < 64; i++) {
		_cleanup_(allocation_clear) struct allocation a = {};
		char path[32];

		snprintf(path, sizeof(path), "/job_%d", i);
		ASSERT_EQ(allocation_refresh(fd, &v2, path, met, &a), 1);
		early += allocation_refresh(fd, &v2, path, half, &a) == 1;
	}
	ASSERT(early > 16 && early < 48);
}
