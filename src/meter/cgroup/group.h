/* SPDX-License-Identifier: MIT */
/*
 * group - a cgroup for one command: below the caller's group in the key hierarchy and, on v1, in
 * the other hierarchies that count or limit something, so that the command never escapes the
 * caller's limits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroup/hierarchy.h"

struct error;
struct group;

/* Make the group "PREFIX-NUMBER"; the number is our pid where that is free.  @h must outlive it.
 * -EACCES, -EPERM, -EROFS: no right to.  On v2, controllers that the caller's group can pass on are
 * switched on for it. */
int group_make(int root_fd, const struct hierarchy *h, const char *prefix, struct group **ret,
	       struct error *err);
unsigned int group_number(const struct group *g);

/* Make the group @name below the group of another process, from its hierarchy_read_of(); for
 * @client, which may be moved, with its children, into a group beside it. */
int group_make_for(int root_fd, const struct hierarchy *h, const char *name, pid_t client,
		   struct group **ret, struct error *err);

/* A group of others at @path in the key hierarchy, and on v1 at the same path in the other ones,
 * to be read. -ENOENT: none. */
int group_open(int root_fd, const struct hierarchy *h, const char *path, struct group **ret,
	       struct error *err);

/* A group of group_open() is only closed. One of ours: move what lives in it back to the
 * caller's group, remove it, free @g. NULL is fine; returns NULL. */
struct group *group_remove(struct group *g);
void group_removep(struct group **g);

/* The same without waiting.  -EBUSY: something is still in it; *g stays, to be tried again. */
int group_try_remove(struct group **g);

/* Remove it only if nothing lives in it, free @g.  NULL is fine; returns NULL. */
struct group *group_abandon(struct group *g);

/* Remove a group with one of our names whose maker is gone. -EINVAL: another name; -EBUSY: it is
 * held, or has processes. */
int group_remove_abandoned(int dir_fd, const char *path);

/* The id by which the kernel side knows the group in the key hierarchy. */
uint64_t group_id(const struct group *g);

/* Directory of the group for @c's files; on v2 the same for all; -EBADF: none. */
int group_fd(const struct group *g, enum controller c);

bool group_is_v2(const struct group *g);

/* Is its directory still there? */
bool group_exists(const struct group *g);

/* Put a process in.  Its threads move along. */
int group_add_process(const struct group *g, pid_t pid, struct error *err);

/* The processes in the group and in groups below it, at most @max; returns how many there are. */
ssize_t group_list_processes(const struct group *g, pid_t *pids, size_t max);
