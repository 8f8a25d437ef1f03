/* SPDX-License-Identifier: MIT */
#include "trace/libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/dir.h"
#include "basic/file.h"
#include "trace/image.h"

#define FILES_MAX 65536 /* of one directory */
#define WORDS_MAX 64 /* of a command */
#define MAGIC "glibc-ld.so.cache1.1"

/* As glibc's sysdeps/generic/dl-cache.h has them. */
struct cache_header {
	char magic[20];
	uint32_t count, strings_bytes, rest[5];
};

struct cache_entry {
	int32_t flags;
	uint32_t name, path; /* from the header on */
	uint32_t os_version;
	uint64_t capabilities;
};

static int visit_path(const char *path, library_visitor visit, void *context)
{
	char real[PATH_MAX];

	return visit(context, realpath(path, real) ? real : path, false);
}

int libraries_visit_cache(const char *cache, size_t size, library_visitor visit, void *context)
{
	/* An older table may stand before it. */
	const char *begin = size ? memmem(cache, size, MAGIC, strlen(MAGIC)) : NULL;
	struct cache_header header;
	size_t room;
	int r = 0;

	if (!begin || (room = size - (size_t)(begin - cache)) < sizeof(header))
		return 0;
	memcpy(&header, begin, sizeof(header));
	for (size_t i = 0; i < header.count && r >= 0; i++) {
		const size_t at = sizeof(header) + i * sizeof(struct cache_entry);
		struct cache_entry entry;

		if (at + sizeof(entry) > room)
			break;
		memcpy(&entry, begin + at, sizeof(entry));
		if (entry.path < room && memchr(begin + entry.path, '\0', room - entry.path))
			r = visit_path(begin + entry.path, visit, context);
	}
	return r < 0 ? r : 0;
}

static int visit_directory(const char *directory, library_visitor visit, void *context)
{
	_cleanup_(dir_clear) struct dir files = {};
	int r = 0;

	if (dir_read(AT_FDCWD, directory, FILES_MAX, &files) < 0)
		return 0;
	for (size_t i = 0; i < files.count && r >= 0; i++) {
		char path[PATH_MAX];

		if (strstr(files.names[i], ".so") &&
		    snprintf(path, sizeof(path), "%s/%s", directory, files.names[i]) <
			    (int)sizeof(path))
			r = visit_path(path, visit, context);
	}
	return r < 0 ? r : 0;
}

/* A list with colons; "$ORIGIN" at the beginning is the directory of @program. */
static int visit_directories(const char *list, const char *program, library_visitor visit,
			     void *context)
{
	const size_t above = (size_t)(strrchr(program, '/') - program);
	int r = 0;

	while (list && *list && r >= 0) {
		const size_t length = strcspn(list, ":");
		char path[PATH_MAX];
		size_t skipped = 0;

		if (strncmp(list, "$ORIGIN", 7) == 0)
			skipped = 7;
		else if (strncmp(list, "${ORIGIN}", 9) == 0)
			skipped = 9;
		if (length >= skipped &&
		    snprintf(path, sizeof(path), "%.*s%.*s", skipped ? (int)above : 0, program,
			     (int)(length - skipped), list + skipped) < (int)sizeof(path))
			r = visit_directory(path, visit, context);
		list += length;
		list += *list == ':';
	}
	return r;
}

/* As execvp() does it, links followed. */
static bool find_program(const char *command, char *ret)
{
	const char *list = getenv("PATH");

	if (strchr(command, '/'))
		return realpath(command, ret);
	while (list && *list) {
		const size_t length = strcspn(list, ":");
		char path[PATH_MAX];

		if (snprintf(path, sizeof(path), "%.*s/%s", (int)length, list, command) <
			    (int)sizeof(path) &&
		    access(path, X_OK) == 0)
			return realpath(path, ret);
		list += length;
		list += *list == ':';
	}
	return false;
}

/* A word may name anything: nothing but an executable file is opened. */
static bool is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* It, and what is in its run path. */
static int visit_program(const char *program, library_visitor visit, void *context)
{
	_cleanup_(image_freep) struct image *image = NULL;
	_cleanup_close_ int fd = -EBADF;
	int r = visit(context, program, true);

	fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r >= 0 && fd >= 0 && image_open(fd, &image, NULL) == 0)
		r = visit_directories(image_run_path(image), program, visit, context);
	return r;
}

int libraries_visit(char *const command[], library_visitor visit, void *context)
{
	_cleanup_free_ char *cache = NULL;
	char program[PATH_MAX];
	size_t size = 0;
	int r = 0;

	for (size_t i = 0; command[i] && i < WORDS_MAX && r >= 0; i++) {
		if (*command[i] == '-' || !find_program(command[i], program) ||
		    !is_executable(program))
			continue;
		r = visit_program(program, visit, context);
		if (r >= 0 && i == 0)
			r = visit_directories(getenv("LD_LIBRARY_PATH"), program, visit, context);
	}
	if (r >= 0 &&
	    file_read(AT_FDCWD, "/etc/ld.so.cache", LIBRARIES_CACHE_MAX, &cache, &size) == 0)
		r = libraries_visit_cache(cache, size, visit, context);
	return r < 0 ? r : 0;
}
