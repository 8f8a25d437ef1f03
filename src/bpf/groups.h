/* SPDX-License-Identifier: MIT */
/* groups - what the kernel side knows of the cgroups of the key hierarchy; shared with user space.
 */
#pragma once

#include <linux/types.h>

#define GROUPS_PATH 512 /* a longer path is cut */
#define GROUPS_LEVELS 64 /* deeper ones are counted with the group above them that is known */
#define GROUPS_OF_ONE \
	256 /* that users make below a group of root's, and that are known one by one */

/*
 * What one group may only have a share of, so that it takes no other's room.  Groups that root made
 * answer for themselves and for all that others made below them.
 */
enum share {
	SHARE_GROUPS, /* made by others than root */
	SHARE_ROWS, /* of files */
	SHARE_OTHER_ROWS, /* of what is beyond that */
	SHARE_HISTOGRAMS,
	SHARE_SUPERBLOCKS,
	SHARE_SYSCALLS, /* rows of system calls by name */
	SHARE_FILES, /* that are followed one by one */
	SHARE_FILE_COUNTS, /* of those, by CPU */
	SHARE_OPEN_FILES, /* the same that are open */
	SHARE_COUNT,
};
#define SHARES 9

struct group_entry {
	__u64 parent; /* 0: not known */
	__u64 answers; /* the group that is charged for its rows */
	__u64 born_ns, died_ns; /* CLOCK_BOOTTIME; born 0: older than us; died 0: it lives */
	__u64 peak_pages; /* as it died; 0: not known */
	__u64 oom_kills; /* as it died, with those of groups below it; before, on v1, those of such
			    that died */
	__u32 maker_uid; /* ~0: not known */
	__u8 is_guest; /* not root made it */
	__u8 has_oom_kills;
	__u8 is_cut; /* @path is only its beginning */
	__u8 is_delegated; /* its name proves nothing: a user made it, or one above it is not root's
			      alone */
	__u32 taken[SHARES]; /* in all, by those that it answers for; see struct given_back */
	__u32 rows_epoch; /* when a row of its own was last reported; see rows.bpf.h */
	char path[GROUPS_PATH]; /* from the hierarchy's root on */
};

/* Of a group that outlived others that it answered for: what was erased of theirs.  User space
 * alone writes it, so that what the kernel side counts meanwhile is not lost. */
struct given_back {
	__u32 counts[SHARES];
};

/* Births and deaths, in all. */
enum generation {
	GENERATION_SEEN, /* by the kernel side */
	GENERATION_TOLD, /* by user space, which found them */
	GENERATION_COUNT,
};

_Static_assert(sizeof(struct group_entry) == 96 + GROUPS_PATH, "shared with the kernel side");
_Static_assert(sizeof(struct given_back) == 36, "shared with the kernel side");
_Static_assert((int)SHARE_COUNT == SHARES, "each share has its place");
