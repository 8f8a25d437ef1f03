/* SPDX-License-Identifier: MIT */
#include "basic/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"

/* Fill @buffer up to @size; returns the bytes read, fewer only at the end of the file. */
static ssize_t read_full(int fd, char *buffer, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t n = read(fd, buffer + used, size - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

int file_read_fd(int fd, size_t max_bytes, char **ret, size_t *ret_length)
{
	_cleanup_free_ char *text = NULL;
	size_t used = 0, size = 0;

	for (;;) {
		ssize_t n;
		char *larger;

		if (used > max_bytes)
			return -EFBIG;
		size = MIN(MAX(size * 2, (size_t)4096), max_bytes + 1);
		larger = realloc(text, size + 1);
		if (!larger)
			return -ENOMEM;
		text = larger;
		n = read_full(fd, text + used, size - used);
		if (n < 0)
			return (int)n;
		used += (size_t)n;
		if (used < size)
			break;
	}
	text[used] = '\0';
	if (ret_length)
		*ret_length = used;
	*ret = TAKE_PTR(text);
	return 0;
}

int file_read(int dir_fd, const char *path, size_t max_bytes, char **ret, size_t *ret_length)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return file_read_fd(fd, max_bytes, ret, ret_length);
}

int file_read_small(int dir_fd, const char *path, char *buffer, size_t size)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = fd < 0 ? -errno : read_full(fd, buffer, size);

	if (n >= 0 && (size_t)n >= size)
		n = -EFBIG;
	buffer[MAX(n, 0)] = '\0';
	return (int)n;
}

int file_read_one_line(int dir_fd, const char *path, char *buffer, size_t size)
{
	int r = file_read_small(dir_fd, path, buffer, size);

	buffer[strcspn(buffer, "\n")] = '\0';
	return r;
}

int file_read_u64(int dir_fd, const char *path, uint64_t *ret)
{
	char text[64];
	int r = file_read_one_line(dir_fd, path, text, sizeof(text));

	if (r < 0)
		return r;
	if (strcmp(text, "max") == 0)
		return -ENODATA;
	return parse_u64(text, ret);
}

int file_write_existing(int dir_fd, const char *path, const char *text)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	if (n < 0)
		return -errno;
	return (size_t)n == strlen(text) ? 0 : -EIO;
}

int file_make_dirs(const char *path, unsigned int mode)
{
	_cleanup_free_ char *partial = strdup(path);

	if (!partial)
		return -ENOMEM;
	for (char *p = partial + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(partial, mode) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	if (mkdir(partial, mode) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

/* By descriptor, so that what is checked is what is given away. */
int file_open_own_dir(const char *path, unsigned int barred, uid_t uid, gid_t gid,
		      struct error *err)
{
	_cleanup_close_ int fd = -EBADF;
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_set_errno(err, errno, "cannot make '%s'", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "cannot open '%s'", path);
	if (st.st_uid != uid && st.st_uid != geteuid() && st.st_uid != 0)
		return error_set(err, -EPERM, "'%s' belongs to another user (UID %u)", path,
				 st.st_uid);
	if (st.st_mode & barred && fchmod(fd, 0700) < 0)
		return error_set(err, -EPERM, "others may write to '%s'", path);
	if ((st.st_uid != uid || st.st_gid != gid) && fchown(fd, uid, gid) < 0)
		return error_set_errno(err, errno, "cannot give '%s' to the user of the agent",
				       path);
	return TAKE_FD(fd);
}

char *file_find_config(const char *name)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int r = -1;

	if (config && *config == '/') /* a relative one is to be ignored */
		r = asprintf(&path, "%s/jobmeter/%s", config, name);
	else if (home && *home == '/')
		r = asprintf(&path, "%s/.config/jobmeter/%s", home, name);
	return r < 0 ? NULL : path;
}
