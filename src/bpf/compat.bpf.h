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

/* Argument @n of a system call, from 0; those beyond the fifth are nobody's here. */
static __always_inline __u64 call_argument(const struct pt_regs *regs, __u8 n)
{
	switch (n) {
	case 0:
		return regs->di;
	case 1:
		return regs->si;
	case 2:
		return regs->dx;
	case 3:
		return regs->r10;
	case 4:
		return regs->r8;
	}
	return 0;
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
static __always_inline __u64 call_argument(const struct pt_regs *regs, __u8 n)
{
	switch (n) {
	case 0:
		return regs->orig_x0;
	case 1:
		return regs->regs[1];
	case 2:
		return regs->regs[2];
	case 3:
		return regs->regs[3];
	case 4:
		return regs->regs[4];
	}
	return 0;
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

enum pageflags {
	PG_head,
};

struct folio___plain_flags { /* until Linux 6.17 */
	unsigned long flags;
} __attribute__((preserve_access_index));

struct memdesc_flags { /* the kernel's memdesc_flags_t; 53fbef56e07d "mm: introduce memdesc_flags_t" */
	unsigned long f;
} __attribute__((preserve_access_index));

struct folio___memdesc {
	struct memdesc_flags flags;
} __attribute__((preserve_access_index));

struct folio___nr_pages { /* until Linux 6.13 */
	unsigned int _folio_nr_pages;
} __attribute__((preserve_access_index));

struct folio___pages {
	unsigned int _nr_pages;
} __attribute__((preserve_access_index));

static __always_inline bool is_large_folio(const struct folio *folio)
{
	const struct folio___memdesc *new = (const void *)folio;
	const struct folio___plain_flags *old = (const void *)folio;
	unsigned long flags;

	if (bpf_core_field_exists(new->flags.f))
		flags = new->flags.f;
	else
		flags = old->flags;
	return flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1;
}

static __always_inline __u32 folio_pages(const struct folio *folio)
{
	const struct folio___nr_pages *old = (const void *)folio;
	const struct folio___pages *new = (const void *)folio;

	if (!is_large_folio(folio))
		return 1;
	if (bpf_core_field_exists(new->_nr_pages))
		return new->_nr_pages;
	return old->_folio_nr_pages;
}
