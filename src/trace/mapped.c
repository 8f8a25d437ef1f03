/* SPDX-License-Identifier: MIT */
#include "trace/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"

#define DELETED " (deleted)"

struct mapping {
	unsigned long long start, end, device, inode;
	char *path;
};

/* "7f12-7f34 r-xp 00001000 fe:01 1234    /usr/lib/libz.so.1".  False: nothing to execute there. */
static bool parse_line(char *line, struct mapping *ret)
{
	char *rest;

	ret->start = strtoull(line, &rest, 16);
	if (*rest != '-')
		return false;
	ret->end = strtoull(rest + 1, &rest, 16);
	if (strnlen(rest, 6) < 6 || rest[3] != 'x')
		return false;
	(void)strtoull(rest + 6, &rest, 16);
	ret->device = strtoull(rest, &rest, 16) << 32;
	if (*rest != ':')
		return false;
	ret->device |= strtoull(rest + 1, &rest, 16);
	ret->inode = strtoull(rest, &rest, 10);
	ret->path = rest + strspn(rest, " ");
	return ret->inode && *ret->path == '/';
}

static void cut_ending(char *path, const char *ending)
{
	const size_t length = strlen(path), cut = strlen(ending);

	if (length > cut && strcmp(path + length - cut, ending) == 0)
		path[length - cut] = '\0';
}

static int visit_mapping(pid_t pid, const struct mapping *m, mapped_visitor visit, void *context)
{
	char name[96];
	struct stat file, program;
	struct mapped_file mapped = { .path = m->path };
	_cleanup_close_ int fd = -EBADF;

	snprintf(name, sizeof(name), "/proc/%d/map_files/%llx-%llx", pid, m->start, m->end);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &file) < 0 || !S_ISREG(file.st_mode))
		return 0;
	snprintf(name, sizeof(name), "/proc/%d/exe", pid);
	mapped.is_program = stat(name, &program) == 0 && program.st_dev == file.st_dev &&
			    program.st_ino == file.st_ino;
	mapped.fd = fd;
	cut_ending(m->path, DELETED);
	return visit(context, &mapped);
}

int mapped_visit(pid_t pid,
		 bool (*is_known)(void *context, unsigned long long device,
				  unsigned long long inode, const char *path),
		 mapped_visitor visit, void *context)
{
	_cleanup_fclose_ FILE *maps = NULL;
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	char name[64];
	int r = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	while (maps && r >= 0 && getline(&line, &room, maps) > 0) {
		struct mapping m;

		line[strcspn(line, "\n")] = '\0';
		if (parse_line(line, &m) &&
		    !(is_known && is_known(context, m.device, m.inode, m.path)))
			r = visit_mapping(pid, &m, visit, context);
	}
	return r < 0 ? r : 0;
}
