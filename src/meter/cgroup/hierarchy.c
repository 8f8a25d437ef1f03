/* SPDX-License-Identifier: MIT */
#include "cgroup/hierarchy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/text.h"
#include "cgroup/mounts.h"
#include "basic/parse.h"

static const char *const names[CONTROLLER_COUNT] = {
	[CONTROLLER_MEMORY] = "memory",
	[CONTROLLER_CPUACCT] = "cpuacct",
	[CONTROLLER_CPU] = "cpu",
	[CONTROLLER_PIDS] = "pids",
	[CONTROLLER_FREEZER] = "freezer",
	[CONTROLLER_CPUSET] = "cpuset",
	[CONTROLLER_PERF_EVENT] = "perf_event",
};

static const enum controller keys[] = { CONTROLLER_MEMORY, CONTROLLER_CPUACCT, CONTROLLER_FREEZER };

const char *controller_name(enum controller c)
{
	return names[c];
}

void hierarchy_clear(struct hierarchy *h)
{
	for (size_t i = 0; i < CONTROLLER_COUNT; i++) {
		free(h->mount[i]);
		free(h->own[i]);
		free(h->root[i]);
	}
	free(h->v2_root);
	free(h->v2_mount);
	free(h->v2_own);
	*h = (struct hierarchy){};
}

/* A group's path as proc shows it, below a mount of the directory @mounted. */
static const char *skip_mounted(const char *path, const char *mounted)
{
	if (strcmp(mounted, "/") != 0 && text_is_below(path, mounted))
		path += strlen(mounted);
	return *path ? path : "/";
}

char *hierarchy_path_below(const char *path, const char *mounted)
{
	return strdup(skip_mounted(path, mounted));
}

static bool lists_controller(char *list, const char *name)
{
	char *saved = NULL;

	for (char *p = strtok_r(list, ",", &saved); p; p = strtok_r(NULL, ",", &saved)) {
		if (strcmp(p, name) == 0)
			return true;
	}
	return false;
}

/* The caller's path in the hierarchy of controller @name ("" for v2), from proc/self/cgroup. */
static int find_own_path(const char *text, const char *name, char **ret)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *line;

	if (!copy)
		return -ENOMEM;
	while ((line = parse_next_line(&rest))) {
		char *list = strchr(line, ':');
		char *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			return -EINVAL;
		*path++ = '\0';
		if (*path != '/')
			return -EINVAL;
		list++;
		if (*name ? lists_controller(list, name) : *list == '\0') {
			*ret = strdup(path);
			return *ret ? 0 : -ENOMEM;
		}
	}
	return -ENOENT;
}

static int place(const char *cgroups, const struct mount *mount, const char *name, char **ret_mount,
		 char **ret_own, char **ret_root)
{
	_cleanup_free_ char *path = NULL, *own = NULL, *point = NULL, *root = NULL;
	int r;

	if (!mount)
		return 0;
	r = find_own_path(cgroups, name, &path);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	own = hierarchy_path_below(path, mount->root);
	point = strdup(mount->point);
	root = strdup(mount->root);
	if (!own || !point || !root)
		return -ENOMEM;
	*ret_root = TAKE_PTR(root);
	*ret_own = TAKE_PTR(own);
	*ret_mount = TAKE_PTR(point);
	return 0;
}

/* Controllers that count: hugetlb alone does not make v2 the tree of jobs. */
static bool v2_has_controllers(int root_fd, const struct hierarchy *h)
{
	char path[4096], text[512];

	if (!h->v2_mount)
		return false;
	snprintf(path, sizeof(path), ".%s/cgroup.controllers", h->v2_mount);
	if (file_read_small(root_fd, path, text, sizeof(text)) < 0)
		return false;
	return parse_has_word(text, "memory") || parse_has_word(text, "cpu");
}

