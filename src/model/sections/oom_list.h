/* SPDX-License-Identifier: MIT */
/* oom_list - processes of a job that the kernel killed for want of memory: a record's
 * memory.oom. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/reading.h"

#define OOM_LIST_MAX 32 /* the first ones; memory.oom_kills tells how many there were */
#define OOM_KILL_COMMAND_SIZE 48 /* the kernel's 15 bytes, none of them of UTF-8 perhaps */

struct oom_kill {
	uint64_t time_ns; /* since the epoch; 0: not known */
	int pid;
	int64_t uid; /* -1: not known */
	char command[OOM_KILL_COMMAND_SIZE]; /* as the kernel names the process; "": not known */
	struct value rss, anon, file, shmem; /* bytes that it had in memory just before; rss: all of
						them together */
};

struct oom_list { /* begins as {}; by time */
	struct oom_kill items[OOM_LIST_MAX];
	size_t count;
};

/* One that is there already is not added again; of too many the last are left out.  Whether it is a
 * new one. */
bool oom_list_add(struct oom_list *v, const struct oom_kill *oom_kill);
int oom_list_merge(void *sum, const void *part); /* struct oom_list; always 0 */
/* The one that had most; NULL: of none it is known. */
const struct oom_kill *oom_list_largest(const struct oom_list *v);
