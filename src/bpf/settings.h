/* SPDX-License-Identifier: MIT */
/* settings - what user space tells every object before and after its load. */
#pragma once

#include <linux/types.h>

/* Fixed at load. */
struct settings {
	__s32 key_subsys; /* index into css_set.subsys of the key hierarchy's controller; -1: cgroup v2 */
	__u8 has_clock;
	__u8 has_histograms;
	__u8 follows_files;  /* each file by itself, too */
	__u8 has_groups;     /* groups are told apart by their lives: see groups.h */
};

/* May change at any time. */
struct watch {
	__u64 id;            /* the cgroup whose subtree is watched; 0: everything is */
	__u8 sees_libaio;    /* other programs count libaio's results */
	__u8 sees_skipped;   /* other programs count io_uring's requests that ask for no completion */
	__u8 sees_requests;  /* other programs count io_uring's requests */
	__u8 sees_places;    /* other programs note where calls by path end */
	__u8 is_following;   /* with settings.follows_files: from now on */
	__u8 sees_groups;    /* other programs note births of groups */
	__u8 pad[2];
	__u32 shares[6]; /* how much one group may take, by enum share */
};

_Static_assert(sizeof(struct settings) == 8, "shared with the kernel side");
_Static_assert(sizeof(struct watch) == 40, "shared with the kernel side");
