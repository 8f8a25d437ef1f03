/* SPDX-License-Identifier: MIT */
/* own_file - a file of this run's own, in a directory where others write theirs: ranks of a job, runs of weeks. */
#pragma once

struct error;

struct own_file { /* begins as {} */
	char *stem;
	char *path; /* as it would be, until it is claimed; NULL: none was chosen */
};

/* "DIR/HOST-START-JOB-rRANK-PID.json", batch job and rank where the environment tells them.  -ENOMEM. */
int own_file_choose(const char *dir, struct own_file *ret);

/* Make the file, empty, under the first name that nobody has: that, or with "-2", "-3" and so on behind the PID. */
int own_file_claim(struct own_file *own, struct error *err);

void own_file_clear(struct own_file *own);
