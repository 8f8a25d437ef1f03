/* SPDX-License-Identifier: MIT */
#include "made_root.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "fuzz.h"

#define MARK "== " /* at the start of a line */
#define ARROW " -> "
#define NOWHERE "nowhere" /* so that no link leads out */
#define PATH_SIZE 1024

static char dir[PATH_MAX];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type;
	return where->level ? remove(path) : 0;
}

void made_root_clear(void)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_dir(void)
{
	made_root_clear();
	rmdir(dir);
}

static int make_dir(void)
{
	const char *above = getenv("TMPDIR");
	int fd;

	if (!above)
		above = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(dir, sizeof(dir), "%s/jobmeter-fuzz-XXXXXX", above);
	CHECK(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd >= 0);
	atexit(remove_dir);
	return fd;
}

int made_root_fd(void)
{
	static int fd = -EBADF;

	if (fd < 0)
		fd = make_dir();
	return fd;
}

/* No way out, and nothing that a directory cannot hold. */
static bool is_inside(char *path)
{
	char *rest = path;

	for (char *name = strsep(&rest, "/"); name; name = strsep(&rest, "/")) {
		if (!*name || strlen(name) > NAME_MAX || strcmp(name, ".") == 0 ||
		    strcmp(name, "..") == 0 || strcmp(name, NOWHERE) == 0)
			return false;
		if (rest)
			rest[-1] = '/';
	}
	return true;
}

static void make_dirs(int dir_fd, char *path)
{
	for (char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		(void)mkdirat(dir_fd, path, 0700);
		*p = '/';
	}
}

static void make_link(int dir_fd, const char *path, const char *target)
{
	char text[PATH_SIZE + sizeof(NOWHERE "/")];

	snprintf(text, sizeof(text), NOWHERE "/%s", target);
	(void)symlinkat(text, dir_fd, path);
}

static void write_file(int dir_fd, const char *path, const char *text, size_t size)
{
	_cleanup_close_ int fd =
		openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0)
		CHECK(write(fd, text, size) == (ssize_t)size);
}

static void make_one(int dir_fd, const char *heading, size_t length, const char *text, size_t size)
{
	char path[PATH_SIZE];
	char *arrow;

	if (length >= sizeof(path) || memchr(heading, '\0', length))
		return;
	memcpy(path, heading, length);
	path[length] = '\0';
	arrow = strstr(path, ARROW);
	if (arrow)
		*arrow = '\0';
	if (!is_inside(path))
		return;
	make_dirs(dir_fd, path);
	if (arrow)
		make_link(dir_fd, path, arrow + strlen(ARROW));
	else
		write_file(dir_fd, path, text, size);
}

/* The heading at or behind @p, without its newline; or @end. */
static const char *find_heading(const char *p, const char *end)
{
	const char *found = p < end ? memmem(p, (size_t)(end - p), "\n" MARK, 1 + strlen(MARK))
				    : NULL;

	return found ? found + 1 : end;
}

void made_root_fill(int dir_fd, const uint8_t *text, size_t size)
{
	const char *begin = (const char *)text, *end = begin + size, *at = begin;

	if (size < strlen(MARK) || memcmp(begin, MARK, strlen(MARK)) != 0)
		at = find_heading(begin, end);
	for (int count = 0; at < end && count < MADE_FILES_MAX; count++) {
		const char *heading = at + strlen(MARK);
		const char *line_end = memchr(heading, '\n', (size_t)(end - heading));

		if (!line_end)
			line_end = end;
		at = find_heading(line_end, end);
		if (line_end < end)
			make_one(dir_fd, heading, (size_t)(line_end - heading), line_end + 1,
				 (size_t)(at - line_end - 1));
	}
}
