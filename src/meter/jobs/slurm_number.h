/* SPDX-License-Identifier: MIT */
/*
 * slurm_number - the number of a job whose cgroup has its SLUID for a name, as Slurm 26.05 names
 * them.  The prolog's file has it (prolog.h); without one, slurmstepd says it in its title:
 * "slurmstepd: [42.batch]".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct hierarchy;

/* The letter s and 13 characters of Crockford's base 32. */
bool slurm_is_sluid(const char *name);

/* Of the job whose top group has that path in the key hierarchy.  Only a process of root's in the
 * group that slurmstepd has for itself, SLUID/step_X/slurm, is believed: users' processes have any
 * title.  -ENOENT: there is none, or not yet. */
int slurm_number_find(int root_fd, const struct hierarchy *h, const char *path, char *ret,
		      size_t size);
