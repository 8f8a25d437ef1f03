/* SPDX-License-Identifier: MIT */
#include "cgroup/descendants.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "test.h"
#include "tree.h"

TEST(a_stat_line_is_read_behind_whatever_the_name_holds)
{
	pid_t parent = 0;
	char state = 0;

	ASSERT_OK(descendants_parse_stat("7 (odd ) name) S 4242 7 7", &state, &parent));
	ASSERT_EQ(state, 'S');
	ASSERT_EQ(parent, 4242);
}

TEST(broken_stat_lines_are_refused)
{
	const char *const broken[] = { "",	 "7",	    "7 (a",	 "7 (a)",
				       "7 (a) ", "7 (a) S", "7 (a) S x", "7 (a) S 99999999999" };
	pid_t parent = 1;
	char state = 'x';

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		ASSERT_ERR(descendants_parse_stat(broken[i], &state, &parent), -EINVAL);
	ASSERT_EQ(state, 'x');
	ASSERT_EQ(parent, 1);
}

TEST(a_child_is_found_and_a_stranger_is_not)
{
	int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	pid_t pids[4] = { 0 }, child = fork();
	ssize_t count;

	if (child == 0) {
		pause();
		_exit(0);
	}
	count = descendants_list(root_fd, getpid(), pids, 4);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(root_fd);
	ASSERT_EQ(count, 1);
	ASSERT_EQ(pids[0], child);
}

TEST(parents_in_a_circle_are_not_below_themselves)
{
	_cleanup_close_ int root_fd = tree_open("circle");
	pid_t pids[4] = { 0 };

	tree_write(root_fd, "proc/7/stat", "7 (a) S 23 0");
	tree_write(root_fd, "proc/23/stat", "23 (b) S 7 0");
	tree_write(root_fd, "proc/29/stat", "29 (c) Z 7 0");
	tree_write(root_fd, "proc/31/stat", "31 (d) S 1 0");
	ASSERT_EQ(descendants_list(root_fd, 7, pids, 4), 1);
	ASSERT_EQ(pids[0], 23);
}

TEST(without_proc_nothing_can_be_listed)
{
	_cleanup_close_ int root_fd = tree_open("empty");
	pid_t pid = 0;

	ASSERT_ERR(descendants_list(root_fd, 7, &pid, 1), -ENOENT);
}
