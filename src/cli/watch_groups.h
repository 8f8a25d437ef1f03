/* SPDX-License-Identifier: MIT */
/* watch_groups - the groups of jobs, found in the tree of groups by the rules of identity. */
#pragma once

struct error;
struct hierarchy;
struct watch_target;

/* The group of a job, or of a step ("123.0" where no job has that id); *ret_path is the caller's.
 * Errors as of watch_target_choose(). */
int watch_groups_find(int root_fd, const struct hierarchy *h, const struct watch_target *target,
		      char **ret_path, struct error *err);
