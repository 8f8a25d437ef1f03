/* SPDX-License-Identifier: MIT */
/* identify - node, rank and batch job of a run, and the name of a file of its own. */
#pragma once

#include <stddef.h>

struct record;
struct error;

/* Node, boot and our version, from proc below @root_fd.  What cannot be read is absent. */
void identify_node(int root_fd, struct record *record);

/* Our rank by the environment; -1: none.  A label: it never decides who owns the job. */
int identify_rank(void);

/* The id of our batch job by the environment, as a part of a file name: shortened, with "_" for
 * characters that a name should not hold; "": none. */
void identify_batch_job(char *ret, size_t size);

/* A file of this run in a directory that ranks of a job, or runs of weeks, share. */
struct own_file { /* begins as {} */
	char *stem;
	char *path; /* NULL: none was chosen */
};

/* "DIR/HOST-START-JOB-rRANK-PID.json", batch job and rank where the environment has them.
 * -ENOMEM. */
int own_file_choose(const char *dir, struct own_file *ret);

/* The name is taken: the next one has "-@number" behind the PID.  -ENOMEM, -EEXIST: enough
 * were tried. */
int own_file_rename(struct own_file *own, unsigned int number);

void own_file_clear(struct own_file *own);
