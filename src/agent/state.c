/* SPDX-License-Identifier: MIT */
#include "state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "error.h"
#include "file.h"
#include "macro.h"

struct state {
	int dir_fd;
	char *path;
	uid_t uid;
	struct state_counts counts;
	int failure, told_failure; /* negative errno of writing; 0: it works */
};

struct state *state_close(struct state *s)
{
	if (!s)
		return NULL;
	closep(&s->dir_fd);
	free(s->path);
	free(s);
	return NULL;
}

void state_closep(struct state **s)
{
	state_close(*s);
}

/* By descriptor, so that what is given away is what was looked at. */
static int take_over(struct state *s, gid_t gid, struct error *err)
{
	struct stat st;

	if (fstat(s->dir_fd, &st) < 0)
		return error_set_errno(err, errno, "cannot look at '%s'", s->path);
	if (st.st_uid != s->uid && st.st_uid != geteuid() && st.st_uid != 0)
		return error_set(err, -EPERM, "'%s' belongs to another user (UID %u)", s->path,
				 st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH) && fchmod(s->dir_fd, 0700) < 0)
		return error_set(err, -EPERM, "others may write to '%s'", s->path);
	if ((st.st_uid != s->uid || st.st_gid != gid) && fchown(s->dir_fd, s->uid, gid) < 0)
		return error_set_errno(err, errno, "cannot give '%s' to the user of the agent",
				       s->path);
	return 0;
}

int state_open(const char *path, uid_t uid, gid_t gid, struct state **ret, struct error *err)
{
	_cleanup_(state_closep) struct state *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_set_errno(err, ENOMEM, "cannot open '%s'", path);
	s->dir_fd = -EBADF;
	s->uid = uid;
	s->path = strdup(path);
	if (!s->path)
		return error_set_errno(err, ENOMEM, "cannot open '%s'", path);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_set_errno(err, errno, "cannot make '%s'", path);
	s->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->dir_fd < 0)
		return error_set_errno(err, errno, "cannot open '%s'", path);
	r = take_over(s, gid, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

/* ---- writing ---- */

static int write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		length -= (size_t)n;
	}
	return 0;
}

/* A replacement.h that neither follows links nor must wait for the disk. */
static int replace(const struct state *s, const char *name, const char *text, size_t length,
		   bool is_lasting)
{
	char temporary[STATE_NAME_SIZE + 8];
	_cleanup_close_ int fd = -EBADF;
	int r;

	snprintf(temporary, sizeof(temporary), ".%s.new", name);
	fd = openat(s->dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0 && errno == EEXIST &&
	    unlinkat(s->dir_fd, temporary, 0) == 0) /* from one that was killed */
		fd = openat(s->dir_fd, temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, text, length);
	if (r >= 0 && is_lasting && fsync(fd) < 0)
		r = -errno;
	if (close(TAKE_FD(fd)) < 0 &&
	    r >= 0) /* where a network's file system says that it is full */
		r = -errno;
	if (r >= 0 && renameat(s->dir_fd, temporary, s->dir_fd, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(s->dir_fd, temporary, 0);
	else if (is_lasting && fsync(s->dir_fd) < 0)
		r = -errno;
	return r;
}

static bool is_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) < STATE_NAME_SIZE;
}

static int note(struct state *s, int r, const char *what, const char *name, struct error *err)
{
	s->failure = r;
	if (r >= 0)
		return 0;
	s->counts.errors++;
	return error_set_errno(err, r, "cannot %s '%s/%s'", what, s->path, name);
}

int state_write(struct state *s, const char *name, const char *text, size_t length, bool is_lasting,
		struct error *err)
{
	int r = !is_name(name) ? -EINVAL : length > STATE_BYTES_MAX ? -EFBIG : 0;

	if (r < 0) { /* that is this file's fault, and no news of the disk */
		s->counts.errors++;
		return error_set_errno(err, r, "cannot write '%s/%s'", s->path, name);
	}
	return note(s, replace(s, name, text, length, is_lasting), "write", name, err);
}

