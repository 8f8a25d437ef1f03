/* SPDX-License-Identifier: MIT */
/* task_times - what the program time and user space share. */
#pragma once

#include <linux/types.h>

#define TIME_CALLS 512 /* system call numbers looked at; more than any machine has */
#define TIME_CAUSES 15 /* the model's, asserted where both are known */

/* What the kernel side has to call by its number itself; the model's, too. */
#define TIME_PAGE_FAULT 5
#define TIME_NETWORK 6
#define TIME_LOCK 7
#define TIME_PIPE 8
#define TIME_CHILDREN 11
#define TIME_THREADS 12
#define TIME_STOPPED 13
#define TIME_OTHER 14

#define TIME_NO_FILE 0xff
#define TIME_AS_BEFORE 0xff /* a call that continues the one before */
#define TIME_FUTEX 0xfe /* a lock or other threads: its arguments decide */

/* What a task that is blocked in a system call waits for; user space fills one for each number. */
struct call_cause {
	__u8 cause; /* user space's number */
	__u8 file; /* the argument, from 0, that is a descriptor; its kind of file decides;
		      TIME_NO_FILE: none */
};

#define TIME_ALL_CPUS \
	(~0U) /* of groups of which those of each CPU would be too many: see time.bpf.c */

/* One for each cause, in the model's order; by name, so that another build knows them. */
struct blocked_times {
	__u64 file_read, file_write, file_meta, file_async;
	__u64 sync, page_fault, network, lock, pipe, poll;
	__u64 sleep, children, threads, stopped, other;
};

/* Of a cgroup, by the CPU that tasks left: struct cgroup_cpu of tasks.h is the key.  All in ns. */
struct task_times {
	__u64 on; /* on that CPU */
	__u64 stolen; /* there, while interrupts or a hypervisor had it */
	__u64 queued; /* ready to run, and waiting for a CPU */
	struct blocked_times blocked;
};

_Static_assert(sizeof(struct call_cause) == 2, "shared with the kernel side");
_Static_assert(sizeof(struct blocked_times) == TIME_CAUSES * 8, "one each");
_Static_assert(sizeof(struct task_times) == (3 + TIME_CAUSES) * 8, "shared with the kernel side");
