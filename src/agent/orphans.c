/* SPDX-License-Identifier: MIT */
#include "agent/orphans.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/dir.h"
#include "cgroup/group.h"
#include "cgroup/hierarchy.h"
#include "basic/parse.h"

#define LEVELS_MAX 32

static const char start[] = "jobmeter-run-", aside[] = "-self";

pid_t orphans_client_of(const char *name)
{
	uint64_t number;

	if (strncmp(name, start, strlen(start)) != 0)
		return 0;
	name += strlen(start);
	if (parse_leading_u64(&name, &number) < 0 || number > INT32_MAX)
		return 0;
	return *name == '\0' || strcmp(name, aside) == 0 ? (pid_t)number : 0;
}

static int add(struct orphans *o, const char *path)
{
	struct orphan *larger;

	if (o->count == ORPHANS_MAX)
		return 0;
	larger = reallocarray(o->items, o->count + 1, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	o->items = larger;
	larger[o->count] = (struct orphan){ .path = strdup(path) };
	if (!larger[o->count].path)
		return -ENOMEM;
	o->count++;
	return 0;
}

static bool is_ours(DIR *dir, const char *name)
{
	struct stat st;

	return orphans_client_of(name) &&
	       fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == geteuid();
}

/* Directories that vanish meanwhile are no error. */
static int walk(struct orphans *o, const char *path, int level)
{
	int fd = openat(o->root_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_(dir_closep) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (!dir) {
		closep(&fd);
		return 0;
	}
	while (r >= 0 && (entry = readdir(dir))) {
		_cleanup_free_ char *below = NULL;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (asprintf(&below, "%s/%s", path, entry->d_name) < 0) {
			below = NULL;
			return -ENOMEM;
		}
		if (level < LEVELS_MAX)
			r = walk(o, below, level + 1);
		if (r >= 0 && is_ours(dir, entry->d_name))
			r = add(o, below);
	}
	return r;
}

static int walk_mount(struct orphans *o, const char *mount)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, ".%s", mount) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return walk(o, path, 0);
}

/* Controllers that are mounted together have one tree. */
static bool is_seen(const struct hierarchy *h, size_t controller)
{
	for (size_t i = 0; i < controller; i++) {
		if (h->mount[i] && strcmp(h->mount[i], h->mount[controller]) == 0)
			return true;
	}
	return false;
}

int orphans_find(int root_fd, struct orphans *ret)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	int r = hierarchy_read(root_fd, &h, NULL);

	*ret = (struct orphans){ .root_fd = root_fd };
	if (r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i < CONTROLLER_COUNT; i++) {
		if (h.mount[i] && !is_seen(&h, i))
			r = walk_mount(ret, h.mount[i]);
	}
	if (r >= 0 && h.v2_mount)
		r = walk_mount(ret, h.v2_mount);
	if (r < 0)
		orphans_clear(ret);
	return r;
}

void orphans_clear(struct orphans *o)
{
	for (size_t i = 0; i < o->count; i++)
		free(o->items[i].path);
	free(o->items);
	*o = (struct orphans){ .root_fd = o->root_fd };
}

static pid_t client_of(const struct orphan *orphan)
{
	return orphans_client_of(strrchr(orphan->path, '/') + 1);
}

bool orphans_release(struct orphans *o, pid_t client)
{
	bool is_there = false;

	for (size_t i = 0; i < o->count; i++) {
		if (client_of(&o->items[i]) == client)
			is_there = o->items[i].is_released = true;
	}
	return is_there;
}

/* The kernel removes none that has processes; what does not go for another reason never will. */
static bool is_gone(const struct orphans *o, const struct orphan *orphan)
{
	int r;

	if (!orphan->is_released && (kill(client_of(orphan), 0) == 0 || errno != ESRCH))
		return false;
	r = group_remove_abandoned(o->root_fd, orphan->path); /* or one in another PID namespace has
								 it */
	return r != -EBUSY && r != -ENOTEMPTY;
}

bool orphans_sweep(struct orphans *o)
{
	size_t left = 0;

	for (size_t i = 0; i < o->count; i++) {
		if (is_gone(o, &o->items[i]))
			free(o->items[i].path);
		else
			o->items[left++] = o->items[i];
	}
	o->count = left;
	return left > 0;
}
