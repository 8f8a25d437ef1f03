/* SPDX-License-Identifier: MIT */
#include "cgroup/placement.h"

#include <errno.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "test.h"
#include "tree.h"

#define V1_MOUNTS                                                           \
	"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"                 \
	"35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" \
	"37 31 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
#define JOB "/slurm/uid_1000/job_42/step_0/task_3"

static int make_v1(const char *name)
{
	int root = tree_open(name);

	tree_write(root, "proc/self/mountinfo", V1_MOUNTS);
	tree_write(root, "proc/self/cgroup", "4:memory:/\n3:freezer:/\n");
	return root;
}

TEST(a_process_is_placed_by_the_key_hierarchy)
{
	_cleanup_close_ int root = make_v1("v1");
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	_cleanup_(placement_clear) struct placement p = {};

	ASSERT_OK(hierarchy_read(root, &h, NULL));
	tree_write(root, "proc/7/cgroup", "3:freezer:/other\n4:memory:" JOB "/jobmeter-run-9\n");
	tree_write(root, "proc/7/comm", "a.out\n");
	tree_write(root, "sys/fs/cgroup/memory" JOB "/jobmeter-run-9/cgroup.procs", "7\n");
	ASSERT_OK(placement_read(root, &h, 7, &p, NULL));
	ASSERT_STREQ(p.command, "a.out");
	ASSERT_STREQ(p.path, JOB "/jobmeter-run-9");
	ASSERT_STREQ(p.dir, "/sys/fs/cgroup/memory" JOB "/jobmeter-run-9");
	ASSERT(p.cgroup_id != 0);
	ASSERT(p.has_identity);
	ASSERT_STREQ(p.identity.rule, "run");
	ASSERT(p.has_outer);
	ASSERT_STREQ(p.outer.job, "42");
}

TEST(the_group_of_a_zombie_may_be_gone)
{
	_cleanup_close_ int root = make_v1("deleted");
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	_cleanup_(placement_clear) struct placement p = {};

	ASSERT_OK(hierarchy_read(root, &h, NULL));
	tree_write(root, "proc/7/cgroup", "3:freezer:/other\n4:memory:" JOB " (deleted)\n");
	ASSERT_OK(placement_read(root, &h, 7, &p, NULL));
	ASSERT_STREQ(p.path, JOB);
	ASSERT(p.has_identity);
	ASSERT_STREQ(p.identity.task, "3");
}

TEST(a_mount_that_shows_a_part_of_the_tree_is_known)
{
	_cleanup_close_ int root = tree_open("container");
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	_cleanup_(placement_clear) struct placement p = {};

	tree_write(root, "proc/self/mountinfo",
		   "35 31 0:32 /docker/0123456789ab /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	tree_write(root, "proc/self/cgroup", "0::/docker/0123456789ab/x\n");
	tree_write(root, "proc/7/cgroup", "0::/docker/0123456789ab/x\n");
	ASSERT_OK(hierarchy_read(root, &h, NULL));
	ASSERT_OK(placement_read(root, &h, 7, &p, NULL));
	ASSERT_STREQ(p.dir, "/sys/fs/cgroup/x");
	ASSERT_STREQ(p.identity.manager, "docker"); /* by the whole path */
	ASSERT_EQ(p.cgroup_id, (uint64_t)0); /* its directory is not there */
}

TEST(no_process_and_no_group_are_told_apart)
{
	_cleanup_close_ int root = make_v1("none");
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	struct placement p = { .pid = 42 };
	struct error err = {};

	ASSERT_OK(hierarchy_read(root, &h, NULL));
	ASSERT_ERR(placement_read(root, &h, 8, &p, &err), -ESRCH);
	ASSERT_STREQ(err.text, "there is no process 8");
	tree_write(root, "proc/9/cgroup", "3:freezer:/x\n");
	ASSERT_ERR(placement_read(root, &h, 9, &p, &err), -ENOENT);
	ASSERT_CONTAINS(err.text, "key hierarchy");
	tree_write(root, "proc/9/cgroup", "rubbish\n");
	ASSERT_ERR(placement_read(root, &h, 9, &p, &err), -EINVAL);
	ASSERT_EQ(p.pid, 42);
}
