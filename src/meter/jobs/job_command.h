/* SPDX-License-Identifier: MIT */
/*
 * job_command - what a job runs of which nobody told us the name: the oldest of its processes that
 * is not its manager's own, its command as the kernel has it (15 bytes, no arguments), and the name
 * that the manager gave the job, as that process' environment has it: a label, which the job's
 * owner may set as he likes, as he may the name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hierarchy;

#define JOB_COMMAND_SIZE 64
#define JOB_LABEL_SIZE 256

struct job_command { /* begins as {} */
	pid_t pid; /* 0: none was found yet */
	uint64_t start; /* in ticks of the clock since boot: with the pid it is this process and no
			   other */
	char name[JOB_COMMAND_SIZE];
	char label[JOB_LABEL_SIZE]; /* "": none; cut where it is longer */
};

/* Look below the group of that path in the key hierarchy.  What stands in a batch script's own name
 * (slurm_script) only counts where there is nothing else.  -ENOENT: there is none; then *ret stays
 * as it was. */
int job_command_find(int root_fd, const struct hierarchy *h, const char *manager, const char *path,
		     struct job_command *ret);

/* Is what is found here all that says what a job of the manager is called: its label, or the
 * command of a `run`? */
bool job_command_names(const char *manager);

/* Does that process, known by both, still run the command of that name?  @pid may be 0, and @name
 * NULL: then not. */
bool job_command_lives(int root_fd, pid_t pid, uint64_t start, const char *name);

/* "PID (COMM) STATE PPID ..." of proc's stat files; COMM may hold anything.  -EINVAL: it is none;
 * *ret stays as it was. */
int job_command_parse_stat(const char *text, struct job_command *ret);
