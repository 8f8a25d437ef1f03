/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * causes - what a task that is blocked waits for, from the system call that it is inside of.  All
 * take a task as a tracepoint or an iterator hands it out; its files are read so that they may go
 * meanwhile.
 */
#pragma once

#include "bpf/compat.bpf.h"
#include "bpf/task_times.h"

#define ANON_INODE_MAGIC 0x09041934

/* Of <linux/futex.h>, which defines what clashes with our own types. */
#define FUTEX_WAIT 0
#define FUTEX_WAIT_BITSET 9
#define FUTEX_WAIT_REQUEUE_PI 11
#define FUTEX_PRIVATE_FLAG 128
#define FUTEX_CLOCK_REALTIME 256
#define FUTEX_COMMAND(op) ((op) & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME))
#define FUTEX_CONTENDED 2 /* the value of a lock that others wait for: glibc, Go, Rust */

const volatile struct call_cause call_causes[TIME_CALLS]; /* set by user space */

static __always_inline bool is_blocked(struct task_struct *task)
{
	__u32 state = task_state(task);

	return state && !(state & (TASK_DEAD | TASK_WAKING | TASK_NEW)) && !is_on_cpu(task);
}

/* @cause: where it is a file. */
static __always_inline __u32 cause_of_file(struct file *file, __u32 cause)
{
	struct socket *socket;

	switch (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) {
	case S_IFREG: /* eventfd and the like too, on newer kernels, in a file system of their own
		       */
		return BPF_CORE_READ(file, f_inode, i_sb, s_magic) == ANON_INODE_MAGIC ? TIME_PIPE
										       : cause;
	case S_IFDIR:
	case S_IFBLK:
		return cause;
	case S_IFSOCK:
		socket = BPF_CORE_READ(file, private_data);
		return BPF_CORE_READ(socket, sk, __sk_common.skc_family) == AF_UNIX ? TIME_PIPE
										    : TIME_NETWORK;
	}
	return TIME_PIPE;
}

/* The purpose of a futex is guessed from how libraries wait.  Mutexes: glibc and Go use FUTEX_WAIT
 * while the word is 2, Rust FUTEX_WAIT_BITSET, private, without a timeout.  Barriers (glibc,
 * libgomp): FUTEX_WAIT on their round.  Joins of glibc: FUTEX_WAIT_BITSET with CLOCK_REALTIME on
 * the thread id; so its condition variables and semaphores, on 0 (up to 2.40) or a count of
 * signals.  Idle threads of Go: FUTEX_WAIT on 0.  Mistaken: a barrier's first round (0), timed
 * locks and rwlocks of glibc count as threads; condition variables of musl and an idle pool of
 * libgomp as locks. */
static __always_inline __u32 cause_of_futex(const struct pt_regs *regs)
{
	__u32 op = (__u32)call_argument(regs, 1), value = (__u32)call_argument(regs, 2);

	switch (FUTEX_COMMAND(op)) {
	case FUTEX_WAIT:
		return value ? TIME_LOCK : TIME_THREADS;
	case FUTEX_WAIT_BITSET:
		return op == (FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG) && value == FUTEX_CONTENDED &&
				       !call_argument(regs, 3)
			       ? TIME_LOCK
			       : TIME_THREADS;
	case FUTEX_WAIT_REQUEUE_PI: /* a condition variable's */
		return TIME_THREADS;
	}
	return TIME_LOCK; /* with priority inheritance */
}

static __always_inline __u32 cause_of_call(struct task_struct *task, const struct pt_regs *regs,
					   __u32 last)
{
	struct files_struct *files = LOAD(read_only(task), files);
	__u64 nr = call_number(regs);
	__u32 cause, argument;
	struct file *file;

	if (nr >= TIME_CALLS)
		return TIME_OTHER;
	cause = call_causes[nr].cause;
	argument = call_causes[nr].file;
	if (cause == TIME_AS_BEFORE)
		return last;
	if (cause == TIME_FUTEX)
		return cause_of_futex(regs);
	if (argument == TIME_NO_FILE)
		return cause;
	file = far_file(LOAD(files, fdt), (__u32)call_argument(regs, argument));
	return file ? cause_of_file(file, cause) : cause;
}

/* srun's threads wait on each other until all tasks of its step have ended.  The name is only a
 * hint; a program that takes it blurs its own wait times. */
static __always_inline bool is_launcher(const struct task_struct *task)
{
	return task->comm[0] == 's' && task->comm[1] == 'r' && task->comm[2] == 'u' &&
	       task->comm[3] == 'n' && !task->comm[4];
}

/* @state: the one in which it left the CPU; @last: what it waited for the time before. */
static __always_inline __u32 cause_of(struct task_struct *task, __u32 state, __u32 last)
{
	const struct pt_regs *regs;
	__u32 cause;

	if (state & (TASK_STOPPED | TASK_TRACED | TASK_FROZEN) || task->jobctl & JOBCTL_TRAP_FREEZE)
		return TIME_STOPPED;
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER) || is_compat_call(task))
		return TIME_OTHER;
	regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	if (!is_in_call(regs))
		return TIME_PAGE_FAULT;
	cause = cause_of_call(task, regs, last);
	if ((cause == TIME_LOCK || cause == TIME_THREADS) && is_launcher(task))
		return TIME_CHILDREN;
	return cause < TIME_CAUSES ? cause : TIME_OTHER;
}
