/* SPDX-License-Identifier: MIT */
#include "cgroup/hierarchy.h"

#include <errno.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "test.h"
#include "tree.h"

#define V2_MOUNT "30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
#define V1_MEMORY "31 1 0:31 / /cg/memory rw - cgroup cgroup rw,memory\n"
#define V1_CPU "32 1 0:32 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"

static int read_made(const char *name, const char *mounts, const char *cgroups,
		     const char *v2_controllers, struct hierarchy *ret, struct error *err)
{
	_cleanup_close_ int fd = tree_open(name);

	tree_write(fd, "proc/self/mountinfo", mounts);
	tree_write(fd, "proc/self/cgroup", cgroups);
	tree_write(fd, "sys/fs/cgroup/cgroup.controllers", v2_controllers);
	return hierarchy_read(fd, ret, err);
}

TEST(v2_with_the_memory_controller_is_the_key)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};

	ASSERT_OK(read_made("v2", V2_MOUNT, "0::/user.slice/x.scope\n", "cpuset cpu io memory\n",
			    &h, NULL));
	ASSERT(h.is_v2);
	ASSERT_STREQ(hierarchy_own_path(&h), "/user.slice/x.scope");
}

TEST(v2_with_hugetlb_alone_leaves_the_key_to_v1)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};

	ASSERT_OK(read_made("hybrid", V2_MOUNT V1_MEMORY, "4:memory:/slurm/job_7\n0::/\n",
			    "hugetlb\n", &h, NULL));
	ASSERT(!h.is_v2);
	ASSERT_EQ(h.key, CONTROLLER_MEMORY);
	ASSERT_STREQ(hierarchy_own_path(&h), "/slurm/job_7");
}

TEST(without_memory_cpuacct_is_the_key_wherever_it_is_mounted)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};

	ASSERT_OK(read_made("cpuacct", V1_CPU, "3:cpu,cpuacct:/a\n", "", &h, NULL));
	ASSERT_EQ(h.key, CONTROLLER_CPUACCT);
	ASSERT_STREQ(h.mount[CONTROLLER_CPU], h.mount[CONTROLLER_CPUACCT]);
}

TEST(no_cgroup_file_system_is_told)
{
	struct hierarchy h = {};
	struct error err = {};

	ASSERT_ERR(read_made("none", "1 0 8:1 / / rw - ext4 d rw\n", "0::/\n", "", &h, &err),
		   -ENOENT);
	ASSERT_CONTAINS(err.text, "cgroup");
}

TEST(a_path_that_does_not_begin_at_the_root_is_no_path)
{
	struct hierarchy h = {};
	struct error err = {};

	ASSERT_ERR(read_made("relative", V2_MOUNT, "0::job_7\n", "", &h, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "cgroup");
}

TEST(a_broken_cgroup_file_is_told)
{
	struct hierarchy h = {};
	struct error err = {};

	ASSERT(read_made("broken", V2_MOUNT V1_MEMORY, "rubbish\n", "", &h, &err) < 0);
	ASSERT_CONTAINS(err.text, "cgroup");
}

TEST(a_directory_and_a_path_lead_to_each_other)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	static const struct row {
		const char *dir, *path;
	} rows[] = {
		{ "/cg/memory/slurm/job_7", "/slurm/job_7" },
		{ "/cg/memory/slurm/job_7//", "/slurm/job_7" },
		{ "/cg/memory", "/" },
		{ "/cg/memory/", "/" },
		{ "/slurm/job_7", "/slurm/job_7" },
		{ "/cg/memory2/x", "/cg/memory2/x" },
		{ "", "" },
		{ "/", "/" },
	};

	ASSERT_OK(read_made("there", V1_MEMORY, "4:memory:/slurm/job_7\n", "", &h, NULL));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_free_ char *path = hierarchy_path_of(&h, rows[i].dir);

		ASSERT_STREQ(path, rows[i].path);
	}
}
