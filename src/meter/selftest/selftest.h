/* SPDX-License-Identifier: MIT */
/*
 * self-test - the operations of the canary: each operation on files once, as a table, with the
 * place where it should be counted.
 *
 * Then it sends a few bytes to itself over TCP, if there is a loopback.  All of it runs in memory.
 * libaio, whose end the kernel delays by some 30 ms, and mappings, which need a file on storage,
 * are run only if the fixture has what they need.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/file_op.h"

#define SELFTEST_CASES_MAX 64
#define SELFTEST_SLEEP_NS UINT64_C(1000000) /* how long the canary sleeps in a read at least */
#define CASE_NOT_RUN (-999999L) /* no result of any call */

enum case_place {
	CASE_ON_FIXTURE, /* the file system of the canary's directory */
	CASE_ON_PIPE,
	CASE_ON_STORAGE,
};

struct fixture;
struct syscalls;
struct verdict;

/* One system call, or what a function does. */
struct case_ {
	enum file_op op;
	enum file_interface interface;
	enum case_place place;
	const char *placed_by; /* the hook that its place depends on; NULL: the call shows it */
	long (*run)(struct fixture *fixture, const struct case_ *v);
	long nr, arguments[6];
	int keeps; /* the result is this descriptor of the stage; 0: none */
	bool is_copy; /* it is a write as well, whose place is @to */
	enum case_place to;
	bool is_ended_by_signal;
};

const struct case_ *selftest_cases(size_t *ret_count);

/* In the canary, once: run, and note the results, a case each.  Nothing is given back: the process
 * ends. -EIO: too little of it was possible to judge by. */
int selftest_run(struct fixture *s);

/* The part for system calls by name: to be followed by the process' end. */
void syscall_selftest_run(void);
/* Add to @v which of their hooks counted it right, as of @counted. */
void syscall_selftest_judge(const struct syscalls *counted, struct verdict *v);
