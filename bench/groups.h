/* SPDX-License-Identifier: MIT */
/* groups - cgroups like those of a node full of Slurm jobs, some with a process that sleeps until
 * it is to work. */
#pragma once

#include <stddef.h>

#include "cgroup/hierarchy.h"

struct error;
struct groups;

/* Directories on mounts of their own, two or more, which processes work in: the first two, three
 * ... of them, by turns. */
struct groups_mounts {
	const char *const *paths;
	size_t count;
};

/* @count jobs, in every hierarchy that there is; every @every'th has a process (0: none).  @mounts:
 * NULL, they never work.  @h, @root_fd and @mounts must outlive it.  They are removed when it is
 * freed, and by a process of its own when we are killed; what even so was left behind is removed
 * here.  -EWOULDBLOCK: another bench has its groups there. */
int groups_make(int root_fd, const struct hierarchy *h, size_t count, size_t every,
		const struct groups_mounts *mounts, struct groups **ret, struct error *err);
/* Each process makes a file on each of its mounts, writes and reads it, asks for its size and
 * removes it, and sleeps again; returns when all have.  -EIO: one could not. */
int groups_work(struct groups *g);
struct groups *groups_remove(struct groups *g); /* NULL is fine; returns NULL */
void groups_removep(struct groups **g);

/* The path in the key hierarchy of one of them; holds until the next call. */
const char *groups_path(struct groups *g, size_t index);
