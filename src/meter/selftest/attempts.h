/* SPDX-License-Identifier: MIT */
/*
 * attempts - what else this kernel lets us do, each tried for real.  Counting does not rest on
 * these; what is built on them one day is said by @gives.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct attempt {
	const char *name; /* "fentry" */
	const char *where; /* what it was tried on: "vfs_read" */
	const char *gives;
	bool is_well;
	int error; /* what the kernel answered, as -Exxx; 0: none */
	char why[64]; /* why not: "EPERM at load" */
};

#define ATTEMPTS_COUNT 3

void attempts_make(struct attempt ret[ATTEMPTS_COUNT]);
