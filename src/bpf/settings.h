/* SPDX-License-Identifier: MIT */
/* settings - set by user space in every object before and after its load. */
#pragma once

#include <linux/types.h>

/*
 * Stands in the programs for a call of the kernel's bpf_rdonly_cast(), with one of these types as
 * its second argument: user space fills in both at load.  See read_only() in compat.bpf.h.
 */
#define READ_ONLY_CALL 0x4a4d
enum read_only_type { READ_ONLY_TASK, READ_ONLY_FOLIO };

/* Fixed at load. */
struct settings {
	__s32 key_subsys; /* index into css_set.subsys of the key hierarchy's controller; -1: cgroup
			     v2 */
	__u8 has_clock;
	__u8 has_histograms;
	__u8 follows_files; /* each file by itself, too */
	__u8 has_groups; /* groups are counted separately: see groups.h */
};

/* May change at any time. */
struct watch {
	__u64 id; /* the cgroup whose subtree is watched; 0: everything is */
	__u8 sees_libaio; /* other programs count libaio's results */
	__u8 sees_skipped; /* other programs count io_uring's requests that ask for no completion */
	__u8 sees_requests; /* other programs count io_uring's requests */
	__u8 sees_places; /* other programs note where calls by path end */
	__u8 is_following; /* with settings.follows_files: from now on */
	__u8 sees_groups; /* other programs note births of groups */
	__u8 has_missed; /* set by the kernel side: it could not report a changed row, or take
			    off what a task did */
	__u8 sees_connections; /* the ends of TCP sockets are seen */
	__u32 shares[9]; /* how much one group may take, by enum share */
	__u32 epoch; /* of user space's readings of rows */
	__u64 unclocked_ns; /* since when, by CLOCK_BOOTTIME, no times of calls are taken; 0: they
			       are */
	/* What a system call takes longer for our hooks where they do nothing, and a run that does
	 * nothing is said to take by the clock: kept for user space. */
	__u32 call_ns, run_ns;
	__u64 counted_until_ns; /* what tasks did until then, by CLOCK_BOOTTIME, is taken off as
				   they are read; 0: nothing is */
};

_Static_assert(sizeof(struct settings) == 8, "shared with the kernel side");
_Static_assert(sizeof(struct watch) == 80, "shared with the kernel side");
