/* SPDX-License-Identifier: MIT */
/* file - whole files below a directory fd: read with a bound, written so that none is ever half
 * there. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

/* Read all of @path (relative to @dir_fd) into a new NUL-ended string, that the caller frees.
 * -EFBIG: larger than @max_bytes.  Bytes behind a NUL inside the file are kept; *ret_length
 * (may be NULL) counts them. */
int file_read(int dir_fd, const char *path, size_t max_bytes, char **ret, size_t *ret_length);
/* The same from the offset of @fd, which stays the caller's. */
int file_read_fd(int fd, size_t max_bytes, char **ret, size_t *ret_length);

/* Read a file of at most @size - 1 bytes into @buffer, NUL-ended, without allocating.
 * Returns the length, or -Exxx; -EFBIG: it does not fit.  Then @buffer is "". */
int file_read_small(int dir_fd, const char *path, char *buffer, size_t size);

/* The same up to the first newline. */
int file_read_one_line(int dir_fd, const char *path, char *buffer, size_t size);

/* The one number that the file holds.  "max" is -ENODATA (no limit). */
int file_read_u64(int dir_fd, const char *path, uint64_t *ret);

/* Write @text in one write() to an existing file, as cgroup files want it. */
int file_write_existing(int dir_fd, const char *path, const char *text);

/* Make the directory @path and those above it, with @mode; there already is fine. */
int file_make_dirs(const char *path, unsigned int mode);

/* The path of a file of the user's own settings: $XDG_CONFIG_HOME/jobmeter/@name, or that below the
 * home; the caller frees.  NULL: there is no such place, or no memory. */
char *file_find_config(const char *name);

/* A descriptor of the directory @path, which is made where there is none: @uid's, with none of the
 * rights @barred (S_IWOTH...), while we may still give it away.  -EPERM: another user owns it, or
 * has those rights. */
int file_open_own_dir(const char *path, unsigned int barred, uid_t uid, gid_t gid,
		      struct error *err);
