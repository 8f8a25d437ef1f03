/* SPDX-License-Identifier: MIT */
/*
 * syscalls - what system calls a job made, by their names: calls, errors and time, on demand.
 *
 * Each name once.  A call is one that returned, or in which its thread ended; one that goes on is
 * not in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/reading.h"

#define SYSCALLS_MAX 2047 /* names, beside "(other)" */
#define SYSCALL_NAME_MAX 63 /* bytes */
#define SYSCALL_NUMBERS (METRIC_SYSCALL_END - METRIC_SYSCALL_FIRST)

struct syscall_row {
	char name[SYSCALL_NAME_MAX + 1]; /* "read"; "read (i386)" of a 32-bit program; "syscall_777"
					    of an unknown one */
	/* By metric, from METRIC_SYSCALL_FIRST on.  Of a part of its life only it is not known how
	 * long the longest one took. */
	struct value numbers[SYSCALL_NUMBERS];
};

struct syscalls {
	bool is_known;
	struct syscall_row *items; /* owned */
	size_t count;
};

void syscall_set(struct syscall_row *row, enum metric_id id, uint64_t number);
struct value syscall_number(const struct syscall_row *row, enum metric_id id);

/* NULL: there is none of that name. */
struct syscall_row *syscalls_find(const struct syscalls *s, const char *name);
/* The row of that name, which is added if there is none, or that of all others; the list's until
 * its next call.  A name that is too long is cut.  NULL: no memory. */
struct syscall_row *syscalls_get(struct syscalls *s, const char *name);

/* Counters are summed, of peaks the greater stays; in no order until syscalls_sort().  -ENOMEM. */
int syscalls_add(struct syscalls *s, const struct syscall_row *row);

/* A metric over all names; counters only. */
uint64_t syscalls_total(const struct syscalls *s, enum metric_id id);

/* By time, then calls, then name: those that took most first. */
void syscalls_sort(struct syscalls *s);

/* Leaves it empty, and unknown. */
void syscalls_clear(void *section); /* struct syscalls */
