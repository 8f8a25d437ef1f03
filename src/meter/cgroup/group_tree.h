/* SPDX-License-Identifier: MIT */
/*
 * group_tree - lives of groups: their births and deaths without BPF, by polling the directories of
 * the key hierarchy. Groups that live only between two polls are missed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct error;
struct group_tree;
struct hierarchy;

#define GROUP_PATH_SIZE 512

struct group_life { /* of a group of the key hierarchy, from BPF or its directory */
	uint64_t answers; /* the group that is charged for its table space; 0: unknown */
	uint64_t id, parent; /* as the kernel numbers them; parent 0: not known */
	uint64_t born_ns, died_ns; /* by CLOCK_BOOTTIME; born 0: it was there before us; died 0: it
				      lives */
	uint64_t peak_bytes; /* as it died; 0: not known */
	uint64_t oom_kills; /* as it died */
	bool has_oom_kills;
	uint32_t maker_uid; /* its maker; UINT32_MAX: not known */
	bool is_delegated; /* its name proves nothing: a user made it, or an ancestor is writable by
			      others than root */
	bool is_cut; /* @path is only its beginning */
	char path[GROUP_PATH_SIZE]; /* from the hierarchy's root on: "/slurm/uid_1000/job_7" */
};

/* May others than root make, or on v1 rename, groups in that directory? */
static inline bool is_users_directory(const struct stat *st)
{
	return st->st_uid || st->st_mode & (st->st_gid ? S_IWGRP | S_IWOTH : S_IWOTH);
}

#define GROUPS_SEEN_MAX 65536

/* A walk finds at most @most groups. @h outlives it. */
int group_tree_open(int root_fd, const struct hierarchy *h, size_t most, struct group_tree **ret,
		    struct error *err);
struct group_tree *group_tree_close(struct group_tree *t); /* NULL is fine; returns NULL */

/* The groups at @boot_ns, and once each those that went since the previous call; the caller
 * frees. The births of those of the first call are not known. */
int group_tree_look(struct group_tree *t, uint64_t boot_ns, struct group_life **ret,
		    size_t *ret_count, struct error *err);
