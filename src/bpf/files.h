/* SPDX-License-Identifier: MIT */
/* files - what the program files and user space share. */
#pragma once

#include <linux/types.h>

#define FILES_BUCKETS 28  /* the model's HISTOGRAM_BUCKETS, asserted where both are known */
#define FILES_CALLS 512   /* system call numbers looked at; more than any machine has */
#define FILES_OPS 32      /* operations that user space may number */

/* Rows that belong to no superblock. */
#define DEVICE_UNRESOLVED 0xffffffffU
#define DEVICE_EXEC 0xfffffffeU

/* How a system call is counted; user space fills one for each number it cares for. */
enum call_how {
	CALL_IGNORED,
	CALL_BY_DESCRIPTOR, /* the first argument is the file */
	CALL_BY_RESULT,     /* the result is the file */
	CALL_EXEC,          /* the kernel's own reads of the program, from the task's rchar */
};

struct call_kind {
	__u8 how;
	__u8 op;            /* user space's number */
	__u8 op_if_created; /* for CALL_BY_RESULT: where the open created the file */
	__u8 moves_data;    /* the result is a number of bytes */
};

/* A row of counters that only CPU @cpu writes. */
struct file_key {
	__u64 leaf;
	__u32 device; /* super_block.s_dev, or DEVICE_* */
	__u16 cpu;
	__u16 op;
};

struct file_counts {
	__u64 calls, bytes, errors, ns;
};

/* See the model's histogram for the buckets. */
struct file_histograms {
	__u64 sizes[FILES_BUCKETS];
	__u64 latencies[FILES_BUCKETS];
};

/* What a superblock is; learned when it is first seen. */
struct superblock {
	__u64 magic;
	char fstype[24];
};

/* A call in progress. */
struct call {
	__u64 task; /* task_struct's address; 0: none */
	__u64 leaf;
	__u64 start_ns;
	__u64 chars, chars_calls; /* CALL_EXEC: rchar and syscr before */
	__u32 device;
	__u16 nr;
	__u16 is_interrupted; /* it answered -ERESTART*, and start_ns holds its time so far */
};

_Static_assert(sizeof(struct call_kind) == 4, "shared with the kernel side");
_Static_assert(sizeof(struct file_key) == 16, "shared with the kernel side");
_Static_assert(sizeof(struct file_counts) == 32, "shared with the kernel side");
_Static_assert(sizeof(struct file_histograms) == 448, "shared with the kernel side");
_Static_assert(sizeof(struct superblock) == 32, "shared with the kernel side");
_Static_assert(sizeof(struct call) == 48, "shared with the kernel side");
