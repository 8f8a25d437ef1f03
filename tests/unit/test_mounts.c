/* SPDX-License-Identifier: MIT */
#include "cgroup/mounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "test.h"

#define DEVICE(major, minor) ((uint32_t)((major) << 20 | (minor)))

static int parse(const char *text, struct mounts *ret)
{
	_cleanup_free_ char *copy = strdup(text);

	return mounts_parse(copy, ret, NULL);
}

TEST(a_superblock_is_named_by_the_mount_of_its_root)
{
	_cleanup_(mounts_clear) struct mounts m = {};

	ASSERT_OK(parse("1 0 8:1 /part /a rw - ext4 /dev/sda1 rw\n"
			"2 0 8:1 / /much/longer rw - ext4 /dev/sda1 rw\n",
			&m));
	ASSERT_STREQ(mounts_find(&m, DEVICE(8, 1))->point, "/much/longer");
}

TEST(of_several_such_mounts_the_shortest_path_wins)
{
	_cleanup_(mounts_clear) struct mounts m = {};

	ASSERT_OK(parse("1 0 0:7 / /mnt/scratch rw - tmpfs t rw\n2 0 0:7 / /scr rw - tmpfs t rw\n",
			&m));
	ASSERT_STREQ(mounts_find(&m, DEVICE(0, 7))->point, "/scr");
}

TEST(two_mounts_with_one_last_component_stay_two)
{
	_cleanup_(mounts_clear) struct mounts m = {};

	ASSERT_OK(parse("1 0 0:7 / /a/data rw - tmpfs t rw\n2 0 0:8 / /b/data rw - tmpfs t rw\n",
			&m));
	ASSERT_STREQ(mounts_find(&m, DEVICE(0, 7))->point, "/a/data");
	ASSERT_STREQ(mounts_find(&m, DEVICE(0, 8))->point, "/b/data");
}

TEST(a_mount_that_another_hides_names_nothing)
{
	_cleanup_(mounts_clear) struct mounts m = {};

	ASSERT_OK(parse("1 0 0:7 / /a rw - tmpfs t rw\n2 1 0:8 / /a rw - ext4 d rw\n", &m));
	ASSERT(mounts_find(&m, DEVICE(0, 7)) == NULL);
	ASSERT_STREQ(mounts_find(&m, DEVICE(0, 8))->fstype, "ext4");
}

TEST(blanks_in_paths_come_back)
{
	_cleanup_(mounts_clear) struct mounts m = {};

	ASSERT_OK(parse("1 0 0:7 / /with\\040a\\011blank rw shared:1 master:2 - tmpfs none rw\n",
			&m));
	ASSERT_STREQ(m.items[0].point, "/with a\tblank");
}

TEST(an_option_is_found_as_a_whole_word)
{
	_cleanup_(mounts_clear) struct mounts m = {};

	ASSERT_OK(parse(
		"1 0 0:7 / /x rw - cgroup c rw,cpuacct\n2 0 0:8 / /y rw - cgroup c rw,cpu\n", &m));
	ASSERT_STREQ(mounts_find_type(&m, "cgroup", "cpu")->point, "/y");
	ASSERT(mounts_find_type(&m, "cgroup", "memory") == NULL);
}

TEST(broken_lines_are_refused_with_their_number)
{
	const char *const broken[] = {
		"1 0 8:1 / /a rw ext4 d rw\n",
		"1 0 8 / /a rw - ext4 d rw\n",
		"1 0 8:1 /\n",
		"1 0 8:1048576 / /a rw - e d rw\n",
		"garbage\n",
		"1 0 8:1 / /a rw -\n",
	};

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		_cleanup_free_ char *text = NULL;
		struct mounts m = {};
		struct error err = {};

		ASSERT(asprintf(&text, "1 0 8:1 / /a rw - ext4 d rw\n%s", broken[i]) > 0);
		ASSERT_ERR(mounts_parse(text, &m, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, "line 2");
		ASSERT_EQ(m.count, 0);
	}
}
