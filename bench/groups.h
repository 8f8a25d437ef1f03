/* SPDX-License-Identifier: MIT */
/* groups - cgroups like those of a node full of Slurm jobs, some with a process that sleeps. */
#pragma once

#include <stddef.h>

#include "hierarchy.h"

struct error;
struct groups;

/* @count jobs, in every hierarchy that there is; every @every'th has a process (0: none).  @h and @root_fd must outlive
 * it.  They are removed when it is freed. */
int groups_make(int root_fd, const struct hierarchy *h, size_t count, size_t every, struct groups **ret,
		struct error *err);
struct groups *groups_remove(struct groups *g); /* NULL is fine; returns NULL */
void groups_removep(struct groups **g);

/* The path in the key hierarchy of one of them; holds until the next call. */
const char *groups_path(struct groups *g, size_t index);
