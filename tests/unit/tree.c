/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "test.h"

int tree_open(const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", test_dir(), name);
	ASSERT_OK(mkdir(path, 0700));
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ASSERT(fd >= 0);
	return fd;
}

static void make_dirs(int root_fd, const char *path)
{
	_cleanup_free_ char *partial = strdup(path);

	for (char *p = strchr(partial, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		ASSERT(mkdirat(root_fd, partial, 0700) == 0 || errno == EEXIST);
		*p = '/';
	}
}

void tree_write(int root_fd, const char *path, const char *text)
{
	_cleanup_close_ int fd = -EBADF;

	make_dirs(root_fd, path);
	fd = openat(root_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ASSERT_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

void tree_link(int root_fd, const char *path, const char *target)
{
	make_dirs(root_fd, path);
	ASSERT_OK(symlinkat(target, root_fd, path));
}
