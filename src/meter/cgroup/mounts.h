/* SPDX-License-Identifier: MIT */
/*
 * mounts - the mount point that names a superblock, from the text of a mountinfo file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;

struct mount {
	uint32_t device; /* as the kernel numbers it inside: major << 20 | minor */
	char *root; /* the directory of the file system that is mounted */
	char *point, *fstype, *source;
	char *options; /* the superblock's */
};

struct mounts {
	struct mount *items;
	size_t count;
};

/* A site's name for a mount point: SCRATCH for /scratch. */
struct site_mount {
	const char *path, *name;
};

#define MOUNTS_MAX 65536 /* the kernel's own default limit a mount namespace is 100,000 */

/* Parse @text, which is changed.  -EINVAL: a line is not as proc(5) has it; -E2BIG: too many. */
int mounts_parse(char *text, struct mounts *ret, struct error *err);

/* Read "proc/PID/mountinfo" below @root_fd; @pid: "self" or a number.  Where no mount is at "/" (in
 * a chroot), @root_fd's own file system is, with an fstype of "". */
int mounts_read(int root_fd, const char *pid, struct mounts *ret, struct error *err);

/* The mount that names @device: the one of its root directory, else that with the shortest path;
 * never one that a later mount hides.  NULL: none. */
const struct mount *mounts_find(const struct mounts *m, uint32_t device);

/* The mount point of file system type @fstype with @option among its options (comma separated)
 * (NULL: any), or NULL. */
const struct mount *mounts_find_type(const struct mounts *m, const char *fstype,
				     const char *option);

void mounts_clear(struct mounts *m);
