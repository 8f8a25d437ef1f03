/* SPDX-License-Identifier: MIT */
#include "cgroup/allocation.h"

#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
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
	ASSERT(!r.values[METRIC_CPU_THROTTLED].is_known); /* how long that stopped it */
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
	ASSERT_EQ(r.values[METRIC_CPU_THROTTLED].is_known, geteuid() != 0);
}

TEST(only_root_can_make_a_group_that_stops_its_command)
{
	_cleanup_close_ int fd = tree_open("of_a_user");
	struct reading r = {};

	if (geteuid() == 0)
		ASSERT_OK(seteuid(65534));
	read_made(fd, &r);
	ASSERT_OK(seteuid(getuid()));
	ASSERT(r.values[METRIC_CPU_THROTTLED].is_known && !r.values[METRIC_CPU_THROTTLED].number);
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

TEST(a_group_may_use_its_cpuset_its_quota_and_the_least_memory)
{
	/* clang-format off */
	static const struct {
		const struct hierarchy *h;
		const char *path;
		struct { const char *path, *text; } files[7];
		uint64_t cores, memory; /* 0: not known */
		const char *cpus;
	} rows[] = {
		/* from the group up */
		{ &v2, "/slurm/job_7",
		  { { "cg/slurm/job_7/cpuset.cpus.effective", "0-2,8\n" },
		    { "cg/slurm/job_7/cpu.max", "max 100000\n" },
		    { "cg/slurm/job_7/memory.max", "67108864\n" },
		    { "cg/slurm/memory.max", "33554432\n" } },
		  4000, 33554432, "0-2,8" },
		/* a quota of less than the cpuset */
		{ &v2, "/job_7",
		  { { "cg/job_7/cpuset.cpus.effective", "0-3\n" },
		    { "cg/job_7/cpu.max", "150000 100000\n" } },
		  1500, 0, "0-3" },
		/* each hierarchy of v1 */
		{ &v1, "/slurm/job_7",
		  { { "cg/cpuset/slurm/job_7/cpuset.effective_cpus", "4-7\n" },
		    { "cg/cpu/slurm/job_7/cpu.cfs_quota_us", "-1\n" },
		    { "cg/cpu/slurm/job_7/cpu.cfs_period_us", "100000\n" },
		    { "cg/cpu/slurm/cpu.cfs_quota_us", "225000\n" },
		    { "cg/cpu/slurm/cpu.cfs_period_us", "100000\n" },
		    { "cg/memory/slurm/job_7/memory.limit_in_bytes", "1048576\n" },
		    { "cg/memory/memory.limit_in_bytes", "9223372036854771712\n" } },
		  2250, 1048576, "4-7" },
		/* without a cpuset of its own, the nearest above; none: no task could run there */
		{ &v2, "/a/b/c",
		  { { "cg/a/b/c/cpuset.cpus.effective", "\n" },
		    { "cg/a/cpuset.cpus.effective", "1-2\n" },
		    { "cg/cpuset.cpus.effective", "0-7\n" } },
		  2000, 0, "1-2" },
		/* rubbish is none */
		{ &v2, "/job",
		  { { "cg/job/cpuset.cpus.effective", "3-1,x\n" },
		    { "cg/cpuset.cpus.effective", "0-99999999\n" },
		    { "cg/job/memory.max", "lots\n" } },
		  0, 0, NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char name[] = { 'r', 'o', 'w', (char)('0' + i), '\0' };
		_cleanup_close_ int fd = tree_open(name);
		_cleanup_(allocation_clear) struct allocation a = {};

		for (size_t f = 0; f < ARRAY_SIZE(rows[i].files) && rows[i].files[f].path; f++)
			tree_write(fd, rows[i].files[f].path, rows[i].files[f].text);
		ASSERT_OK(allocation_read_group(fd, rows[i].h, rows[i].path, &a));
		ASSERT_EQ(a.cores.is_known ? a.cores.number : 0, rows[i].cores);
		ASSERT_EQ(a.memory.is_known ? a.memory.number : 0, rows[i].memory);
		ASSERT_STREQ(a.cpus, rows[i].cpus);
	}
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
