/* SPDX-License-Identifier: MIT */
/*
 * group edges - tells at once that a group was made or removed beside one of a job's: by inotify,
 * in the directories above jobs' groups, so that it needs no rights and no BPF.
 *
 * A job is heard of if its group is made in such a directory: where other jobs are.
 */
#pragma once

#include <stdbool.h>

struct group_edges;
struct hierarchy;

/* Both outlive it.  NULL: it cannot be had. */
struct group_edges *group_edges_open(int root_fd, const struct hierarchy *hierarchy);
struct group_edges *group_edges_close(struct group_edges *e); /* NULL is fine; returns NULL */
int group_edges_fd(const struct group_edges *e); /* for poll(2) */

/* Between begin and end all groups of jobs are told, by their paths in the key hierarchy; from then
 * on it looks above these, at 64 directories at most. */
void group_edges_begin(struct group_edges *e);
void group_edges_watch(struct group_edges *e, const char *path);
void group_edges_end(struct group_edges *e);

/* Whether there were any since the last call. */
bool group_edges_take(struct group_edges *e);
