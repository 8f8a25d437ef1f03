/* SPDX-License-Identifier: MIT */
#include "agent/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "test.h"

TEST(the_second_is_told_who_the_first_is)
{
	int first = -EBADF, second = -EBADF;
	char wanted[64];
	struct error err;

	ASSERT_OK(lock_take(test_path("a"), "agent", &first, &err));
	ASSERT_ERR(lock_take(test_path("a"), "agent", &second, &err), -EALREADY);
	snprintf(wanted, sizeof(wanted), "another agent runs (PID %d)", getpid());
	ASSERT_STREQ(err.text, wanted);
	ASSERT_EQ(second, -EBADF);
	close(first);
	ASSERT_OK(lock_take(test_path("a"), "agent", &second, &err));
	close(second);
}

/* Takes the lock, and is killed; what it forked ends when that sees it, a moment later. */
static void be_killed_beside_a_child(void)
{
	const struct timespec moment = { .tv_nsec = 300 * 1000000 };
	int fd = -EBADF;
	struct error err;

	if (lock_take(test_path("c"), "agent", &fd, &err) < 0)
		_exit(1);
	if (fork() == 0) {
		nanosleep(&moment, NULL);
		_exit(0);
	}
	raise(SIGKILL);
}

TEST(what_a_dead_holder_forked_is_waited_for)
{
	int fd = -EBADF, status;
	struct error err;
	pid_t pid = fork();

	if (pid == 0)
		be_killed_beside_a_child();
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT(WIFSIGNALED(status));
	ASSERT_OK(lock_take(test_path("c"), "agent", &fd, &err));
	close(fd);
}

TEST(a_directory_is_held_by_one)
{
	int first = -EBADF, second = -EBADF;
	char wanted[300];
	struct error err;

	ASSERT_ERR(lock_take_dir(test_path("workdir"), "agent", &first, &err), -ENOENT);
	ASSERT_OK(mkdir(test_path("workdir"), 0700));
	ASSERT_OK(lock_take_dir(test_path("workdir"), "agent", &first, &err));
	ASSERT_ERR(lock_take_dir(test_path("workdir"), "agent", &second, &err), -EALREADY);
	snprintf(wanted, sizeof(wanted), "another agent uses '%s'", test_path("workdir"));
	ASSERT_STREQ(err.text, wanted);
	ASSERT_EQ(second, -EBADF);
	close(first);
	ASSERT_OK(lock_take_dir(test_path("workdir"), "agent", &second, &err));
	close(second);
}

TEST(a_file_that_is_left_over_is_no_lock)
{
	int fd = -EBADF;
	char text[32], wanted[32];
	struct error err;

	fd = open(test_path("b"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ASSERT_EQ(write(fd, "1234567890\n", 11), 11);
	close(fd);
	ASSERT_OK(lock_take(test_path("b"), "agent", &fd, &err));
	ASSERT(file_read_small(AT_FDCWD, test_path("b"), text, sizeof(text)) > 0);
	snprintf(wanted, sizeof(wanted), "%d\n", getpid());
	ASSERT_STREQ(text, wanted);
	close(fd);
}

TEST(a_link_and_what_is_no_plain_file_are_refused)
{
	int fd = -EBADF;
	struct error err;

	ASSERT_OK(symlink("/etc/passwd", test_path("link")));
	ASSERT_ERR(lock_take(test_path("link"), "agent", &fd, &err), -ELOOP);
	ASSERT_OK(mkfifo(test_path("pipe"), 0600));
	ASSERT_ERR(lock_take(test_path("pipe"), "agent", &fd, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "it is no plain file");
	ASSERT_ERR(lock_take("/nonexistent/agent.lock", "agent", &fd, &err), -ENOENT);
	ASSERT_EQ(fd, -EBADF);
}
