/* SPDX-License-Identifier: MIT */
/*
 * naming - the mount's name of a place: of a superblock as the kernel side numbers it, or of a row
 * that is no mount.
 *
 * A superblock is named by our own mountinfo, by its root's mount point or the shortest, if a task
 * of our mount namespace saw it first and mountinfo shows it both before and now, or where it was
 * seen.  Else by where it was seen: in the job's own mount namespace, or mounted only in between,
 * nothing else is known.  place_names.h keeps these names, and has the site's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/files.h"
#include "cgroup/mounts.h"
#include "model/reading.h"
#include "model/snapshot.h"

struct naming {
	const struct mounts *before, *now; /* the caller's */
	int superblocks_fd; /* the map, by place */
	uint32_t mnt_ns; /* the mount namespace of these mounts */
	struct named *known;
	size_t known_count;
};

/* The mount namespace of @process ("self" or a number), as the kernel side numbers it; 0: not
 * known. */
uint32_t naming_namespace(int root_fd, const char *process);

/* The names of @place, valid until the next call.  NULL: no memory. */
const struct snapshot_mount *naming_get(struct naming *n, uint64_t place);

/* The part of its file system that the naming mount shows: "/" for all, or if unknown. */
const char *naming_get_root(struct naming *n, uint64_t place);

void naming_clear(struct naming *n);

/* "/a/b" of the names that the kernel side stored, ".../b" if there were too many; empty: unknown.
 * @ret needs NAMING_PATH_SIZE bytes. */
#define NAMING_PATH_SIZE (PATH_NAMES * PATH_NAME + 8)
void naming_format_path(const struct superblock *sb, char *ret);

/* The mount that names a superblock of @device, seen at @path (empty: unknown) by a task of our
 * mount namespace or of another.  NULL: its name is @path, or it has none. */
const struct mount *naming_find_mount(const struct naming *n, uint32_t device, const char *path,
				      bool is_own_namespace);
