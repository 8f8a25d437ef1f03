/* SPDX-License-Identifier: MIT */
/* run_groups - the groups of runs that clients announce, made and removed by the root helper; and
 * their owners. */
#pragma once

#include <stdint.h>

#include "agent/api.h"

struct helper;
struct run_groups;

/* @helper outlives it.  NULL: no memory. */
struct run_groups *run_groups_new(struct helper *helper);
struct run_groups *run_groups_free(struct run_groups *g); /* NULL is fine; returns NULL */

/* The helper is gone: no run can be made or ended from now on. */
void run_groups_leave_helper(struct run_groups *g);

/* For the API: its context is @g. */
void run_groups_fill(struct run_groups *g, struct api_runs *ret);

/* Whose the run of that group is, which the kernel said as it was announced; -1: not one of ours.
 */
int64_t run_groups_owner(const struct run_groups *g, uint64_t group_id);