static int choose_key(int root_fd, struct hierarchy *h, struct error *err)
{
	if (v2_has_controllers(root_fd, h)) {
		h->is_v2 = true;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (h->mount[keys[i]]) {
			h->key = keys[i];
			return 0;
		}
	}
	if (!h->v2_mount)
		return error_set(err, -ENOENT, "no cgroup file system is mounted");
	h->is_v2 = true;
	return 0;
}

/* @process: "self" or a number.  Mounts are the caller's: another's may show anything. */
static int read_of(int root_fd, const char *process, struct hierarchy *ret, struct error *err)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	_cleanup_(mounts_clear) struct mounts mounts = {};
	_cleanup_free_ char *cgroups = NULL;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "proc/%s/cgroup", process);
	r = file_read(root_fd, path, 1 << 20, &cgroups, NULL);
	if (r < 0)
		return error_set_errno(err, r, "cannot read '%s'", path);
	r = mounts_read(root_fd, "self", &mounts, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < CONTROLLER_COUNT && r >= 0; i++)
		r = place(cgroups, mounts_find_type(&mounts, "cgroup", names[i]), names[i],
			  &h.mount[i], &h.own[i], &h.root[i]);
	if (r >= 0)
		r = place(cgroups, mounts_find_type(&mounts, "cgroup2", NULL), "", &h.v2_mount,
			  &h.v2_own, &h.v2_root);
	if (r < 0)
		return error_set_errno(err, r, "cannot understand '%s'", path);
	r = choose_key(root_fd, &h, err);
	if (r < 0)
		return r;
	*ret = h;
	h = (struct hierarchy){};
	return 0;
}

int hierarchy_read(int root_fd, struct hierarchy *ret, struct error *err)
{
	return read_of(root_fd, "self", ret, err);
}

int hierarchy_read_of(int root_fd, pid_t pid, struct hierarchy *ret, struct error *err)
{
	char process[16];

	snprintf(process, sizeof(process), "%d", pid);
	return read_of(root_fd, process, ret, err);
}

const char *hierarchy_own_path(const struct hierarchy *h)
{
	return h->is_v2 ? h->v2_own : h->own[h->key];
}

int hierarchy_find_path(const struct hierarchy *h, const char *cgroups, char **ret)
{
	const char deleted[] = " (deleted)"; /* the kernel's mark of a zombie's removed group */
	int r = find_own_path(cgroups, h->is_v2 ? "" : names[h->key], ret);
	size_t length = r < 0 ? 0 : strlen(*ret);

	if (length > strlen(deleted) && strcmp(*ret + length - strlen(deleted), deleted) == 0)
		(*ret)[length - strlen(deleted)] = '\0';
	return r;
}

bool hierarchy_find_place(const struct hierarchy *h, enum controller c, const char *path,
			  const char **ret_mount, const char **ret_below)
{
	const char *mount = h->is_v2 ? h->v2_mount : h->mount[c],
		   *root = h->is_v2 ? h->v2_root : h->root[c];

	if (!mount)
		return false;
	*ret_mount = mount;
	*ret_below = skip_mounted(path, root ? root : "/");
	return true;
}

char *hierarchy_find_dir(const struct hierarchy *h, const char *path)
{
	const char *mount, *below;
	char *dir;

	if (!hierarchy_find_place(h, h->key, path, &mount, &below) ||
	    asprintf(&dir, "%s%s", mount, below) < 0)
		return NULL;
	return dir;
}

char *hierarchy_path_of(const struct hierarchy *h, const char *dir)
{
	const char *mount = h->is_v2 ? h->v2_mount : h->mount[h->key];
	const char *root = h->is_v2 ? h->v2_root : h->root[h->key];
	size_t length = strlen(mount), end = strlen(dir);
	char *path;

	while (end > 1 && dir[end - 1] == '/') /* as a shell completes it */
		end--;
	if (!text_is_below(dir, mount))
		return strndup(dir, end);
	if (end <= length)
		return strdup(root);
	if (asprintf(&path, "%s%.*s", strcmp(root, "/") == 0 ? "" : root, (int)(end - length),
		     dir + length) < 0)
		return NULL;
	return path;
}
