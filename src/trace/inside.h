/* SPDX-License-Identifier: MIT */
/*
 * inside - which probed function a thread has been in since before it was probed, as after
 * `--pid` of a job that hangs: by the return addresses on its stack.
 *
 * An address within a function is believed if above it stands one behind a call of just that
 * function: remains of earlier calls have none.  Calls through pointers are not found.  x86-64.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sites;

/* The outermost one, by its row.  -ENOENT: it is in none, or that cannot be told. */
int inside_find(const struct sites *sites, pid_t pid, uint64_t stack, uint64_t instruction,
		size_t *ret_row);
