/* SPDX-License-Identifier: MIT */
/* directory - the names in a directory below a directory fd, in order and with a bound. */
#pragma once

#include <dirent.h>
#include <stddef.h>

struct dir {
	char **names; /* owned; sorted, with "hwmon2" before "hwmon10"; without dot files
		       */
	size_t count;
};

/* -E2BIG: more than @max names.  *ret is written on success only. */
int dir_read(int dir_fd, const char *path, size_t max, struct dir *ret);
void dir_clear(struct dir *f);

/* The directory itself, to be walked; NULL: see errno. */
DIR *dir_open(int dir_fd, const char *path);
void dir_closep(DIR **dir);
