/* SPDX-License-Identifier: MIT */
/* block_rows - what the program block shares with user space. */
#pragma once

#include <linux/types.h>

#define BLOCK_BUCKETS 28 /* the model's HISTOGRAM_BUCKETS, asserted where both are known */
#define BLOCK_NAME 32 /* the kernel's DISK_NAME_LEN */

/* Operations; the model's, asserted where both are known. */
#define BLOCK_DOES_READ 0
#define BLOCK_DOES_WRITE 1
#define BLOCK_DOES_DISCARD 2
#define BLOCK_DOES_FLUSH 3
#define BLOCK_DOES 4

/* What one cgroup had one device do, by the CPU on which it ended. */
struct block_key {
	__u64 cgroup;
	__u32 device; /* the whole disk's: the major number above 20 bits of the minor one */
	__u16 cpu;
	__u16 op;
};

struct block_value {
	__u64 bytes, requests, errors, ns;
	__u64 latencies[BLOCK_BUCKETS]; /* see the model's histogram */
	char name[BLOCK_NAME]; /* the disk's, as the row was made */
};

/* A request (the kernel's struct bio) that is on its way. */
struct block_request {
	__u64 cgroup;
	__u64 start_ns;
	__u64 disk; /* the address of the kernel's struct gendisk */
	__u32 bytes;
	__u32 op;
};

_Static_assert(sizeof(struct block_key) == 16, "shared with the kernel side");
_Static_assert(sizeof(struct block_value) == 32 + BLOCK_BUCKETS * 8 + BLOCK_NAME,
	       "shared with the kernel side");
_Static_assert(sizeof(struct block_request) == 32, "shared with the kernel side");
