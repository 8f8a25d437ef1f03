/* SPDX-License-Identifier: MIT */
/* victims - processes of a job that the kernel killed for want of memory: a record's memory.oom. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/reading.h"

#define VICTIMS_MAX 32 /* the first ones; memory.oom_kills tells how many there were */
#define VICTIM_COMMAND_SIZE 48 /* the kernel's 15 bytes, none of them of UTF-8 perhaps */

struct document;
struct place;

struct victim {
	uint64_t time_ns; /* since the epoch; 0: not known */
	int pid;
	int64_t uid; /* -1: not known */
	char command[VICTIM_COMMAND_SIZE]; /* as the kernel names the process; "": not known */
	struct value rss, anon, file, shmem; /* bytes that it had in memory just before; rss: all of them together */
};

struct victims { /* begins as {}; by time */
	struct victim items[VICTIMS_MAX];
	size_t count;
};

/* One that is there already is not added again; of too many the last are left out.  Whether it is a new one. */
bool victims_add(struct victims *v, const struct victim *victim);
int victims_merge(void *sum, const void *part); /* struct victims; always 0 */
/* The one that had most; NULL: of none it is known. */
const struct victim *victims_largest(const struct victims *v);

/* As those of a section: of struct victims. */
void victims_format(const void *section, struct document *d);
int victims_parse(const struct place *place, const json_t *list, void *ret);
