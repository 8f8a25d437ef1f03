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
#include "basic/macro.h"
#include "trace/image.h"

#define FILES_MAX 65536 /* of one directory */
#define WORDS_MAX 64 /* of a command */
#define DEPTH_MAX 32 /* of libraries that need others */
#define NEEDED_MAX 1024 /* by a command */
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

/* @is_by_link: by the names that are looked for, links as they are. */
static int visit_cache(const char *cache, size_t size, bool is_by_link, library_visitor visit,
		       void *context)
{
	/* An older table may precede it. */
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
		if (entry.path >= room || begin[entry.path] != '/' ||
		    !memchr(begin + entry.path, '\0', room - entry.path))
			continue;
		r = is_by_link ? visit(context, begin + entry.path, false)
			       : visit_path(begin + entry.path, visit, context);
	}
	return r < 0 ? r : 0;
}

int libraries_visit_cache(const char *cache, size_t size, library_visitor visit, void *context)
{
	return visit_cache(cache, size, false, visit, context);
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

/* Each of a list with colons; "$ORIGIN" at the beginning is the directory of @program. */
static int visit_directories(const char *list, const char *program,
			     int (*each)(const char *directory, library_visitor, void *),
			     library_visitor visit, void *context)
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
			r = each(path, visit, context);
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

/* ---- what a program needs ---- */

struct needing { /* a file, and what needs it */
	library_visitor visit;
	void *context;
	const char *cache;
	size_t cache_size;
	const char *program, *program_path; /* its run path, where older linkers look for all */
	const char *file, *run_path;
	const char *name; /* that is looked for */
	char found[PATH_MAX]; /* "": not yet */
	unsigned int depth;
};

static int look_at_cached(void *context, const char *path, bool is_program UNUSED)
{
	struct needing *n = context;

	if (!*n->found && strcmp(strrchr(path, '/') + 1, n->name) == 0 && !realpath(path, n->found))
		*n->found = '\0';
	return 0;
}

static int look_in_directory(const char *directory, library_visitor visit UNUSED, void *context)
{
	struct needing *n = context;
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", directory, n->name) < (int)sizeof(path)
		       ? look_at_cached(n, path, false)
		       : 0;
}

static int visit_needed(struct needing *n);

/* As the dynamic linker does it, with run paths first, of whichever kind. */
static int find_needed(void *context, const char *name)
{
	struct needing *n = context, below = *n;
	const bool is_path = strchr(name, '/');

	below.name = name;
	*below.found = '\0';
	if (is_path && !realpath(name, below.found))
		return 0;
	(void)visit_directories(n->run_path, n->file, look_in_directory, NULL, &below);
	(void)visit_directories(n->program_path, n->program, look_in_directory, NULL, &below);
	(void)visit_directories(getenv("LD_LIBRARY_PATH"), n->program, look_in_directory, NULL,
				&below);
	(void)visit_cache(n->cache, n->cache_size, true, look_at_cached, &below);
	(void)visit_directories("/lib64:/usr/lib64:/lib:/usr/lib", "/", look_in_directory, NULL,
				&below);
	below.file = below.found;
	return *below.found && ++below.depth < DEPTH_MAX ? visit_needed(&below) : 0;
}

static int visit_needed(struct needing *n)
{
	_cleanup_(image_freep) struct image *image = NULL;
	_cleanup_close_ int fd = open(n->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r = n->visit(n->context, n->file, n->depth == 0);

	if (r != 0 || fd < 0 || image_open(fd, &image, NULL) < 0)
		return MIN(r, 0);
	n->run_path = image_run_path(image);
	if (n->depth == 0)
		n->program_path = n->run_path;
	return image_visit_needed(image, find_needed, n);
}

int libraries_visit_needed(const char *program, library_visitor visit, void *context)
{
	struct needing n = {
		.visit = visit, .context = context, .program = program, .file = program
	};
	_cleanup_free_ char *cache = NULL;

	(void)file_read(AT_FDCWD, "/etc/ld.so.cache", LIBRARIES_CACHE_MAX, &cache, &n.cache_size);
	n.cache = cache;
	return visit_needed(&n);
}

/* ---- what a command needs ---- */

struct visiting { /* visits each needed file once */
	library_visitor visit;
	void *context;
	char *seen[NEEDED_MAX];
	size_t count;
};

static void visiting_clear(struct visiting *v)
{
	for (size_t i = 0; i < v->count; i++)
		free(v->seen[i]);
}

static int visit_once(void *context, const char *path, bool is_program)
{
	struct visiting *v = context;

	for (size_t i = 0; i < v->count; i++) {
		if (strcmp(v->seen[i], path) == 0)
			return 1;
	}
	if (v->count == NEEDED_MAX)
		return 1;
	v->seen[v->count] = strdup(path);
	if (!v->seen[v->count])
		return -ENOMEM;
	v->count++;
	return MIN(v->visit(v->context, path, is_program), 0);
}

/* It, what it needs, and what else is in its run path, which it may open. */
static int visit_program(const char *program, struct visiting *v)
{
	_cleanup_(image_freep) struct image *image = NULL;
	_cleanup_close_ int fd = -EBADF;
	int r = libraries_visit_needed(program, visit_once, v);

	fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r >= 0 && fd >= 0 && image_open(fd, &image, NULL) == 0)
		r = visit_directories(image_run_path(image), program, visit_directory, v->visit,
				      v->context);
	return r;
}

/* "#!/usr/bin/env python3" of a script, or the path itself; false: it is no script. */
static bool find_interpreter(const char *script, char *ret)
{
	char head[256], *word, *save = NULL;
	ssize_t length;
	_cleanup_close_ int fd = open(script, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	length = fd >= 0 ? read(fd, head, sizeof(head) - 1) : -1;
	if (length < 2 || head[0] != '#' || head[1] != '!')
		return false;
	head[length] = '\0';
	head[strcspn(head, "\n")] = '\0';
	word = strtok_r(head + 2, " \t", &save);
	if (word && strcmp(word, "/usr/bin/env") == 0)
		word = strtok_r(NULL, " \t", &save);
	return word && find_program(word, ret);
}

/* Of LD_PRELOAD: names with a slash are paths, others are found as libraries are. */
static int visit_preloaded(const char *list, struct visiting *v)
{
	_cleanup_free_ char *copy = list ? strdup(list) : NULL;
	char *save = NULL, path[PATH_MAX];
	int r = 0;

	for (char *name = copy ? strtok_r(copy, ": \t\n", &save) : NULL; name && r >= 0;
	     name = strtok_r(NULL, ": \t\n", &save)) {
		if (strchr(name, '/') && realpath(name, path))
			r = libraries_visit_needed(path, visit_once, v);
	}
	return r;
}

static int visit_word(const char *word, bool is_first, struct visiting *v)
{
	char program[PATH_MAX], interpreter[PATH_MAX];
	struct stat st;
	int r = 0;

	if (strncmp(word, "LD_PRELOAD=", 11) == 0) /* as env(1) takes it */
		r = visit_preloaded(word + 11, v);
	if (strncmp(word, "LD_LIBRARY_PATH=", 16) == 0)
		r = visit_directories(word + 16, "/", visit_directory, v->visit, v->context);
	/* A word may name anything: nothing but an executable file is opened. */
	if (r < 0 || *word == '-' || !find_program(word, program) || stat(program, &st) < 0 ||
	    !S_ISREG(st.st_mode) || access(program, X_OK) < 0)
		return r;
	r = visit_program(program, v);
	if (r >= 0 && find_interpreter(program, interpreter))
		r = visit_program(interpreter, v);
	if (r >= 0 && is_first)
		r = visit_directories(getenv("LD_LIBRARY_PATH"), program, visit_directory, v->visit,
				      v->context);
	return r;
}

int libraries_visit(char *const command[], library_visitor visit, void *context)
{
	_cleanup_(visiting_clear) struct visiting v = { .visit = visit, .context = context };
	_cleanup_free_ char *cache = NULL, *preload = NULL;
	size_t size = 0;
	int r = visit_preloaded(getenv("LD_PRELOAD"), &v);

	if (r >= 0 && file_read(AT_FDCWD, "/etc/ld.so.preload", 65536, &preload, NULL) == 0)
		r = visit_preloaded(preload, &v);
	for (size_t i = 0; command[i] && i < WORDS_MAX && r >= 0; i++)
		r = visit_word(command[i], i == 0, &v);
	if (r >= 0 &&
	    file_read(AT_FDCWD, "/etc/ld.so.cache", LIBRARIES_CACHE_MAX, &cache, &size) == 0)
		r = libraries_visit_cache(cache, size, visit, context);
	return r < 0 ? r : 0;
}
