/* SPDX-License-Identifier: MIT */
/* syscall_lines - the system calls of a record, those that took most time first, in words for a table. */
#pragma once

#include <stddef.h>

#include "humanize.h"

struct record;

#define SYSCALL_LINES_SHOWN 12
#define SYSCALL_CELLS 6

extern const char *const syscall_heads[SYSCALL_CELLS + 1]; /* of the name, and of the cells */

struct syscall_line {
	const char *name; /* the record's */
	struct human cells[SYSCALL_CELLS];
};

/* At most SYSCALL_LINES_SHOWN.  Returns how many; 0: they were not asked for, or there were none. */
size_t syscall_lines(const struct record *r, struct syscall_line ret[SYSCALL_LINES_SHOWN]);

/* "and 31 more: 1,204 calls, 17 failed, 3.1 ms"; "" where all are shown. */
struct syscall_rest {
	char text[160];
} syscall_rest(const struct record *r);
