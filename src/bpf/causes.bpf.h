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

const volatile struct call_cause call_causes[TIME_CALLS]; /* set by user space */

static __always_inline bool is_blocked(struct task_struct *task)
{
	__u32 state = task_state(task);

	return state && !(state & (TASK_DEAD | TASK_WAKING | TASK_NEW)) && !is_on_cpu(task);
}

static __always_inline struct file *file_behind(struct files_struct *files, __u64 descriptor)
{
	struct fdtable *table = LOAD(files, fdt);
	struct file *file = NULL;

	if (descriptor >= LOAD(table, max_fds)) /* 0 where there is none */
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), LOAD(table, fd) + descriptor);
	return file;
}

static __always_inline __u32 cause_of_socket(struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);

	return BPF_CORE_READ(socket, sk, __sk_common.skc_family) == AF_UNIX ? TIME_PIPE
									    : TIME_NETWORK;
}

/* Events and the like are regular files on newer kernels, of a file system of their own. */
static __always_inline bool is_anonymous(struct file *file)
{
	return BPF_CORE_READ(file, f_inode, i_sb, s_magic) == ANON_INODE_MAGIC;
}

/* @cause: where it is a file. */
static __always_inline __u32 cause_of_file(struct file *file, __u32 cause)
{
	switch (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) {
	case S_IFREG:
		return is_anonymous(file) ? TIME_PIPE : cause;
	case S_IFDIR:
	case S_IFBLK:
		return cause;
	case S_IFSOCK:
		return cause_of_socket(file);
	}
	return TIME_PIPE;
}

static __always_inline __u32 cause_of_call(struct task_struct *task, const struct pt_regs *regs,
					   __u32 last)
{
	struct files_struct *files = LOAD_EARLY(task, files);
	__u64 nr = call_number(regs);
	__u32 cause, argument;
	struct file *file;

	if (nr >= TIME_CALLS)
		return TIME_OTHER;
	cause = call_causes[nr].cause;
	argument = call_causes[nr].file;
	if (cause == TIME_AS_BEFORE)
		return last;
	if (argument == TIME_NO_FILE)
		return cause;
	file = file_behind(files, (__u32)call_argument(regs, argument));
	return file ? cause_of_file(file, cause) : cause;
}

/* Slurm's, whose threads wait on each other until all tasks of its step have ended.  A name is only
 * a hint, and who takes it upon himself blurs what he himself waits for. */
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
	if (cause == TIME_LOCK && is_launcher(task))
		return TIME_CHILDREN;
	return cause < TIME_CAUSES ? cause : TIME_OTHER;
}
