/* SPDX-License-Identifier: MIT */
#include "service/token.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"

static int make_random(char ret[TOKEN_SIZE])
{
	uint64_t r[4];

	if (getrandom(r, sizeof(r), 0) < 0) /* so few bytes come whole */
		return -errno;
	snprintf(ret, TOKEN_SIZE, "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64, r[0],
		 r[1], r[2], r[3]);
	return 0;
}

/* Nobody but us can open it before it has its group and mode. */
static int fill(int fd, gid_t gid, const char *token)
{
	errno = EIO;
	if (fchown(fd, (uid_t)-1, gid) < 0 || fchmod(fd, 0640) < 0 ||
	    dprintf(fd, "%s\n", token) < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

/* It appears when it is whole.  Without @replaces a token made by another process meanwhile is
 * kept. */
static int make(const char *path, gid_t gid, const char *token, bool replaces)
{
	_cleanup_free_ char *temporary = NULL;
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fill(fd, gid, token);
	if (r >= 0 && (replaces ? rename(temporary, path) : link(temporary, path)) < 0 &&
	    errno != EEXIST)
		r = -errno;
	unlink(temporary);
	return r;
}

static int check(int fd, const char *path, bool is_anybodys, struct error *err)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "cannot read the token '%s'", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "the token '%s' is no plain file", path);
	if (!is_anybodys && st.st_uid != 0 && st.st_uid != geteuid())
		return error_set(err, -EPERM, "the token '%s' belongs to another user (UID %u)",
				 path, st.st_uid);
	if (st.st_mode & 027)
		return error_set(
			err, -EPERM,
			"the token '%s' has mode %04o: others can read or write it (chmod 0640)",
			path, st.st_mode & 07777);
	return 0;
}

/* What a header can carry, without blanks. */
static int take(char *text, const char *path, char ret[TOKEN_SIZE], struct error *err)
{
	size_t length = strcspn(text, "\n");

	if (text[length] == '\n' && text[length + 1])
		return error_set(err, -EINVAL, "the token '%s' has more than one line", path);
	text[length] = '\0';
	if (length < TOKEN_MIN)
		return error_set(err, -EINVAL,
				 "the token '%s' has %zu letters; it must have %d at least", path,
				 length, TOKEN_MIN);
	for (const char *p = text; *p; p++) {
		if (*p <= ' ' || *p >= 127)
			return error_set(err, -EINVAL,
					 "the token '%s' has other than plain letters", path);
	}
	memcpy(ret, text, length + 1);
	return 0;
}

static int read_token(const char *path, bool is_anybodys, char ret[TOKEN_SIZE], struct error *err)
{
	_cleanup_close_ int fd = -EBADF;
	_cleanup_free_ char *text = NULL;
	size_t length;
	int r;

	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	r = check(fd, path, is_anybodys, err);
	if (r < 0)
		return r;
	r = file_read_fd(fd, TOKEN_SIZE - 1, &text, &length);
	if (r == -EFBIG)
		return error_set(err, -EINVAL, "the token '%s' is longer than %d letters", path,
				 TOKEN_SIZE - 2);
	if (r < 0)
		return error_set_errno(err, r, "cannot read the token '%s'", path);
	if (strlen(text) != length)
		return error_set(err, -EINVAL, "the token '%s' has other than plain letters", path);
	return take(text, path, ret, err);
}

int token_get(const char *path, gid_t gid, char ret[TOKEN_SIZE], struct error *err)
{
	char token[TOKEN_SIZE];
	int r = 0;

	if (access(path, F_OK) < 0 && errno == ENOENT) {
		r = make_random(token);
		if (r >= 0)
			r = make(path, gid, token, false);
		explicit_bzero(token, sizeof(token));
	}
	if (r < 0)
		return error_set_errno(err, r, "cannot make the token '%s'", path);
	return read_token(path, false, ret, err);
}

int token_read(const char *path, char ret[TOKEN_SIZE], struct error *err)
{
	return read_token(path, true, ret, err);
}

int token_install(const char *from, const char *path, gid_t gid, struct error *err)
{
	_cleanup_free_ char *dir = strndup(path, (size_t)(strrchr(path, '/') - path));
	char token[TOKEN_SIZE], before[TOKEN_SIZE];
	struct stat st;
	int r = read_token(from, false, token, err);

	if (r < 0)
		return r;
	/* the same once more is fine, but with another group or mode it is made anew */
	if (read_token(path, false, before, NULL) == 0 && strcmp(before, token) == 0 &&
	    stat(path, &st) == 0 && st.st_gid == gid && (st.st_mode & 07777) == 0640)
		return 0;
	r = dir && *dir ? file_make_dirs(dir, 0755) : 0;
	if (r >= 0)
		r = make(path, gid, token, true);
	explicit_bzero(token, sizeof(token));
	explicit_bzero(before, sizeof(before));
	return r < 0 ? error_set_errno(err, r, "cannot write the token '%s'", path) : 1;
}
