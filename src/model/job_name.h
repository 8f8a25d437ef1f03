/* SPDX-License-Identifier: MIT */
/*
 * job_name - how people name a job of the past: "123", "slurm/123", and of one node "123@node17".
 */
#pragma once

struct error;

struct job_name { /* texts are owned */
	char *id;
	char *manager; /* NULL: any */
	char *node; /* NULL: all that it ran on */
};

void job_name_clear(struct job_name *name); /* one that begins as {} is fine */

/* -EINVAL: it is no such name, and *err says so. */
int job_name_parse(const char *text, struct job_name *ret, struct error *err);
