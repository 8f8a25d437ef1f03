/* SPDX-License-Identifier: MIT */
#include "jobs/slurm_number.h"

#include <errno.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "cgroup/hierarchy.h"
#include "test.h"
#include "tree.h"

#define SLUID "sEKNKTV3WPV500"
#define MOUNT "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
#define STEP "sys/fs/cgroup/memory/system.slice/slurmstepd.scope/" SLUID "/step_0"

TEST(a_sluid_is_s_and_thirteen_of_base_32)
{
	ASSERT(slurm_is_sluid(SLUID));
	ASSERT(slurm_is_sluid("s5K1KKYAYG5D00"));
	ASSERT(!slurm_is_sluid(""));
	ASSERT(!slurm_is_sluid("system"));
	ASSERT(!slurm_is_sluid("4711"));
	ASSERT(!slurm_is_sluid("sEKNKTV3WPV50"));
	ASSERT(!slurm_is_sluid("sEKNKTV3WPV5000"));
	ASSERT(!slurm_is_sluid("sEKNKTV3WPVI00")); /* no I, L, O, U */
}

/* Of root's processes alone: the files of this test are the user's that it runs as. */
TEST(the_title_of_slurmstepd_says_the_number)
{
	static const struct {
		const char *title, *number; /* NULL: none */
	} rows[] = {
		{ "slurmstepd: [42.batch]", "42" },
		{ "slurmstepd: [4160739.0]", "4160739" },
		{ "slurmstepd: [7+1.0]", "7" },
		{ "slurmstepd: [42", NULL },
		{ "slurmstepd: []", NULL },
		{ "slurmstepd: [x.0]", NULL },
		{ "slurmstepd infinity", NULL },
		{ "slurmstepd: [123456789012345678901234567890.0]", NULL },
		{ "", NULL },
	};
	_cleanup_close_ int root = tree_open("slurm-number");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(hierarchy_clear) struct hierarchy h = {};
		const char *expected = geteuid() == 0 ? rows[i].number : NULL;
		char number[24] = "";
		int r;

		tree_write(root, "proc/self/mountinfo", MOUNT);
		tree_write(root, "proc/self/cgroup", "4:memory:/\n");
		ASSERT_OK(hierarchy_read(root, &h, NULL));

		tree_write(root, STEP "/slurm/cgroup.procs", "17\n");
		tree_write(root, STEP "/user/cgroup.procs", "18\n");
		tree_write(root, "proc/17/cmdline", rows[i].title);
		tree_write(root, "proc/18/cmdline", "slurmstepd: [7777.0]");
		r = slurm_number_find(root, &h, "/system.slice/slurmstepd.scope/" SLUID, number,
				      sizeof(number));
		ASSERT_EQ(r, expected ? 0 : -ENOENT);
		ASSERT_STREQ(number, expected ? expected : "");
	}
}
