/* SPDX-License-Identifier: MIT */
/* tasks - what the program tasks and user space share. */
#pragma once

#include <linux/types.h>

/* What the kernel keeps of a task anyway.  User and system are a whole process', and stand with its
 * main thread; the rest is each thread's own. */
struct task_counters {
	__u64 user_ns, system_ns;
	__u64 run_delay_ns;
	__u64 voluntary_switches, involuntary_switches;
	__u64 minor_faults, major_faults;
	__u64 rchar, wchar, syscr, syscw;
	__u64 read_bytes, write_bytes;
};
#define TASK_COUNTERS (sizeof(struct task_counters) / sizeof(__u64))

struct leaf_cpu {
	__u64 leaf;
	__u32 cpu;
	__u32 pad;
};

/* Of a leaf, by the CPU that counted. */
struct task_totals {
	struct task_counters ended; /* sum over the tasks that were freed, or moved away */
	__u64 exits, frees;         /* while they differ, an end is not yet in the sum */
	__u64 process_peak_pages;   /* greatest resident set of one process */
	__u32 uid;		    /* of the first task freed that was not root's; 0: none was */
	__u32 pad;
};

/* A task that has ended and is not yet freed; its time on a CPU may still grow. */
struct leaving_task {
	__u64 leaf;
	__u32 pid, pad;
	__u64 ended_ns;		       /* by CLOCK_BOOTTIME */
	struct task_counters counters; /* less its base */
};

/* What the iterator writes of a live task, or one not yet freed. */
struct task_record {
	__u64 leaf;
	__u32 pid, tgid;
	__u32 uid, pad;
	struct task_counters counters; /* user and system: this thread's raw ones */
	__u64 exec_ns;                 /* this thread's time on a CPU */
	/* Of the whole process, as far as threads have ended: raw, with the time on a CPU. */
	__u64 ended_user_ns, ended_system_ns, ended_exec_ns;
	/* What getrusage said last of the whole process. */
	__u64 said_user_ns, said_system_ns;
	struct task_counters base;     /* to be taken off: done before it came here */
};

_Static_assert(sizeof(struct task_counters) == 13 * 8, "shared with the kernel side");
_Static_assert(sizeof(struct leaf_cpu) == 16, "shared with the kernel side");
_Static_assert(sizeof(struct task_totals) == 17 * 8, "shared with the kernel side");
_Static_assert(sizeof(struct leaving_task) == 24 + 13 * 8, "shared with the kernel side");
_Static_assert(sizeof(struct task_record) == 24 + 13 * 8 + 6 * 8 + 13 * 8,
	       "shared with the kernel side");
