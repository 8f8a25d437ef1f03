/* SPDX-License-Identifier: MIT */
#include "node/job_groups.h"

#include <errno.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "cgroup/hierarchy.h"
#include "test.h"
#include "tree.h"

static char mount_point[] = "/cg", top[] = "/", own[] = "/";
static const struct hierarchy v2 = {
	.is_v2 = true, .v2_mount = mount_point, .v2_root = top, .v2_own = own
};

TEST(each_job_and_step_has_its_top_group)
{
	_cleanup_close_ int fd = tree_open("job-groups");
	_cleanup_(job_groups_clear) struct job_groups groups = {};
	struct error err = {};

	tree_write(fd, "cg/system.slice/cgroup.procs", "");
	tree_write(fd, "cg/slurm/uid_1000/job_7/step_0/task_0/cgroup.procs", "");
	tree_write(fd, "cg/slurm/uid_1000/job_7/step_batch/cgroup.procs", "");
	tree_write(fd, "cg/slurm/uid_1000/job_11/cgroup.procs", "");
	ASSERT_OK(job_groups_list(fd, &v2, NULL, &groups, &err));
	ASSERT_EQ(groups.count, (size_t)4);
	ASSERT_STREQ(groups.items[0].path, "/slurm/uid_1000/job_11");
	ASSERT_STREQ(groups.items[0].identity.job, "11");
	ASSERT_STREQ(groups.items[1].path, "/slurm/uid_1000/job_7");
	ASSERT_STREQ(groups.items[1].identity.step, "");
	ASSERT_STREQ(groups.items[2].path, "/slurm/uid_1000/job_7/step_0");
	ASSERT_STREQ(groups.items[2].identity.step, "0");
	ASSERT_STREQ(groups.items[3].identity.step, "batch");
}

TEST(a_tree_that_is_not_there_is_an_error_in_words)
{
	_cleanup_close_ int fd = tree_open("job-groups-none");
	_cleanup_(job_groups_clear) struct job_groups groups = {};
	struct error err = {};

	ASSERT_ERR(job_groups_list(fd, &v2, NULL, &groups, &err), -ENOENT);
	ASSERT_CONTAINS(err.text, "/cg");
	ASSERT_EQ(groups.count, (size_t)0);
}
