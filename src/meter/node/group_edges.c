/* SPDX-License-Identifier: MIT */
#include "node/group_edges.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "cgroup/hierarchy.h"

#define WATCHES_MAX 64

struct watch {
	char *path; /* of the directory above */
	int wd;
	bool is_wanted;
};

struct group_edges {
	int fd, root_fd;
	const struct hierarchy *hierarchy;
	struct watch watches[WATCHES_MAX];
	size_t count;
};

struct group_edges *group_edges_open(int root_fd, const struct hierarchy *hierarchy)
{
	struct group_edges *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->root_fd = root_fd;
	e->hierarchy = hierarchy;
	e->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return e->fd < 0 ? group_edges_close(e) : e;
}

struct group_edges *group_edges_close(struct group_edges *e)
{
	for (size_t i = 0; e && i < e->count; i++)
		free(e->watches[i].path);
	if (e)
		closep(&e->fd);
	free(e);
	return NULL;
}

int group_edges_fd(const struct group_edges *e)
{
	return e->fd;
}

/* ---- where ---- */

static int add_watch(const struct group_edges *e, const char *path)
{
	_cleanup_free_ char *dir = hierarchy_find_dir(e->hierarchy, path);
	_cleanup_close_ int fd = -EBADF;
	char name[32];

	if (dir)
		fd = openat(e->root_fd, dir + strspn(dir, "/"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fd;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd); /* inotify knows no descriptors */
	return inotify_add_watch(e->fd, name, IN_CREATE | IN_DELETE | IN_ONLYDIR);
}

static struct watch *find(struct group_edges *e, const char *path, size_t length)
{
	for (size_t i = 0; i < e->count; i++) {
		struct watch *w = &e->watches[i];

		if (strncmp(w->path, path, length) == 0 && !w->path[length])
			return w;
	}
	return NULL;
}

void group_edges_begin(struct group_edges *e)
{
	for (size_t i = 0; i < e->count; i++)
		e->watches[i].is_wanted = false;
}

void group_edges_watch(struct group_edges *e, const char *path)
{
	const char *last = strrchr(path, '/');
	const size_t length = last ? (size_t)(last - path) : 0;
	struct watch *known = length ? find(e, path, length) : NULL, made = { .is_wanted = true };

	if (known)
		known->is_wanted = true;
	if (known || !length || e->count == WATCHES_MAX)
		return;
	made.path = strndup(path, length);
	made.wd = made.path ? add_watch(e, made.path) : -1;
	if (made.wd < 0)
		free(made.path);
	else
		e->watches[e->count++] = made;
}

void group_edges_end(struct group_edges *e)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->count; i++) {
		if (e->watches[i].is_wanted) {
			e->watches[kept++] = e->watches[i];
			continue;
		}
		(void)inotify_rm_watch(e->fd, e->watches[i].wd);
		free(e->watches[i].path);
	}
	e->count = kept;
}

/* ---- what happened ---- */

bool group_edges_take(struct group_edges *e)
{
	char events[4096] __attribute__((aligned(8)));
	bool has_any = false;
	ssize_t length;

	while ((length = read(e->fd, events, sizeof(events))) > 0) {
		const struct inotify_event *event;

		for (ssize_t at = 0; at < length; at += (ssize_t)sizeof(*event) + event->len) {
			event = (const struct inotify_event *)(events + at);
			has_any |= (event->mask & (IN_CREATE | IN_DELETE)) != 0;
		}
	}
	return has_any;
}
