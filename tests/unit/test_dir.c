/* SPDX-License-Identifier: MIT */
#include "basic/dir.h"

#include <errno.h>

#include "basic/cleanup.h"
#include "test.h"
#include "tree.h"

TEST(names_are_in_the_order_that_people_count_in)
{
	_cleanup_close_ int root = tree_open("order");
	_cleanup_(dir_clear) struct dir f = {};

	tree_write(root, "hwmon10", "");
	tree_write(root, "hwmon2", "");
	tree_write(root, ".hidden", "");
	ASSERT_OK(dir_read(root, ".", 2, &f));
	ASSERT_EQ(f.count, (uint64_t)2);
	ASSERT_STREQ(f.names[0], "hwmon2");
	ASSERT_STREQ(f.names[1], "hwmon10");
}

TEST(an_empty_directory_has_no_names)
{
	_cleanup_close_ int root = tree_open("empty");
	_cleanup_(dir_clear) struct dir f = {};

	ASSERT_OK(dir_read(root, ".", 0, &f));
	ASSERT_EQ(f.count, (uint64_t)0);
}

TEST(too_many_names_and_no_directory_are_errors_and_leave_the_result_alone)
{
	_cleanup_close_ int root = tree_open("many");
	struct dir f = { .count = 42 };

	tree_write(root, "a", "");
	tree_write(root, "b", "");
	ASSERT_ERR(dir_read(root, ".", 1, &f), -E2BIG);
	ASSERT_ERR(dir_read(root, "absent", 9, &f), -ENOENT);
	ASSERT_ERR(dir_read(root, "a", 9, &f), -ENOTDIR);
	ASSERT_EQ(f.count, (uint64_t)42);
}
