/* SPDX-License-Identifier: MIT */
/* syscall_selftest - the part of the canary's self-test that tells whether system calls by name are
 * counted right. */
#pragma once

struct syscalls;
struct verdict;

/* To be followed by the process' end. */
void syscall_selftest_run(void);

/* Add to @v which of their hooks counted it right, as of @counted. */
void syscall_selftest_judge(const struct syscalls *counted, struct verdict *v);
