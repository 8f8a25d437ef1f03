/* SPDX-License-Identifier: MIT */
/*
 * inside - the probed function that a thread was in before it was probed (`--pid` of a job that
 * hangs), found by the return addresses on its stack.
 *
 * An address in a function counts only if above it is one behind a call of exactly that function,
 * which remains of earlier calls lack.  Calls through pointers are not found.  x86-64.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sites;

/* The row of the outermost one.  -ENOENT: none, or not known. */
int inside_find(const struct sites *sites, pid_t pid, uint64_t stack, uint64_t instruction,
		size_t *ret_row);
