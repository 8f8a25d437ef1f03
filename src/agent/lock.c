/* SPDX-License-Identifier: MIT */
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "error.h"
#include "parse.h"

static int refuse(int fd, const char *path, const char *what, struct error *err)
{
	char text[16] = "";
	int pid;

	if (pread(fd, text, sizeof(text) - 1, 0) > 0)
		text[strcspn(text, "\n")] = '\0';
	if (parse_int(text, 1, INT32_MAX, &pid) < 0)
		return error_set(err, -EALREADY, "another %s runs (it holds '%s')", what, path);
	return error_set(err, -EALREADY, "another %s runs (PID %d)", what, pid);
}

int lock_take(const char *path, const char *what, int *ret, struct error *err)
{
	_cleanup_close_ int fd =
		open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0644);
	struct stat st;
	char text[16];
	int length;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "cannot lock '%s'", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "cannot lock '%s': it is no plain file", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return refuse(fd, path, what, err);
		return error_set_errno(err, errno, "cannot lock '%s'", path);
	}
	length = snprintf(text, sizeof(text), "%d\n", getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)length, 0) != length)
		(void)ftruncate(fd, 0); /* a full disk: it is held all the same, without a name */
	*ret = TAKE_FD(fd);
	return 0;
}

int lock_take_folder(const char *path, const char *what, int *ret, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return error_set_errno(err, errno, "cannot lock '%s'", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return error_set(err, -EALREADY, "another %s uses '%s'", what, path);
		return error_set_errno(err, errno, "cannot lock '%s'", path);
	}
	*ret = TAKE_FD(fd);
	return 0;
}
