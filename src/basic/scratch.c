/* SPDX-License-Identifier: MIT */
#include "basic/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"

#define LETTERS "XXXXXX"
#define ANY "??????"
#define LEVELS 8
#define TRIES 10

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st, (void)type, (void)walk;
	return remove(path);
}

static void remove_all(const char *path)
{
	(void)nftw(path, remove_one, LEVELS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* -EBADF: it is not ours, or it is locked. */
static int hold(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
	    flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -EBADF;
	return TAKE_FD(fd);
}

static void sweep(const char *prefix)
{
	char pattern[64];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s" ANY, prefix);
	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		_cleanup_close_ int fd = hold(found.gl_pathv[i]);

		if (fd >= 0)
			remove_all(found.gl_pathv[i]);
	}
	globfree(&found);
}

int scratch_make(const char *prefix, struct scratch *ret)
{
	struct scratch s = SCRATCH_NONE;
	struct stat held, named;

	sweep(prefix);
	for (int tries = 0; tries < TRIES; tries++) {
		if ((size_t)snprintf(s.path, sizeof(s.path), "%s" LETTERS, prefix) >=
		    sizeof(s.path))
			return -ENAMETOOLONG;
		if (!mkdtemp(s.path))
			return -errno;
		s.fd = hold(s.path);
		/* another's sweep may have been faster than our lock */
		if (s.fd >= 0 && fstat(s.fd, &held) == 0 && stat(s.path, &named) == 0 &&
		    held.st_ino == named.st_ino) {
			*ret = s;
			return 0;
		}
		closep(&s.fd);
		(void)rmdir(s.path);
	}
	return -EBUSY;
}

void scratch_remove(struct scratch *s)
{
	if (*s->path)
		remove_all(s->path);
	closep(&s->fd);
	*s = SCRATCH_NONE;
}
