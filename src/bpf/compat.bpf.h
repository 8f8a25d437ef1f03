/* SPDX-License-Identifier: MIT */
/* compat - what differs between kernels and machines, and nowhere else. */
#pragma once

#include "kernel.h"

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 0x0002 /* the call came through a 32-bit gate: other numbers */

static __always_inline __u64 call_first_argument(const struct pt_regs *regs)
{
	return regs->di;
}

static __always_inline long call_number(const struct pt_regs *regs)
{
	return (long)regs->orig_ax;
}

static __always_inline long call_result(const struct pt_regs *regs)
{
	return (long)regs->ax;
}

static __always_inline bool is_compat_call(const struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}
#elif defined(__TARGET_ARCH_arm64)
static __always_inline __u64 call_first_argument(const struct pt_regs *regs)
{
	return regs->orig_x0;
}

static __always_inline long call_number(const struct pt_regs *regs)
{
	return regs->syscallno;
}

static __always_inline long call_result(const struct pt_regs *regs)
{
	return (long)regs->regs[0];
}

static __always_inline bool is_compat_call(const struct task_struct *task)
{
	return false; /* 32-bit ARM shares neither numbers nor kernels with the machines we know */
}
#endif
