/* SPDX-License-Identifier: MIT */
#include "basic/replacement.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"

/* The file that @path leads to, if there is one; else @path. */
static char *follow(const char *path)
{
	char *target = realpath(path, NULL);

	return target ? target : strdup(path);
}

static bool is_irregular(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* "DIR/.NAME.XXXXXX" for "DIR/NAME". */
static char *temporary_for(const char *path)
{
	const char *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash + 1 - path) : 0;
	char *temporary;

	if (asprintf(&temporary, "%.*s.%s.XXXXXX", dir, path, path + dir) < 0)
		return NULL;
	return temporary;
}

static int open_temporary(struct replacement *r, unsigned int mode)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	r->temporary = temporary_for(r->path);
	if (!r->temporary)
		return -ENOMEM;
	fd = mkostemp(r->temporary, O_CLOEXEC);
	if (fd < 0) {
		int error = errno;

		free(r->temporary); /* nothing was made that would have to go */
		r->temporary = NULL;
		return -error;
	}
	r->stream = fdopen(fd, "w");
	if (!r->stream) {
		close(fd);
		return -ENOMEM;
	}
	return fchmod(fd, mode & ~mask) < 0 ? -errno : 0;
}

/* Whether the directory that holds @path takes a new file; @path is cut for that. */
static int check_dir(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return access(".", W_OK | X_OK) < 0 ? -errno : 0;
	slash[slash == path] = '\0'; /* the root keeps its slash */
	return access(path, W_OK | X_OK) < 0 ? -errno : 0;
}

static int check_target(char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOENT ? check_dir(path) : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (access(path, W_OK) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? check_dir(path) : 0;
}

int replacement_check(const char *path, struct error *err)
{
	_cleanup_free_ char *target = follow(path);
	struct replacement trial = { .path = follow(path) };
	int r = target && trial.path ? check_target(target) : -ENOMEM;

	/* Rights are one thing; whether the file system takes a new file is known only by trying.
	 */
	if (r >= 0 && !is_irregular(path))
		r = open_temporary(&trial, 0600);
	replacement_abandon(&trial);
	return r < 0 ? error_set_errno(err, r, "cannot write '%s'", path) : 0;
}

int replacement_open(const char *path, unsigned int mode, struct replacement *ret,
		     struct error *err)
{
	struct replacement r = {};
	_cleanup_free_ char *target = follow(path);
	int result = target ? check_target(target) : -ENOMEM;

	r.path = follow(path);
	if (result >= 0 && !r.path)
		result = -ENOMEM;
	if (result >= 0 && !is_irregular(r.path)) {
		result = open_temporary(&r, mode);
	} else if (result >= 0) {
		r.stream = fopen(r.path, "we");
		result = r.stream ? 0 : -errno;
	}
	if (result < 0) {
		replacement_abandon(&r);
		return error_set_errno(err, result, "cannot write '%s'", path);
	}
	*ret = r;
	return 0;
}

/* rename() would replace an existing file. Not every file system has links, and not every one a
 * rename that refuses. */
static int place_new(const char *temporary, const char *path)
{
	if (link(temporary, path) == 0)
		return unlink(temporary) < 0 ? -errno : 0;
	if (errno == EEXIST)
		return -EEXIST;
	return renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

static int finish(struct replacement *r)
{
	int result;

	if (fflush(r->stream) != 0 || ferror(r->stream))
		return errno ? -errno : -EIO;
	if (!r->temporary)
		return 0;
	if (fsync(fileno(r->stream)) < 0)
		return -errno;
	if (r->must_be_new)
		result = place_new(r->temporary, r->path);
	else
		result = rename(r->temporary, r->path) < 0 ? -errno : 0;
	if (result < 0)
		return result;
	free(r->temporary);
	r->temporary = NULL;
	return 0;
}

int replacement_commit(struct replacement *r, struct error *err)
{
	int result;

	errno = 0;
	result = finish(r);
	if (result < 0)
		error_set_errno(err, result, "cannot write '%s'", r->path);
	replacement_abandon(r);
	return result;
}

void replacement_abandon(struct replacement *r)
{
	if (r->stream)
		fclose(r->stream);
	if (r->temporary)
		unlink(r->temporary);
	free(r->temporary);
	free(r->path);
	*r = (struct replacement){};
}
