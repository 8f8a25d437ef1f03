/* SPDX-License-Identifier: MIT */
#include "descendants.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

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
	const char *const broken[] = { "", "7", "7 (a", "7 (a)", "7 (a) ", "7 (a) S", "7 (a) S x",
				       "7 (a) S 99999999999" };
	pid_t parent = 1;
	char state = 'x';

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		ASSERT_ERR(descendants_parse_stat(broken[i], &state, &parent), -EINVAL);
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
