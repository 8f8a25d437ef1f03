/* SPDX-License-Identifier: MIT */
#include "basic/folder.h"

#include <errno.h>

#include "basic/cleanup.h"
#include "test.h"
#include "tree.h"

TEST(names_are_in_the_order_that_people_count_in)
{
	_cleanup_close_ int root = tree_open("order");
	_cleanup_(folder_clear) struct folder f = {};

	tree_write(root, "hwmon10", "");
	tree_write(root, "hwmon2", "");
	tree_write(root, ".hidden", "");
	ASSERT_OK(folder_read(root, ".", 2, &f));
	ASSERT_EQ(f.count, (uint64_t)2);
	ASSERT_STREQ(f.names[0], "hwmon2");
	ASSERT_STREQ(f.names[1], "hwmon10");
}

TEST(an_empty_folder_has_no_names)
{
	_cleanup_close_ int root = tree_open("empty");
	_cleanup_(folder_clear) struct folder f = {};

	ASSERT_OK(folder_read(root, ".", 0, &f));
	ASSERT_EQ(f.count, (uint64_t)0);
}

TEST(too_many_names_and_no_folder_are_errors_and_leave_the_result_alone)
{
	_cleanup_close_ int root = tree_open("many");
	struct folder f = { .count = 42 };

	tree_write(root, "a", "");
	tree_write(root, "b", "");
	ASSERT_ERR(folder_read(root, ".", 1, &f), -E2BIG);
	ASSERT_ERR(folder_read(root, "absent", 9, &f), -ENOENT);
	ASSERT_ERR(folder_read(root, "a", 9, &f), -ENOTDIR);
	ASSERT_EQ(f.count, (uint64_t)42);
}
