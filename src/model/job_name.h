/* SPDX-License-Identifier: MIT */
/*
 * job_name - how people name a job of the past: "123", "slurm/123", and of one node "123@node17".
 */
#pragma once

#include <stdint.h>

struct error;

struct job_name { /* texts are owned */
	char *id;
	char *manager; /* NULL: any */
	char *node; /* NULL: all that it ran on */
	const char *cluster; /* the caller's; NULL: any */
};

void job_name_clear(struct job_name *name); /* one that begins as {} is fine */

/* -EINVAL: it is no such name, and *err says so. */
int job_name_parse(const char *text, struct job_name *ret, struct error *err);

/* What the manager's users call a job that is a part of another: "42_7", the task of an array, or
 * "42+1", the component of a heterogeneous job; -1: it is none.  The caller frees it.  NULL: it has
 * no such name, or there is no memory. */
char *job_name_of_part(const char *id, const char *array_id, int64_t array_index,
		       int64_t het_offset);
