/* SPDX-License-Identifier: MIT */
#include "agent/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/parse.h"

#define STEP_MS 20
#define DEAD_MS                                                                               \
	5000 /* what a holder that was killed has forked ends when it sees that, and holds it \
		until then... */
#define UNKNOWN_MS 200 /* ...as it does here, where the holder is not known */

/* 0: not known. */
static pid_t holder_of(int fd)
{
	char text[16] = "";
	int pid;

	if (pread(fd, text, sizeof(text) - 1, 0) > 0)
		text[strcspn(text, "\n")] = '\0';
	return parse_int(text, 1, INT32_MAX, &pid) < 0 ? 0 : pid;
}

static bool is_dead(pid_t pid)
{
	return pid && kill(pid, 0) < 0 && errno == ESRCH;
}

/* -EWOULDBLOCK: another has it, and goes on. */
static int hold(int fd, bool has_holder)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };

	for (int waited_ms = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited_ms += STEP_MS) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (waited_ms >= (has_holder ? DEAD_MS : UNKNOWN_MS) ||
		    (has_holder && !is_dead(holder_of(fd))))
			return -EWOULDBLOCK;
		nanosleep(&step, NULL);
	}
	return 0;
}

static int refuse(int fd, const char *path, const char *what, struct error *err)
{
	pid_t pid = holder_of(fd);

	if (!pid)
		return error_set(err, -EALREADY, "another %s runs (it holds '%s')", what, path);
	return error_set(err, -EALREADY, "another %s runs (PID %d)", what, pid);
}

int lock_take(const char *path, const char *what, int *ret, struct error *err)
{
	_cleanup_close_ int fd =
		open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0644);
	struct stat st;
	char text[16];
	int length, r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "cannot lock '%s'", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "cannot lock '%s': it is no plain file", path);
	r = hold(fd, true);
	if (r < 0)
		return r == -EWOULDBLOCK ? refuse(fd, path, what, err)
					 : error_set_errno(err, r, "cannot lock '%s'", path);
	length = snprintf(text, sizeof(text), "%d\n", getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)length, 0) != length)
		(void)ftruncate(fd, 0); /* a full disk: it is held all the same, without a name */
	*ret = TAKE_FD(fd);
	return 0;
}

int lock_take_dir(const char *path, const char *what, int *ret, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	int r;

	if (fd < 0)
		return error_set_errno(err, errno, "cannot lock '%s'", path);
	r = hold(fd, false);
	if (r == -EWOULDBLOCK)
		return error_set(err, -EALREADY, "another %s uses '%s'", what, path);
	if (r < 0)
		return error_set_errno(err, r, "cannot lock '%s'", path);
	*ret = TAKE_FD(fd);
	return 0;
}
