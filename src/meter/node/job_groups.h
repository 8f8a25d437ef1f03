/* SPDX-License-Identifier: MIT */
/* job_groups - the present jobs and steps, from the cgroup tree alone, to meter one of them. */
#pragma once

#include <stddef.h>

#include "cgroup/identity.h"

struct error;
struct hierarchy;

struct job_group { /* the top group of a job, or of a step of it */
	char *path;
	struct identity identity;
};

struct job_groups { /* begins as {} */
	struct job_group *items; /* by path */
	size_t count;
};
void job_groups_clear(struct job_groups *g);

/* @rules: the site's; NULL: the built-in ones only. */
int job_groups_list(int root_fd, const struct hierarchy *h, const struct identity_rules *rules,
		    struct job_groups *ret, struct error *err);