int state_remove(struct state *s, const char *name, struct error *err)
{
	if (!is_name(name))
		return error_set(err, -EINVAL, "cannot remove '%s': it is no name", name);
	if (unlinkat(s->dir_fd, name, 0) == 0 || errno == ENOENT)
		return 0; /* that says nothing of writing */
	return note(s, -errno, "remove", name, err);
}

bool state_has_news(struct state *s, struct error *err)
{
	if (s->failure == s->told_failure)
		return false;
	s->told_failure = s->failure;
	if (s->failure)
		error_set_errno(err, s->failure, "the state of jobs cannot be written to '%s'",
				s->path);
	else
		error_set(err, 0, "the state of jobs is written to '%s' again", s->path);
	return true;
}

struct state_counts state_get_counts(const struct state *s)
{
	return s->counts;
}

/* ---- reading back ---- */

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), end_length = strlen(end);

	return length > end_length && strcmp(name + length - end_length, end) == 0;
}

/* What is no name of ours is cut, so that ".bad" fits. */
static void set_aside(struct state *s, const char *name, size_t *bad)
{
	char other[NAME_MAX + 1];

	s->counts.set_aside++;
	snprintf(other, sizeof(other), "%.240s.bad", name);
	if (*bad < STATE_BAD_MAX && renameat(s->dir_fd, name, s->dir_fd, other) == 0)
		(*bad)++;
	else if (unlinkat(s->dir_fd, name, 0) < 0 && errno == EISDIR)
		unlinkat(s->dir_fd, name, AT_REMOVEDIR);
}

static bool is_ours(const struct state *s, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	       (st.st_uid == s->uid || st.st_uid == 0) && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	       st.st_size > 0 && st.st_size <= (off_t)STATE_BYTES_MAX;
}

static int read_one(struct state *s, const char *name, state_visit visit, void *context,
		    size_t *bad)
{
	_cleanup_close_ int fd = -EBADF;
	_cleanup_free_ char *text = NULL;
	size_t length;
	int r = -EINVAL;

	if (ends_with(name, ".json"))
		fd = openat(s->dir_fd, name,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && is_ours(s, fd))
		r = file_read_fd(fd, STATE_BYTES_MAX, &text, &length);
	if (r >= 0)
		r = visit(context, name, text, length);
	else if (r != -ENOMEM) /* a disk that cannot be read makes a file that is not there */
		r = -EINVAL;
	if (r != -EINVAL && r != -EBADMSG)
		return r;
	set_aside(s, name, bad);
	return 0;
}

struct names {
	char **names;
	size_t count, bad;
};

static void names_clear(struct names *n)
{
	while (n->count)
		free(n->names[--n->count]);
	free(n->names);
}

static int names_add(struct names *n, const char *name)
{
	if ((n->count & (n->count - 1)) == 0) {
		char **larger = realloc(n->names, MAX(2 * n->count, (size_t)1) * sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		n->names = larger;
	}
	n->names[n->count] = strdup(name);
	if (!n->names[n->count])
		return -ENOMEM;
	n->count++;
	return 0;
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* All names first: they are renamed while they are gone through. */
static int list(const struct state *s, struct names *ret)
{
	int fd = openat(s->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closedirp) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (!dir) {
		closep(&fd);
		return -errno;
	}
	while (r >= 0 && (entry = readdir(dir)) && ret->count < STATE_FILES_MAX) {
		const char *name = entry->d_name;

		if (*name == '.' && ends_with(name, ".new"))
			unlinkat(s->dir_fd, name, 0);
		else if (ends_with(name, ".bad"))
			ret->bad++;
		else if (*name != '.')
			r = names_add(ret, name);
	}
	return r;
}

int state_read_all(struct state *s, state_visit visit, void *context, struct error *err)
{
	_cleanup_(names_clear) struct names names = {};
	int r = list(s, &names);

	for (size_t i = 0; i < names.count && r >= 0; i++)
		r = read_one(s, names.names[i], visit, context, &names.bad);
	return r < 0 ? error_set_errno(err, r, "cannot read the state in '%s'", s->path) : 0;
}
