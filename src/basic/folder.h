/* SPDX-License-Identifier: MIT */
/* folder - the names in a folder below a directory fd, in order and with a bound. */
#pragma once

#include <stddef.h>

struct folder {
	char **names; /* owned; sorted so that "hwmon2" stands before "hwmon10"; without dot files */
	size_t count;
};

/* -E2BIG: more than @max names.  *ret is written on success only. */
int folder_read(int dir_fd, const char *path, size_t max, struct folder *ret);
void folder_clear(struct folder *f);
