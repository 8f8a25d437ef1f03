/* SPDX-License-Identifier: MIT */
#include "node/state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/dir.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "node/notices.h"
#include "basic/parse.h"
#include "basic/text.h"

#define LAST_FORMAT ".%010" PRIu32 ".last" /* behind ".NAME": the kernel side's number */
#define LAST_LENGTH (sizeof(".0123456789.last") - 1)
_Static_assert(1 + STATE_NAME_SIZE + LAST_LENGTH <= NAME_MAX, "it is a name of a file");

struct state {
	int dir_fd;
	char *path;
	uid_t uid;
	struct state_counts counts;
	int failure, told_failure; /* negative errno of writing; 0: it works */
	struct notices bad; /* files that were set aside, and why */
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

int state_open(const char *path, uid_t uid, gid_t gid, struct state **ret, struct error *err)
{
	_cleanup_(state_closep) struct state *s = calloc(1, sizeof(*s));

	if (!s)
		return error_set_errno(err, ENOMEM, "cannot open '%s'", path);
	s->dir_fd = -EBADF;
	s->uid = uid;
	s->path = strdup(path);
	if (!s->path)
		return error_set_errno(err, ENOMEM, "cannot open '%s'", path);
	s->dir_fd = file_open_own_dir(path, S_IWGRP | S_IWOTH, uid, gid, err);
	if (s->dir_fd < 0)
		return s->dir_fd;
	if (faccessat(s->dir_fd, ".", W_OK, AT_EACCESS) < 0 && errno == EROFS)
		s->failure = -EROFS; /* said now, and not when the first job ends */
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

/* Like replacement.h, but follows no links and need not wait for the disk. @place: the final
 * name. */
static int replace(const struct state *s, const char *name, const char *place, const char *text,
		   size_t length, bool is_lasting)
{
	char temporary[STATE_NAME_SIZE + 8];
	_cleanup_close_ int fd = -EBADF;
	int r;

	snprintf(temporary, sizeof(temporary), ".%s.new", name);
	fd = openat(s->dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0 && errno == EEXIST && unlinkat(s->dir_fd, temporary, 0) == 0) /* from one that
										    was killed */
		fd = openat(s->dir_fd, temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, text, length);
	if (r >= 0 && is_lasting && fsync(fd) < 0)
		r = -errno;
	if (close(TAKE_FD(fd)) < 0 && r >= 0) /* where a network file system reports that it is full
					       */
		r = -errno;
	if (r >= 0 && renameat(s->dir_fd, temporary, s->dir_fd, place) < 0)
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

static int write_at(struct state *s, const char *name, const char *place, const char *text,
		    size_t length, bool is_lasting, struct error *err)
{
	int r = !is_name(name) ? -EINVAL : length > STATE_BYTES_MAX ? -EFBIG : 0;

	if (r < 0) { /* that is this file's fault, and no news of the disk */
		s->counts.errors++;
		return error_set_errno(err, r, "cannot write '%s/%s'", s->path, name);
	}
	return note(s, replace(s, name, place, text, length, is_lasting), "write", name, err);
}

int state_write(struct state *s, const char *name, const char *text, size_t length, bool is_lasting,
		struct error *err)
{
	return write_at(s, name, name, text, length, is_lasting, err);
}

int state_write_last(struct state *s, const char *name, uint32_t kernel_side, const char *text,
		     size_t length, struct error *err)
{
	char place[NAME_MAX + 1];

	snprintf(place, sizeof(place), ".%.*s" LAST_FORMAT, STATE_NAME_SIZE, name, kernel_side);
	return write_at(s, name, place, text, length, false, err);
}

int state_remove(struct state *s, const char *name, struct error *err)
{
	if (!is_name(name))
		return error_set(err, -EINVAL, "cannot remove '%s': it is no name", name);
	if (unlinkat(s->dir_fd, name, 0) == 0 || errno == ENOENT)
		return 0; /* this is no news of writing */
	return note(s, -errno, "remove", name, err);
}

int state_failure(const struct state *s)
{
	return s->failure;
}

bool state_has_news(struct state *s, struct error *err)
{
	if (notices_get(&s->bad, UINT64_MAX, err))
		return true;
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

static void set_aside(struct state *s, const char *name, const struct error *why, size_t *bad)
{
	char other[NAME_MAX + 1];
	struct error line;
	bool is_kept;

	snprintf(other, sizeof(other), "%.240s.bad", name); /* a name that is not ours is cut */
	is_kept = *bad < STATE_BAD_MAX && renameat(s->dir_fd, name, s->dir_fd, other) == 0;
	*bad += is_kept;
	if (!is_kept && unlinkat(s->dir_fd, name, 0) < 0 && errno == EISDIR)
		unlinkat(s->dir_fd, name, AT_REMOVEDIR);
	s->counts.set_aside++;
	error_set(&line, 0, "'%.160s/%.240s' was rejected, and %s: %s", s->path, name,
		  is_kept ? "is kept as .bad" : "removed", why->text);
	notices_add(&s->bad, 0, &line);
}

static int check_file(const struct state *s, int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "cannot read it");
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "it is no plain file");
	if (st.st_nlink != 1)
		return error_set(err, -EINVAL, "it is linked elsewhere, too");
	if (st.st_uid != s->uid && st.st_uid != 0)
		return error_set(err, -EINVAL, "it belongs to another user (UID %u)", st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return error_set(err, -EINVAL, "others may write to it");
	if (st.st_size <= 0)
		return error_set(err, -EINVAL, "it is empty");
	if (st.st_size > (off_t)STATE_BYTES_MAX)
		return error_set(err, -EINVAL, "it has more than %u MiB", STATE_BYTES_MAX >> 20);
	return 0;
}

/* A disk that cannot be read makes a file that is not there. */
static int read_file(const struct state *s, const char *name, char **ret, size_t *ret_length,
		     struct error *err)
{
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (!text_ends_with(name, STATE_OF_JSON) && !text_ends_with(name, STATE_OF_BYTES))
		return error_set(err, -EINVAL, "it has no name of a state");
	fd = openat(s->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ELOOP)
		return error_set(err, -EINVAL, "it is a link");
	if (fd < 0)
		return error_set_errno(err, errno, "cannot open it");
	r = check_file(s, fd, err);
	if (r < 0)
		return r;
	r = file_read_fd(fd, STATE_BYTES_MAX, ret, ret_length);
	return r < 0 ? error_set_errno(err, r, "cannot read it") : 0;
}

static int read_one(struct state *s, const char *name, state_visit visit, void *context,
		    size_t *bad)
{
	_cleanup_free_ char *text = NULL;
	struct error why = {};
	size_t length = 0;
	int r = read_file(s, name, &text, &length, &why);

	if (r >= 0)
		r = visit(context, name, text, length, &why);
	else if (r != -ENOMEM)
		r = -EINVAL;
	if (r != -EINVAL && r != -EBADMSG)
		return r;
	set_aside(s, name, &why, bad);
	return 0;
}

struct names {
	char **names;
	size_t count, room, bad;
};

static void names_clear(struct names *n)
{
	while (n->count)
		free(n->names[--n->count]);
	free(n->names);
}

static int names_add(struct names *n, const char *name)
{
	if (array_reserve(&n->names, &n->room, n->count, sizeof(*n->names)) < 0)
		return -ENOMEM;
	n->names[n->count] = strdup(name);
	return n->names[n->count] ? (n->count++, 0) : -ENOMEM;
}

static int list_last(struct state *s UNUSED, struct names *to, const char *name)
{
	return *name == '.' && text_ends_with(name, ".last") ? names_add(to, name) : 0;
}

static int list_whole(struct state *s, struct names *to, const char *name)
{
	if (*name == '.' && text_ends_with(name, ".new"))
		unlinkat(s->dir_fd, name, 0);
	else if (text_ends_with(name, ".bad"))
		to->bad++;
	else if (*name != '.')
		return names_add(to, name);
	return 0;
}

/* All names first: they are renamed while they are gone through. */
static int list(struct state *s, int (*add)(struct state *s, struct names *to, const char *name),
		struct names *ret)
{
	_cleanup_(dir_closep) DIR *dir = dir_open(s->dir_fd, ".");
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while (r >= 0 && (entry = readdir(dir)) && ret->count < STATE_FILES_MAX)
		r = add(s, ret, entry->d_name);
	return r;
}

/* ".NAME.0123456789.last" */
static int parse_last(const char *file, char name[STATE_NAME_SIZE], uint32_t *ret_kernel_side)
{
	size_t length = strlen(file) - 1;
	char digits[11];
	uint64_t number;

	if (length <= LAST_LENGTH || length - LAST_LENGTH >= STATE_NAME_SIZE)
		return -EINVAL;
	length -= LAST_LENGTH;
	snprintf(name, STATE_NAME_SIZE, "%.*s", (int)length, file + 1);
	snprintf(digits, sizeof(digits), "%.10s", file + 1 + length + 1);
	if (file[1 + length] != '.' || !is_name(name) || parse_u64(digits, &number) < 0 ||
	    number > UINT32_MAX)
		return -EINVAL;
	*ret_kernel_side = (uint32_t)number;
	return 0;
}

static int settle_one(struct state *s, const char *file,
		      bool (*is_there)(void *context, uint32_t kernel_side), void *context,
		      struct error *err)
{
	char name[STATE_NAME_SIZE];
	uint32_t kernel_side;
	int r;

	if (parse_last(file, name, &kernel_side) < 0) {
		unlinkat(s->dir_fd, file, 0); /* it is none of ours */
		return 0;
	}
	if (is_there(context, kernel_side))
		r = unlinkat(s->dir_fd, file, 0);
	else
		r = renameat(s->dir_fd, file, s->dir_fd, name);
	return r < 0 ? note(s, -errno, "settle", file, err) : 0;
}

int state_settle(struct state *s, bool (*is_there)(void *context, uint32_t kernel_side),
		 void *context, struct error *err)
{
	_cleanup_(names_clear) struct names names = {};
	int r = list(s, list_last, &names);

	if (r < 0)
		return error_set_errno(err, r, "cannot read the state in '%s'", s->path);
	for (size_t i = 0; i < names.count && r >= 0; i++)
		r = settle_one(s, names.names[i], is_there, context, err);
	return r;
}

int state_read_all(struct state *s, state_visit visit, void *context, struct error *err)
{
	_cleanup_(names_clear) struct names names = {};
	int r = list(s, list_whole, &names);

	for (size_t i = 0; i < names.count && r >= 0; i++)
		r = read_one(s, names.names[i], visit, context, &names.bad);
	return r < 0 ? error_set_errno(err, r, "cannot read the state in '%s'", s->path) : 0;
}
