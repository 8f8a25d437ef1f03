/* SPDX-License-Identifier: MIT */
/*
 * group edges - reports at once that a cgroup was made or removed beside a job's, by inotify on the
 * directories above jobs' cgroups; it needs no rights and no BPF. So jobs are seen that are made
 * where other jobs are.
 */
#pragma once

#include <stdbool.h>

struct group_edges;
struct hierarchy;

/* Both outlive it. NULL: not available. */
struct group_edges *group_edges_open(int root_fd, const struct hierarchy *hierarchy);
struct group_edges *group_edges_close(struct group_edges *e); /* NULL is fine; returns NULL */
int group_edges_fd(const struct group_edges *e); /* for poll(2) */

/* Between begin and end, pass all cgroups of jobs by their paths in the key hierarchy; the
 * directories above them are watched from then on, at most 64. */
void group_edges_begin(struct group_edges *e);
void group_edges_watch(struct group_edges *e, const char *path);
void group_edges_end(struct group_edges *e);

/* Whether there were any since the last call. */
bool group_edges_take(struct group_edges *e);
