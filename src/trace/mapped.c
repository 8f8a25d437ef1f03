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
#include "basic/dir.h"
#include "basic/macro.h"
#include "basic/parse.h"

#define THREADS_MAX 65536
#define DELETED " (deleted)"

struct mapping {
	unsigned long long start, end, offset, device, inode;
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
	ret->offset = strtoull(rest + 6, &rest, 16);
	ret->device = strtoull(rest, &rest, 16) << 32;
	if (*rest != ':')
		return false;
	ret->device |= strtoull(rest + 1, &rest, 16);
	ret->inode = strtoull(rest, &rest, 10);
	ret->path = rest + strspn(rest, " ");
	return ret->inode && *ret->path == '/';
}

/* By the mapping; if the main thread has ended by its path, as another thread sees it. */
static int open_mapping(pid_t pid, pid_t tid, const struct mapping *m, struct stat *ret)
{
	_cleanup_close_ int fd = -EBADF;
	_cleanup_free_ char *name = NULL;

	if ((pid == tid ? asprintf(&name, "/proc/%d/map_files/%llx-%llx", pid, m->start, m->end)
			: asprintf(&name, "/proc/%d/task/%d/root%s", pid, tid, m->path)) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode) ||
	    (pid != tid && ret->st_ino != m->inode))
		return -ENOENT;
	return TAKE_FD(fd);
}

static int visit_mapping(pid_t pid, pid_t tid, const struct mapping *m, mapped_visitor visit,
			 void *context)
{
	const size_t length = strlen(m->path);
	char name[96], *end = m->path + length - MIN(length, sizeof(DELETED) - 1);
	struct stat file, program;
	struct mapped_file mapped = {
		.path = m->path, .start = m->start, .end = m->end, .offset = m->offset
	};
	_cleanup_close_ int fd = open_mapping(pid, tid, m, &file);

	if (fd < 0)
		return 0;
	snprintf(name, sizeof(name), "/proc/%d/task/%d/exe", pid, tid);
	mapped.is_program = stat(name, &program) == 0 && program.st_dev == file.st_dev &&
			    program.st_ino == file.st_ino;
	mapped.fd = fd;
	if (length > sizeof(DELETED) - 1 && strcmp(end, DELETED) == 0)
		*end = '\0';
	return visit(context, &mapped);
}

/* NULL: there are none. */
static FILE *open_maps_of(pid_t pid, pid_t tid)
{
	char name[64];
	FILE *maps;
	int first;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/maps", pid, tid);
	maps = fopen(name, "re");
	first = maps ? fgetc(maps) : EOF;
	if (first != EOF) {
		ungetc(first, maps);
		return maps;
	}
	if (maps)
		fclose(maps);
	return NULL;
}

/* The mappings of a process, of which the main thread may have ended: other threads have them. */
static FILE *open_maps(pid_t pid, pid_t *ret_tid)
{
	_cleanup_(dir_clear) struct dir threads = {};
	FILE *maps = open_maps_of(pid, pid);
	char name[64];

	*ret_tid = pid;
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	if (maps || dir_read(AT_FDCWD, name, THREADS_MAX, &threads) < 0)
		return maps;
	for (size_t i = 0; i < threads.count && !maps; i++) {
		if (parse_int(threads.names[i], 1, INT32_MAX, ret_tid) == 0)
			maps = open_maps_of(pid, *ret_tid);
	}
	return maps;
}

int mapped_visit(pid_t pid,
		 bool (*is_known)(void *context, unsigned long long device,
				  unsigned long long inode, const char *path),
		 mapped_visitor visit, void *context)
{
	_cleanup_fclose_ FILE *maps = NULL;
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	pid_t tid = pid;
	int r = 0;

	maps = open_maps(pid, &tid);
	while (maps && r >= 0 && getline(&line, &room, maps) > 0) {
		struct mapping m;

		line[strcspn(line, "\n")] = '\0';
		if (parse_line(line, &m) &&
		    !(is_known && is_known(context, m.device, m.inode, m.path)))
			r = visit_mapping(pid, tid, &m, visit, context);
	}
	return r < 0 ? r : 0;
}
