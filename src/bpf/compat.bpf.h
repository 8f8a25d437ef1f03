/* SPDX-License-Identifier: MIT */
/*
 * compat - what differs between kernels and machines, and nowhere else.
 *
 * Each object is compiled twice, and user space loads the first that the kernel takes: one for
 * Linux 6.1 and later; and with OLD_KERNEL defined one for kernels from 5.10 on, which asks for
 * each difference at load and reads the current task by probe reads.  Both have the same maps and
 * programs.
 */
#pragma once

#include "bpf/kernel.h"
#include "bpf/settings.h"

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/*
 * The current task, and a field of it.  LOAD() is one load where the verifier knows the pointer's
 * type, which it does from Linux 5.11 on; before, the task is an address like any other.
 * 3ca1032ab7ab "bpf: Implement get_current_task_btf and RET_PTR_TO_BTF_ID"
 */
#ifndef OLD_KERNEL
#define LOAD(from, field) ((from)->field)

static __always_inline struct task_struct *current_task(void)
{
	return bpf_get_current_task_btf();
}
#else
#define LOAD(from, field) BPF_CORE_READ(from, field)

static __always_inline struct task_struct *current_task(void)
{
	return (struct task_struct *)bpf_get_current_task();
}
#endif

/*
 * The same object, whose pointers may be followed and not handed to the kernel.  From a pointer
 * that it trusts, the verifier of recent kernels (6.12's, and not yet 6.1's) searches all of the
 * kernel's types by name, up to four times at each load of another pointer and on each path to it:
 * a millisecond a load and path.  Without the trust it does not, and bpf_rdonly_cast() costs one
 * move.  fd264ca02094 "bpf: Add a kfunc to type cast from bpf uapi ctx to kernel ctx", Linux 6.2
 */
#if defined(OLD_KERNEL) || defined(KEEPS_TRUST)
#define READ_ONLY(from, type) (from)
#else
#define READ_ONLY(from, type)                                                                    \
	({                                                                                       \
		typeof(from) cast;                                                               \
		asm volatile("r1 = %[from_]\n\t"                                                 \
			     "r2 = %[type_]\n\t" /* user space looks for these two */            \
			     "call %[call_]\n\t"                                                 \
			     "%[cast_] = r0"                                                     \
			     : [cast_] "=r"(cast)                                                \
			     : [from_] "r"(from), [type_] "i"(type), [call_] "i"(READ_ONLY_CALL) \
			     : "r0", "r1", "r2", "r3", "r4", "r5");                              \
		cast;                                                                            \
	})
#endif

static __always_inline struct task_struct *read_only(const struct task_struct *task)
{
	return READ_ONLY((struct task_struct *)task, READ_ONLY_TASK);
}

/*
 * Call @step(i, context) with each i below @times, until one returns other than 0.  With bpf_loop()
 * the verifier checks the step once, else each round: use this for every loop of more than a few
 * rounds.  e6f2dd0f8067 "bpf: Add bpf_loop helper", Linux 5.17
 */
static __always_inline void repeat(__u32 times, long (*step)(__u32 i, void *context), void *context)
{
#ifndef OLD_KERNEL
	bpf_loop(times, step, context, 0);
#else
	for (__u32 i = 0; i < times && !step(i, context); i++)
		;
#endif
}

/*
 * What CPUs do to one number together, beyond adding.
 * 5ffa25502b5a "bpf: Add instructions for atomic_[cmp]xchg", Linux 5.12; before, the same is done
 * step by step, which is almost always right.
 */
#ifndef OLD_KERNEL
#define RAISE_TRIES 8
#define TAKE_TRIES 64

static __always_inline void raise(__u64 *to, __u64 least)
{
	for (int i = 0; i < RAISE_TRIES; i++) {
		__u64 seen = *(volatile __u64 *)to;

		if (seen >= least || __sync_val_compare_and_swap(to, seen, least) == seen)
			return;
	}
}

struct taking {
	__u64 *flag;
	__u64 is_taken;
};

static __always_inline long try_to_take(__u32 i, void *context)
{
	struct taking *taking = context;

	taking->is_taken = __sync_val_compare_and_swap(taking->flag, 0, 1) == 0;
	return taking->is_taken;
}

static __always_inline bool take(__u64 *flag)
{
	struct taking taking = { .flag = flag };

	repeat(TAKE_TRIES, try_to_take, &taking);
	return taking.is_taken;
}

static __always_inline void give_back(__u64 *flag)
{
	__sync_lock_test_and_set(flag, 0);
}

/* Nobody has changed it meanwhile. */
static __always_inline bool replace(__u32 *number, __u32 before, __u32 new)
{
	return __sync_val_compare_and_swap(number, before, new) == before;
}
#else
static __always_inline void raise(__u64 *to, __u64 least)
{
	volatile __u64 *now = to;

	for (int i = 0; i < 4 && least > *now; i++)
		*now = least;
}

static __always_inline bool take(__u64 *flag)
{
	return true;
}

