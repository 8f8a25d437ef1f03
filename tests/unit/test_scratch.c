/* SPDX-License-Identifier: MIT */
#include "basic/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static void prefix_of(const char *name, char *ret, size_t size)
{
	snprintf(ret, size, "%s/%s-", test_dir(), name);
}

static void fill(const struct scratch *s)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/below", s->path);
	ASSERT_OK(mkdir(path, 0700));
	snprintf(path, sizeof(path), "%s/below/file", s->path);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	ASSERT_OK(access(path, F_OK));
}

TEST(it_goes_with_all_that_is_in_it)
{
	struct scratch s = SCRATCH_NONE;
	char prefix[48], path[64];

	prefix_of("a", prefix, sizeof(prefix));
	ASSERT_OK(scratch_make(prefix, &s));
	snprintf(path, sizeof(path), "%s", s.path);
	fill(&s);
	scratch_remove(&s);
	ASSERT_ERR(access(path, F_OK), -1);
	scratch_remove(&s);
}

TEST(one_whose_maker_lives_stays_and_one_whose_maker_was_killed_goes)
{
	struct scratch mine = SCRATCH_NONE, next = SCRATCH_NONE, of_child = SCRATCH_NONE;
	char prefix[48];
	int ends[2];
	pid_t pid;

	prefix_of("b", prefix, sizeof(prefix));
	ASSERT_OK(pipe(ends));
	pid = fork();
	if (pid == 0) {
		if (scratch_make(prefix, &of_child) == 0)
			fill(&of_child);
		_exit(write(ends[1], of_child.path, sizeof(of_child.path)) < 0);
	}
	ASSERT_EQ(read(ends[0], of_child.path, sizeof(of_child.path)),
		  (ssize_t)sizeof(of_child.path));
	waitpid(pid, NULL, 0);
	ASSERT_OK(access(of_child.path, F_OK));
	ASSERT_OK(scratch_make(prefix, &mine));
	ASSERT_ERR(access(of_child.path, F_OK), -1);
	ASSERT_OK(scratch_make(prefix, &next));
	ASSERT_OK(access(mine.path, F_OK));
	scratch_remove(&mine);
	scratch_remove(&next);
}

TEST(where_none_can_be_made_it_says_why)
{
	struct scratch s = SCRATCH_NONE;

	ASSERT_ERR(scratch_make("/nowhere/at/all-", &s), -ENOENT);
	ASSERT_STREQ(s.path, "");
}
