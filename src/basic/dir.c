/* SPDX-License-Identifier: MIT */
#include "basic/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/array.h"
#include "basic/cleanup.h"

static int compare_names(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

DIR *dir_open(int dir_fd, const char *path)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		(void)TAKE_FD(fd);
	return dir;
}

void dir_closep(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int add_name(struct dir *f, size_t *room, const char *name)
{
	if (array_reserve(&f->names, room, f->count, sizeof(*f->names)) < 0)
		return -ENOMEM;
	f->names[f->count] = strdup(name);
	if (!f->names[f->count])
		return -ENOMEM;
	f->count++;
	return 0;
}

int dir_read(int dir_fd, const char *path, size_t max, struct dir *ret)
{
	_cleanup_(dir_clear) struct dir f = {};
	struct dirent *entry;
	size_t room = 0;
	_cleanup_(dir_closep) DIR *dir = dir_open(dir_fd, path);
	int r = 0;

	if (!dir)
		return -errno;
	while (r >= 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		r = f.count < max ? add_name(&f, &room, entry->d_name) : -E2BIG;
	}
	if (r < 0)
		return r;
	if (f.count)
		qsort(f.names, f.count, sizeof(*f.names), compare_names);
	*ret = f;
	f = (struct dir){};
	return 0;
}

void dir_clear(struct dir *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->names[i]);
	free(f->names);
	*f = (struct dir){};
}