static __always_inline void give_back(__u64 *flag)
{
}

static __always_inline bool replace(__u32 *number, __u32 before, __u32 new)
{
	*(volatile __u32 *)number = new;
	return true;
}
#endif

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 0x0002 /* the call came through a 32-bit gate: other numbers */

/* Argument @n of a system call, from 0; those beyond the fifth are not needed. */
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

static __always_inline __u64 instruction_of(const struct pt_regs *regs)
{
	return regs->ip;
}

/* The same by probe reads. */
static __always_inline long far_call_number(const struct pt_regs *regs)
{
	return (long)BPF_CORE_READ(regs, orig_ax);
}

static __always_inline long far_call_result(const struct pt_regs *regs)
{
	return (long)BPF_CORE_READ(regs, ax);
}

static __always_inline bool is_compat_call(const struct task_struct *task)
{
	return LOAD(task, thread_info.status) & TS_COMPAT;
}

/*
 * Did the task with these @regs enter the kernel by a system call?  SYSCALL puts the address
 * to return to into a register; other ways in leave that alone.  Under FRED, which notes the way
 * above the stack's segment, the kernel sees to it that only calls have a number.
 */
static __always_inline bool is_in_call(const struct pt_regs *regs)
{
	if (regs->ss >> 16)
		return (long)regs->orig_ax >= 0;
	return regs->cx == regs->ip;
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

static __always_inline __u64 instruction_of(const struct pt_regs *regs)
{
	return regs->pc;
}

static __always_inline long far_call_number(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, syscallno);
}

static __always_inline long far_call_result(const struct pt_regs *regs)
{
	return (long)BPF_CORE_READ(regs, regs[0]);
}

static __always_inline bool is_compat_call(const struct task_struct *task)
{
	return false; /* 32-bit ARM shares neither numbers nor kernels with the machines we know */
}

static __always_inline bool is_in_call(const struct pt_regs *regs)
{
	return regs->syscallno >= 0;
}
#endif

/*
 * What the current task entered the kernel with, at any depth: -1 as the number where that was no
 * call. dd6e10fbd9fb "bpf: Add bpf_task_pt_regs() helper", Linux 5.15; before, they are found where
 * the kernel puts them, at the end of the task's stack.
 */
#ifndef OLD_KERNEL
static __always_inline long current_call_number(struct task_struct *task)
{
	return call_number((struct pt_regs *)bpf_task_pt_regs(task));
}

static __always_inline long current_call_result(struct task_struct *task)
{
	return call_result((struct pt_regs *)bpf_task_pt_regs(task));
}
#else
#define STACK_BYTES 16384 /* the kernel's THREAD_SIZE, but with pages of 64 KiB or with KASAN */

static __always_inline struct pt_regs *current_regs(struct task_struct *task)
{
	return BPF_CORE_READ(task, stack) + STACK_BYTES - bpf_core_type_size(struct pt_regs);
}

static __always_inline long current_call_number(struct task_struct *task)
{
	return far_call_number(current_regs(task));
}

static __always_inline long current_call_result(struct task_struct *task)
{
	return far_call_result(current_regs(task));
}
#endif

