/* SPDX-License-Identifier: MIT */
/*
 * hierarchy - the cgroup hierarchies of this node, and the key: the one whose ids identify cgroups.
 *
 * The key is v2 if v2 has the memory or cpu controller or v1 is not mounted; else the first present
 * of v1's memory, cpuacct and freezer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct error;

enum controller {
	CONTROLLER_MEMORY,
	CONTROLLER_CPUACCT,
	CONTROLLER_CPU,
	CONTROLLER_PIDS,
	CONTROLLER_FREEZER,
	CONTROLLER_CPUSET,
	CONTROLLER_PERF_EVENT,
	CONTROLLER_COUNT,
};

/* "memory"... */
const char *controller_name(enum controller c);

struct hierarchy {
	bool is_v2;
	enum controller key; /* v1: which controller's hierarchy */
	char *mount[CONTROLLER_COUNT]; /* v1: mount point, or NULL: not mounted */
	char *own[CONTROLLER_COUNT]; /* v1: the caller's own group, below the mount point */
	char *root[CONTROLLER_COUNT]; /* v1: the group that the mount point shows */
	char *v2_mount, *v2_own, *v2_root; /* NULL: not mounted */
};

/* Read it below @root_fd, for the calling process.  -ENOENT: there is no cgroup file system. */
int hierarchy_read(int root_fd, struct hierarchy *ret, struct error *err);
/* The same with the groups of another process as own groups; they may change meanwhile. */
int hierarchy_read_of(int root_fd, pid_t pid, struct hierarchy *ret, struct error *err);
void hierarchy_clear(struct hierarchy *h);

/* Path of the caller's own group in the key hierarchy, from "/" on. */
const char *hierarchy_own_path(const struct hierarchy *h);

/* The path of a process in the key hierarchy, as @cgroups, the text of its proc/PID/cgroup, has it;
 * the caller frees; without the " (deleted)" of a removed group.  -ENOENT: it is not there;
 * -EINVAL: that is not such a text. */
int hierarchy_find_path(const struct hierarchy *h, const char *cgroups, char **ret);

/* Find the files of controller @c for the group of that path in the key hierarchy: in v2's tree, or
 * at the same path in the controller's own. They are in @ret_below (a part of @path, or "/") below
 * @ret_mount. False: the controller is not mounted. */
bool hierarchy_find_place(const struct hierarchy *h, enum controller c, const char *path,
			  const char **ret_mount, const char **ret_below);

/* The directory of the group of that path in the key hierarchy, from "/" on; the caller frees.
 * NULL: no memory. */
char *hierarchy_find_dir(const struct hierarchy *h, const char *path);

/* The inverse: the path of the group with the directory @dir, as a mount of the key hierarchy shows
 * it; without such a mount, @dir itself. The caller frees. NULL: no memory. */
char *hierarchy_path_of(const struct hierarchy *h, const char *dir);

/* The path of a group below the directory @mounted of its hierarchy; the caller frees.  NULL: no
 * memory. */
char *hierarchy_path_below(const char *path, const char *mounted);
