/* SPDX-License-Identifier: MIT */
/*
 * group_tree - births and deaths of groups without BPF, by polling the directories of the key
 * hierarchy. Groups that live only between two polls are missed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cgroup/group_life.h"

struct error;
struct group_tree;
struct hierarchy;

#define GROUPS_SEEN_MAX 65536

/* A walk finds at most @most groups. @h outlives it. */
int group_tree_open(int root_fd, const struct hierarchy *h, size_t most, struct group_tree **ret,
		    struct error *err);
struct group_tree *group_tree_close(struct group_tree *t); /* NULL is fine; returns NULL */

/* The groups at @boot_ns, and once each those that went since the previous call; the caller
 * frees. The births of those of the first call are not known. */
int group_tree_look(struct group_tree *t, uint64_t boot_ns, struct group_life **ret,
		    size_t *ret_count, struct error *err);