/* The value of @key, which is added as @first where there is none yet; NULL: there is no room. */
static __always_inline void *get_or_add(void *map, const void *key, const void *first)
{
	void *found = bpf_map_lookup_elem(map, key);

	if (found)
		return found;
	bpf_map_update_elem(map, key, first, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

/* The file behind a descriptor, by probe reads; NULL: there is none. */
static __always_inline struct file *far_file(struct fdtable *table, __u32 descriptor)
{
	struct file *file = NULL;

	if (descriptor < LOAD(table, max_fds)) /* 0 where there is no table */
		bpf_probe_read_kernel(&file, sizeof(file), LOAD(table, fd) + descriptor);
	return file;
}

/*
 * The id of @cgroup's ancestor at @level.
 * 7f203bc89eb6 "cgroup: Replace cgroup->ancestor_ids[] with ->ancestors[]", Linux 6.1
 */
static __always_inline __u64 near_ancestor_id(const struct cgroup *cgrp, int level)
{
	const struct cgroup *ancestor = NULL;

	bpf_probe_read_kernel(&ancestor, sizeof(ancestor), &cgrp->ancestors[level]);
	return BPF_CORE_READ(ancestor, kn, id);
}

#ifndef OLD_KERNEL
static __always_inline __u64 ancestor_id(const struct cgroup *cgrp, int level)
{
	return near_ancestor_id(cgrp, level);
}
#else
struct cgroup___ids {
	int level;
	__u64 ancestor_ids[];
} __attribute__((preserve_access_index));

static __always_inline __u64 ancestor_id(const struct cgroup *cgrp, int level)
{
	const struct cgroup___ids *old = (const void *)cgrp;
	__u64 id = 0;

	/* Barriers, or the compiler reads a field's offset before it is known to exist. */
	if (bpf_core_field_exists(cgrp->ancestors)) {
		barrier_var(cgrp);
		return near_ancestor_id(cgrp, level);
	}
	barrier_var(old);
	bpf_probe_read_kernel(&id, sizeof(id), &old->ancestor_ids[level]);
	return id;
}
#endif

enum pageflags {
	PG_head,
};

struct folio___plain_flags { /* until Linux 6.17 */
	unsigned long flags;
} __attribute__((preserve_access_index));

struct memdesc_flags { /* memdesc_flags_t; 53fbef56e07d */
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

static __always_inline __u32 count_pages(const struct folio *folio)
{
	const struct folio___nr_pages *old = (const void *)folio;
	const struct folio___pages *new = (const void *)folio;

	if (!is_large_folio(folio))
		return 1;
	if (bpf_core_field_exists(new->_nr_pages))
		return new->_nr_pages;
	return old->_folio_nr_pages;
}

/*
 * What enters the page cache, and becomes dirty, is a folio from Linux 5.16 on, and before a page
 * of the same beginning, of which there are as many as it has. 203a31516616 "mm/writeback: Add
 * __folio_mark_dirty()"
 */
#ifndef OLD_KERNEL
static __always_inline struct address_space *mapping_of(const struct folio *folio)
{
	return READ_ONLY(folio, READ_ONLY_FOLIO)->mapping;
}

static __always_inline __u32 folio_pages(const struct folio *folio)
{
	return count_pages(folio);
}
#else
struct page {
	struct address_space *mapping;
} __attribute__((preserve_access_index));

static __always_inline struct address_space *mapping_of(const struct folio *folio)
{
	const struct page *page = (const void *)folio;

	if (bpf_core_type_exists(struct folio))
		return folio->mapping;
	return page->mapping;
}

static __always_inline __u32 folio_pages(const struct folio *folio)
{
	if (bpf_core_type_exists(struct folio))
		return count_pages(folio);
	return 1;
}
#endif

/*
 * How much an io_uring request asks for, until it is done.  cef216fc32d7 "io_uring: explicitly keep
 * a CQE in io_kiocb", Linux 5.19; before, unknown, and hardly needed: requests without a completion
 * are rare there.
 */
#ifndef OLD_KERNEL
static __always_inline long asked_of_request(const struct io_kiocb *req)
{
	return BPF_CORE_READ(req, cqe.res);
}
#else
static __always_inline long asked_of_request(const struct io_kiocb *req)
{
	return bpf_core_field_exists(req->cqe) ? BPF_CORE_READ(req, cqe.res) : -1;
}
#endif

/*
 * A task's state.
 * 2f064a59a11f "sched: Change task_struct::state", Linux 5.14
 */
#ifndef OLD_KERNEL
static __always_inline __u32 task_state(const struct task_struct *task)
{
	return *(const volatile unsigned int *)&task->__state;
}
#else
struct task_struct___long_state {
	long state;
} __attribute__((preserve_access_index));

static __always_inline __u32 task_state(const struct task_struct *task)
{
	const struct task_struct___long_state *old = (const void *)task;

	return bpf_core_field_exists(task->__state) ? LOAD(task, __state) : (__u32)LOAD(old, state);
}
#endif

static __always_inline bool is_on_cpu(const struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) && task->on_cpu;
}

/* Of the CPU that the task is on; NULL where the kernel has no way to it. */
static __always_inline struct rq *run_queue_of(const struct task_struct *task)
{
	return bpf_core_field_exists(task->se.cfs_rq) ? read_only(task)->se.cfs_rq->rq : NULL;
}

/*
 * Another CPU's value of a map; NULL where the kernel does not show it.
 * 07343110b293 "bpf: add bpf_map_lookup_percpu_elem for percpu map", Linux 5.19
 */
#ifndef OLD_KERNEL
static __always_inline void *value_on(void *map, const __u32 *key, const struct rq *rq)
{
	return bpf_map_lookup_percpu_elem(map, key, bpf_core_field_exists(rq->cpu) ? rq->cpu : 0);
}
#else
static __always_inline void *value_on(void *map, const __u32 *key, const struct rq *rq)
{
	return NULL;
}
#endif

/*
 * The whole disk that a bio goes to, whichever partition.
 * 309dca309fc3 "block: store a block_device pointer in struct bio", Linux 5.12
 */
#ifndef OLD_KERNEL
static __always_inline struct gendisk *disk_of(const struct bio *bio)
{
	return BPF_CORE_READ(bio, bi_bdev, bd_disk);
}
#else
struct bio___of_disk {
	struct gendisk *bi_disk;
} __attribute__((preserve_access_index));

static __always_inline struct gendisk *disk_of(const struct bio *bio)
{
	const struct bio___of_disk *old = (const void *)bio;

	if (bpf_core_field_exists(bio->bi_bdev))
		return BPF_CORE_READ(bio, bi_bdev, bd_disk);
	return BPF_CORE_READ(old, bi_disk);
}
#endif
