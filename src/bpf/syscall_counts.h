/* SPDX-License-Identifier: MIT */
/* syscall_counts - what the programs that count all system calls share with user space. */
#pragma once

#include <linux/types.h>

/* Calls by their numbers, each way into the kernel for itself; what is beyond is one row. */
#define SYSCALL_NATIVE 0
#define SYSCALL_COMPAT 512 /* 32-bit calls: int 0x80, and 32-bit programs */
#define SYSCALL_X32 1024 /* those of x32 have numbers from 512 on, too */
#define SYSCALL_BEYOND 1600
#define SYSCALL_ROWS 1601

#define SYSCALL_X32_BIT 0x40000000

/* What is peculiar about a call. */
#define SYSCALL_MAKES_TASK 1 /* the new task returns from it, too */
#define SYSCALL_EXECUTES 2
#define SYSCALL_HAS_NO_RESULT 4 /* what it seems to return is what was interrupted by a signal */
#define SYSCALL_GOES_ON 8 /* the kernel's own: an interrupted call continues */
#define SYSCALL_IS_TRAP 16 /* not the program's: the kernel put it there for a probe */

/* If groups are counted separately. */
struct syscall_key {
	__u64 cgroup;
	__u32 row, cpu; /* which alone writes it */
};

/* A row of a CPU. */
struct syscall_counts {
	__u64 calls, errors, ns, longest_ns;
};

/* The call that a task is inside of. */
struct syscall_now {
	__u64 task; /* 0: none */
	__u64 start_ns; /* by CLOCK_MONOTONIC */
	__u64 cgroup; /* in which it began; if groups are counted separately */
	__u32 row;
	__s32 interrupted; /* by a signal, and what it returned then; 0: it was not */
};

/* watch.is_following of these programs. */
#define SYSCALL_FOLLOW_NONE 0
#define SYSCALL_FOLLOW_ALL 1
#define SYSCALL_FOLLOW_PROGRAM \
	2 /* from the next program on that is started: then it is SYSCALL_FOLLOW_ALL */

_Static_assert(sizeof(struct syscall_key) == 16, "shared with the kernel side");
_Static_assert(sizeof(struct syscall_counts) == 32, "shared with the kernel side");
_Static_assert(sizeof(struct syscall_now) == 32, "shared with the kernel side");
