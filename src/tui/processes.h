/* SPDX-License-Identifier: MIT */
/*
 * processes - the processes of jobs on the node, from /proc: group, CPU time, memory, state.
 *
 * All users may read these of all processes, unless /proc is mounted with hidepid; bytes read and
 * written only of their own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/reading.h"

struct error;
struct hierarchy;

#define PROCESSES_MAX 65536
#define PROCESS_NAME_SIZE 64

struct process_place { /* of a group; strings are the place's, "": none */
	char *manager, *id, *step, *task;
};

struct process {
	pid_t pid;
	uint64_t start_ns; /* since boot: with the pid it is this process and no other */
	char name[PROCESS_NAME_SIZE];
	char state; /* 'R' */
	uint64_t threads;
	uint64_t cpu_ns;
	uint64_t resident_bytes;
	struct value read, written; /* rchar and wchar */
	const struct process_place *place; /* the reader's */
};

struct processes {
	uint64_t boot_ns; /* when reading began */
	struct process *items; /* by pid */
	size_t count;
};

/* The text of proc/PID/stat: times in ticks of the clock, memory in pages; place, read and written
 * are left alone. -EINVAL: it is none. */
int process_parse_stat(const char *text, struct process *ret);

struct processes_reader;

/*
 * @locate: the job of a group, by its path in the key hierarchy, into an empty place whose strings
 * the reader frees; -ENOENT: none, or none that we may see; another error:
 * unknown now, and reading fails with it. Called once per group.
 */
struct processes_options {
	int root_fd; /* stays the caller's */
	const struct hierarchy *hierarchy;
	int (*locate)(void *context, const char *path, struct process_place *ret);
	void *context;
};
struct processes_reader *processes_open(const struct processes_options *options); /* NULL: no memory
										   */
struct processes_reader *processes_close(struct processes_reader *r); /* NULL is fine; returns NULL
								       */

/* All that are part of a job.  *ret points to places of the reader, which hold until the next call
 * returns, if that succeeds. */
int processes_read(struct processes_reader *r, struct processes *ret, struct error *err);
void processes_clear(struct processes *p);
/* NULL: it was not there. */
const struct process *processes_find(const struct processes *p, pid_t pid, uint64_t start_ns);
