/* SPDX-License-Identifier: MIT */
/* tasks - what the program tasks and user space share. */
#pragma once

#include <linux/types.h>

/* What the kernel keeps of a task anyway.  User and system are of the whole process, in its main
 * thread; the rest is each thread's own. */
struct task_counters {
	__u64 user_ns, system_ns;
	__u64 run_delay_ns;
	__u64 voluntary_switches, involuntary_switches, migrations;
	__u64 minor_faults, major_faults;
	__u64 rchar, wchar, syscr, syscw;
	__u64 read_bytes, write_bytes;
};
#define TASK_COUNTERS (sizeof(struct task_counters) / sizeof(__u64))

struct cgroup_cpu {
	__u64 cgroup;
	__u32 cpu;
	__u32 pad;
};

/*
 * Those threads of one process that worked.  Threads that did little by the side of the busiest
 * one, such as those that only start others, are no part of it: see THREADS_REACH.
 */
struct busiest_threads {
	__u64 count;
	__u64 sum_ns, greatest_ns; /* on a CPU */
};

/*
 * Threads of one process by their time on a CPU, until it is known what the busiest one did: by the
 * power of two, all below 2^25 ns in the first and all from 2^47 ns (39 h) on in the last.  Of the
 * busiest one's level, and of so many below it, are the threads of its threads: all that did an
 * eighth of what it did, and none that did less than a sixteenth.
 */
#define THREAD_LEVELS 24
#define THREAD_LEVELS_FROM 24
#define THREADS_REACH 3
struct thread_levels {
	__u64 greatest_ns;
	__u64 first_end_ns; /* of those that ended and were of the busiest then; 0: none did */
	__u64 are_apart; /* one of them began when another had ended: teams for parts of the work,
			    which are not compared */
	__u64 sums_ns[THREAD_LEVELS];
	__u32 counts[THREAD_LEVELS];
};

/* Of a cgroup, by the CPU that counted. */
struct task_totals {
	struct task_counters ended; /* sum over the tasks that were freed, or moved away */
	__u64 exits, frees; /* while they differ, an end is not yet in the sum */
	__u64 process_peak_pages; /* greatest resident set of one process */
	__u32 uid; /* of the first task freed that was not root's; 0: none was */
	__u32 crashed; /* processes that a fault ended */
	struct busiest_threads busiest; /* of that of its processes, freed by now, that did most */
	__u64 is_taken; /* a CPU writes the threads */
};

/* A task that has ended and is not yet freed; its time on a CPU may still grow. */
struct leaving_task {
	__u64 cgroup;
	__u32 pid, crashed; /* 1: a fault ended the process, of which it was the main thread */
	__u64 ended_ns; /* by CLOCK_BOOTTIME */
	struct task_counters counters; /* less its base */
};

/* What the iterator writes: of each live task, or one not yet freed; and of those threads of a
 * process that ended. */
struct task_record {
	__u64 cgroup;
	__u32 pid, tgid; /* pid 0: here are ended threads */
	__u32 uid;
	__u32 is_zombie; /* 1: it has ended and left its CPU, so that its counters are final */
	union {
		struct {
			struct task_counters counters; /* user and system: this thread's raw ones */
			__u64 exec_ns; /* this thread's time on a CPU */
			/* Of the whole process, as far as threads have ended: raw, with the time on
			 * a CPU. */
			__u64 ended_user_ns, ended_system_ns, ended_exec_ns;
			/* What getrusage said last of the whole process. */
			__u64 said_user_ns, said_system_ns;
			struct task_counters base; /* to be taken off: done before it came here */
			__u64 started_ns; /* by CLOCK_BOOTTIME: no other task has had its pid and
					     this */
		};
		struct thread_levels ended;
	};
};

/* What a task had done when another agent counted it last; its key is the pid. */
struct earlier_task {
	__u64 started_ns; /* else another one has the pid now */
	struct task_counters counters;
};

/* A process that the OOM killer ended.  Its key is a struct cgroup_cpu, whose cpu counts the kills
 * of the cgroup from 0. */
#define OOM_KILLS_OF_CGROUP 8 /* that are kept */
struct oom_kill_entry {
	__u64 killed_ns; /* by CLOCK_BOOTTIME */
	__u64 anon_pages, file_pages, shmem_pages; /* that it had in memory just before */
	__u32 pid, uid; /* of the process */
	__u32 has_pages; /* 0: they are not known */
	__u32 more; /* of the last one kept: those of its cgroup that were killed later */
	char command[16];
};

/* Between two samples of a CPU: some 50 a second, and no multiple of a tick or of a round number of
 * ms, so that a program in step with those is not sampled at one place. */
#define SPIN_SAMPLE_NS 20011003ULL

/* Polling of a cgroup, by the CPU that counted; the key is a struct cgroup_cpu. */
struct polls {
	__u64 polls; /* that were not to wait, and found nothing */
	__u64 yields; /* of the CPU */
	__u64 ns; /* CPU time in code that waits: SPIN_SAMPLE_NS for each sample there */
};

_Static_assert(sizeof(struct oom_kill_entry) == 64, "shared with the kernel side");
_Static_assert(sizeof(struct polls) == 24, "shared with the kernel side");
_Static_assert(sizeof(struct task_counters) == 14 * 8, "shared with the kernel side");
_Static_assert(sizeof(struct earlier_task) == 15 * 8, "shared with the kernel side");
_Static_assert(sizeof(struct cgroup_cpu) == 16, "shared with the kernel side");
_Static_assert(sizeof(struct task_totals) == 22 * 8, "shared with the kernel side");
_Static_assert(sizeof(struct leaving_task) == 24 + 14 * 8, "shared with the kernel side");
_Static_assert(sizeof(struct thread_levels) == 24 + THREAD_LEVELS * 12,
	       "shared with the kernel side");
_Static_assert(sizeof(struct task_record) == 24 + 24 + THREAD_LEVELS * 12,
	       "shared with the kernel side");
