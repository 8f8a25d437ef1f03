/* SPDX-License-Identifier: MIT */
/* own_file - a file of this run's own, in a directory where others write theirs: ranks of a job,
 * runs of weeks. */
#pragma once

struct error;

struct own_file { /* begins as {} */
	char *stem;
	char *path; /* NULL: none was chosen */
};

/* "DIR/HOST-START-JOB-rRANK-PID.json", batch job and rank where the environment tells them.
 * -ENOMEM. */
int own_file_choose(const char *dir, struct own_file *ret);

/* Somebody has that name: the next one has "-@number" behind the PID.  -ENOMEM, -EEXIST: enough
 * were tried. */
int own_file_rename(struct own_file *own, unsigned int number);

void own_file_clear(struct own_file *own);
