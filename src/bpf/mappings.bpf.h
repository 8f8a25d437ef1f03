/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mappings - what files that are mapped into memory read and write without a call: pages that a
 * fault (or a call that asks for pages of a mapping) brought into the page cache, and pages that
 * were dirtied.
 *
 * Runs where a page enters the cache or becomes dirty, not at each fault; inside any other system
 * call it is that call's doing, and costs some 40 ns.  A fault of the kernel's own on a mapping,
 * while it copies to or from one inside a call, is indistinguishable from the call: not counted.
 */
#pragma once

#include "bpf/resolve.bpf.h"
#include "bpf/rows.bpf.h"
#include "bpf/slots.bpf.h"

#define CALLS_MAX 8

/* Set by user space. */
const volatile __s32 mapping_calls[CALLS_MAX]; /* calls that fault pages in; 0 ends the list */
const volatile __u32 page_bytes = 4096;

static __always_inline bool is_mapping_at_work(struct task_struct *task)
{
	long nr = current_call_number(task);

	if (nr == -1)
		return true; /* an exception */
	for (int i = 0; i < CALLS_MAX; i++) {
		if (!mapping_calls[i])
			break;
		if (nr == mapping_calls[i])
			return true;
	}
	return false;
}

static __always_inline int count_folio(struct folio *folio, __u8 op)
{
	struct task_struct *task = current_task();
	struct call_slot *slot;
	struct super_block *sb;
	struct inode *inode;
	struct file_key key;
	__u64 cgroup;

	if (LOAD(task, flags) & PF_KTHREAD || !is_mapping_at_work(task))
		return 0;
	slot = get_slot();
	if (!slot || !judge(slot, task, &cgroup))
		return 0;
	inode = mapping_of(folio)->host;
	if ((inode->i_mode & S_IFMT) != S_IFREG)
		return 0; /* a block device's: the file system's own metadata */
	sb = inode->i_sb;
	if (!sb)
		return 0;
	key = key_for(cgroup, place_of(sb, &slot->scratch), op, FILES_BY_MAPPING);
	if (key.place != slot->known_place)
		learn_superblock(key.place, sb, NULL);
	count_bytes(&key, (__u64)folio_pages(folio) * page_bytes);
	return 0;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(count_page_in, struct folio *folio)
{
	return count_folio(folio, FILES_READ);
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(count_dirtied, struct folio *folio)
{
	return count_folio(folio, FILES_WRITE);
}

/* Until Linux 5.15. */
SEC("tp_btf/writeback_dirty_page")
int BPF_PROG(count_dirtied_page, struct folio *page)
{
	return count_folio(page, FILES_WRITE);
}
