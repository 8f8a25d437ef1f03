/* SPDX-License-Identifier: MIT */
/* files - what the programs that count operations on files share with user space. */
#pragma once

#include <linux/types.h>

#define FILES_BUCKETS 28  /* the model's HISTOGRAM_BUCKETS, asserted where both are known */
#define FILES_CALLS 512   /* system call numbers looked at; more than any machine has */
#define FILES_OPS 32      /* operations that user space may number */
#define FILES_WAYS 8      /* ways of data that user space may number */
#define FILES_OPCODES 256 /* io_uring's operations: all that a byte can name */

/* What the kernel side has to call by its number itself; the model's, asserted where both are known. */
#define FILES_READ 0
#define FILES_WRITE 1
#define FILES_BY_URING 1
#define FILES_BY_LIBAIO 2
#define FILES_BY_SPLICE 5
#define FILES_BY_MAPPING 6

/*
 * A place is a superblock for as long as it lives: its device number above, and below it what tells it
 * from another that gets the same number later.  Places that are no superblock:
 */
#define PLACE_UNRESOLVED (~0ULL)
#define PLACE_EXEC (~0ULL - 1)
#define PLACE_KERNEL (~0ULL - 2)

/* How a system call is counted; user space fills one for each number it cares for. */
enum call_how {
	CALL_IGNORED,
	CALL_BY_DESCRIPTOR, /* argument @file is the file */
	CALL_BY_PATH,       /* argument @file is the folder where @path begins; see below */
	CALL_BY_RESULT,     /* the result is the file; by path where it fails */
	CALL_COPY,          /* from argument @file to argument @path, both descriptors */
	CALL_EXEC,          /* the kernel's own reads of the program, from the task's rchar */
	CALL_SUBMIT,        /* libaio: the result is how many requests were taken */
};

#define ARGUMENT_NONE 0xff

/* Traits of a call. */
#define CALL_MOVES_DATA 1  /* the result is a number of bytes */
#define CALL_NULL_IS_FILE 2 /* a path of NULL stands for the descriptor, whatever the flags */

/*
 * A call by path is one by descriptor where its path is empty, or NULL, and its @flags hold AT_EMPTY_PATH.
 */
struct call_kind {
	__u8 how;
	__u8 op;       /* user space's number */
	__u8 other_op; /* of an open that created the file, of unlinkat with AT_REMOVEDIR; else as op */
	__u8 way;      /* user space's number, of data */
	__u8 file, path, flags; /* which argument, from 0; ARGUMENT_NONE: none of them */
	__u8 traits;
};

/* How a request of an io_uring is counted; user space fills one for each opcode it cares for. */
enum request_how {
	REQUEST_IGNORED,
	REQUEST_BY_FILE,   /* the request's file */
	REQUEST_BY_RESULT, /* the result is the descriptor */
	REQUEST_UNPLACED,  /* by path: nothing tells where it ended */
	REQUEST_CLOSE,     /* the descriptor's file, as the request begins */
	REQUEST_SYNC,      /* by file; @other_op: of data only */
	REQUEST_UNLINK,    /* unplaced; @other_op: of a folder */
	REQUEST_SPLICE,    /* the request's file is where it writes, which is @other_op */
};

struct request_kind {
	__u8 how;
	__u8 op;
	__u8 other_op; /* of an open that created the file, and see above; else as op */
	__u8 moves_data;
};

/* A row of counters that only CPU @cpu writes. */
struct file_key {
	__u64 leaf;
	__u64 place;
	__u16 cpu;
	__u8 op;
	__u8 way;
	__u32 pad;
};

struct file_counts {
	__u64 calls, errors, ns;
	__u64 amount; /* data: bytes; metadata: how many of the errors were ENOENT */
};

/* See the model's histogram for the buckets. */
struct file_histograms {
	__u64 sizes[FILES_BUCKETS];
	__u64 latencies[FILES_BUCKETS];
};

/* Rows for which there is no room, by operation; of data by way. */
#define OTHER_ROWS (FILES_OPS + 2 * FILES_WAYS)
#define OTHER_ROW(op, way) ((way) ? FILES_OPS + 2 * (way) + (op) : (op))

#define PATH_NAMES 16
#define PATH_NAME 64

/* What a superblock is, and where it was mounted as it was first seen, by the task that saw it. */
struct superblock {
	__u64 magic;
	__u32 device;
	__u32 mnt_ns;    /* the task's mount namespace, by the number of its inode */
	__u8 is_mounted; /* in some mount namespace */
	__u8 has_path;   /* it was seen through an open file, so that @names tell */
	__u8 is_cut;     /* there are names above the first, or one is longer */
	__u8 name_count;
	char fstype[28];
	char names[PATH_NAMES][PATH_NAME]; /* of the mount point below the task's root, from its last to its first */
};

/* A call in progress. */
struct call {
	__u64 task; /* task_struct's address; 0: none */
	__u64 leaf;
	__u64 start_ns;
	__u64 chars, chars_calls; /* CALL_EXEC: rchar and syscr before */
	__u64 place, to_place;    /* to: CALL_COPY's second */
	struct call_kind kind;
	__u8 op;             /* which of its kind's it is */
	__u8 is_interrupted; /* it answered -ERESTART*, and start_ns holds its time so far */
	__u8 is_by_path;     /* @place is still looked for */
	__u8 has_statfs;     /* it was asked for the object of a statfs() */
	__u8 pad[4];
};

_Static_assert(sizeof(struct call_kind) == 8, "shared with the kernel side");
_Static_assert(sizeof(struct request_kind) == 4, "shared with the kernel side");
_Static_assert(sizeof(struct file_key) == 24, "shared with the kernel side");
_Static_assert(sizeof(struct file_counts) == 32, "shared with the kernel side");
_Static_assert(sizeof(struct file_histograms) == 448, "shared with the kernel side");
_Static_assert(sizeof(struct superblock) == 48 + 1024, "shared with the kernel side");
_Static_assert(sizeof(struct call) == 72, "shared with the kernel side");
