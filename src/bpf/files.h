/* SPDX-License-Identifier: MIT */
/* files - what the programs that count operations on files share with user space. */
#pragma once

#include <linux/types.h>

#define FILES_BUCKETS 28 /* the model's HISTOGRAM_BUCKETS, asserted where both are known */
#define FILES_CALLS 512 /* system call numbers looked at; more than any machine has */
#define FILES_OPS 32 /* operations that user space may number */
#define FILES_INTERFACES 8 /* ways of data that user space may number */
#define FILES_OPCODES 256 /* io_uring's operations: all that a byte can name */

/* What the kernel side has to call by its number itself; the model's, asserted where both are
 * known. */
#define FILES_READ 0
#define FILES_WRITE 1
#define FILES_BY_URING 1
#define FILES_BY_LIBAIO 2
#define FILES_BY_SPLICE 5
#define FILES_BY_MAPPING 6
#define FILES_OPEN 2
#define FILES_CREATE 3
#define FILES_CLOSE 4

/*
 * A place is a superblock for as long as it lives: the device number, and below it a value that
 * differs if the number is reused.  Places that are no superblock:
 */
#define PLACE_UNRESOLVED (~0ULL)
#define PLACE_EXEC (~0ULL - 1)
#define PLACE_KERNEL (~0ULL - 2)
#define PLACE_OTHER (~0ULL - 3) /* of a cgroup that has used up its share of rows */

/* How a system call is counted; user space fills one for each number it cares for. */
enum call_how {
	CALL_IGNORED,
	CALL_BY_DESCRIPTOR, /* argument @file is the file */
	CALL_BY_PATH, /* argument @file is the directory where @path begins; see below */
	CALL_BY_RESULT, /* the result is the file; by path where it fails */
	CALL_COPY, /* from argument @file to argument @path, both descriptors */
	CALL_EXEC, /* the kernel's own reads of the program, from the task's rchar */
	CALL_SUBMIT, /* libaio: the result is how many requests were taken */
	CALL_SOCKET, /* argument @file is a socket: counted by traffic; see below */
	CALL_ACCEPT, /* the result is a new socket */
	CALL_POLL, /* a poll, or it gives the CPU away */
};

#define ARGUMENT_NONE 0xff

/* Traits of a call. */
#define CALL_MOVES_DATA 1 /* the result is a number of bytes */
#define CALL_NULL_IS_FILE 2 /* a path of NULL means the descriptor, whatever the flags */
#define CALL_HAS_MESSAGES 8 /* the result is how many of @messages */
#define CALL_TIME_IS_POINTED                                                                       \
	4 /* its longest wait is not a number of ms but a pointer to seconds and a part; NULL: for \
	     ever */

/*
 * A call by path is one by descriptor where its path is empty, or NULL, and its @flags hold
 * AT_EMPTY_PATH.  One on a socket moves nothing where its @flags say so.
 */
struct call_kind {
	__u8 how;
	__u8 op; /* user space's number */
	__u8 other_op; /* of an open that created the file, of unlinkat with AT_REMOVEDIR; else as
			  op */
	__u8 interface; /* user space's number, of data */
	union { /* which argument, from 0; ARGUMENT_NONE: none of them */
		__u8 file;
		__u8 limit; /* CALL_POLL: how long it waits at most; none: it gives the CPU away */
	};
	union {
		__u8 path;
		__u8 to_file; /* CALL_COPY: to which is copied */
		__u8 messages; /* CALL_HAS_MESSAGES */
	};
	__u8 flags;
	__u8 traits;
};

/* How a call gives the position of its data. */
enum position_how {
	POSITION_UNKNOWN,
	POSITION_OWN, /* the position of the open file */
	POSITION_GIVEN, /* the argument, unless it is -1: then as POSITION_OWN */
	POSITION_POINTED, /* what the argument points to, unless it is NULL: then as POSITION_OWN */
	POSITION_START, /* the call opened the file, and nothing was read or written */
	POSITION_END, /* the call closes the file */
};

struct call_position {
	__u8 how, argument; /* of the one file, or the one from which is copied */
	__u8 to_how, to_argument; /* of the one to which is copied */
};

/* How a request of an io_uring is counted; user space fills one for each opcode it cares for. */
enum request_how {
	REQUEST_IGNORED,
	REQUEST_BY_FILE, /* the request's file */
	REQUEST_BY_RESULT, /* the result is the descriptor */
	REQUEST_UNPLACED, /* by path: its end is unknown */
	REQUEST_CLOSE, /* the descriptor's file, as the request begins */
	REQUEST_SYNC, /* by file; @other_op: of data only */
	REQUEST_UNLINK, /* unplaced; @other_op: of a directory */
	REQUEST_SOCKET, /* the request's file, which is a socket: traffic counts it, and files does
			   not */
	REQUEST_MANY, /* it goes on after its first result, and the others name no request: said to
			 be missing */
	REQUEST_ACCEPT, /* may be such a one, too: the same */
	REQUEST_SPLICE, /* the request's file is where it writes, which is @other_op */
};

struct request_kind {
	__u8 how;
	__u8 op;
	__u8 other_op; /* of an open that created the file, and see above; else as op */
	__u8 moves_data;
};

/* A row of counters that only CPU @cpu writes, on tracepoints or on trampolines: one may interrupt
 * the other. */
struct file_key {
	__u64 cgroup;
	__u64 place;
	__u16 cpu;
	__u8 op;
	__u8 interface;
	__u32 is_trampolines;
};

struct file_counts {
	__u64 calls, errors, ns;
	union {
		__u64 bytes; /* of data */
		__u64 not_found; /* of metadata: how many of the errors were ENOENT */
		__u64 amount; /* either, for code that only copies it */
	};
};

/* A row as it is kept: its counts, and when it was last reported. */
struct file_row {
	__u64 calls, errors, ns, amount; /* as struct file_counts has them */
	__u32 epoch; /* watch.epoch as it changed first; see rows.bpf.h */
	__u32 pad;
};

#define TOUCHED_BYTES 32768 /* 1,024 rows that changed; beyond, all are read */

/* See the model's histogram for the buckets. */
struct file_histograms {
	__u64 sizes[FILES_BUCKETS];
	__u64 latencies[FILES_BUCKETS];
};

/* Rows for which there is no room, by operation; of data by way. */
#define OTHER_ROWS (FILES_OPS + 2 * FILES_INTERFACES)
#define OTHER_ROW(op, interface) ((interface) ? FILES_OPS + 2 * (interface) + (op) : (op))

#define PATH_NAMES 16
#define PATH_NAME 64

/* What a superblock is, and where it was mounted as it was first seen, by the task that saw it. */
struct superblock {
	__u64 magic;
	__u32 device;
	__u32 mnt_ns; /* the task's mount namespace, by the number of its inode */
	__u8 is_mounted; /* in some mount namespace */
	__u8 has_path; /* it was seen through an open file, so @names are valid */
	__u8 is_cut; /* there are names above the first, or one is longer */
	__u8 name_count;
	char fstype[28];
	__u64 cgroup; /* that used it first, and is charged for it; 0: none is */
	char names[PATH_NAMES][PATH_NAME]; /* of the mount point below the task's root, from its
					      last to its first */
};

/* ---- files that are followed one by one; see hot_files.bpf.h ---- */

struct followed_key {
	__u64 cgroup; /* 0 unless groups are counted separately */
	__u64 place;
	__u64 inode;
	__u32 generation; /* distinguishes it from a later file with the same inode number */
	__u32 cpu; /* 0 where a map is not by CPU */
};

/* What all CPUs have to know of a file; written where it changes, which is seldom. */
struct followed_file {
	__u64 written_low_inverse; /* ~ of the lowest offset written; 0: nothing was */
	__u64 written_high; /* the end of what was written */
	__u64 size; /* as it was last seen */
	__u32 mode; /* the inode's */
	__u32 pad;
};

struct followed_data {
	__u64 calls, errors, bytes, ns;
	__u64 sequential_bytes, random_bytes; /* the rest: unknown position */
};

/* The counters of a file that one CPU writes. */
struct followed_counts {
	struct followed_data data[2]; /* FILES_READ, FILES_WRITE */
	__u64 opens, creates, closes, others, meta_ns;
	__u64 read_low_inverse; /* as of written_low_inverse and written_high */
	__u64 read_high;
	__u64 read_after_write_bytes;
};

#define FILE_NAMES 32 /* the most names on the way to the root of its file system */
#define FILE_NAME_SIZE 256 /* the longest that a file system knows, and its end */
#define FILE_PATH_SIZE 256 /* a name begins below this */

/* Its names from the last to the first, each with its end, as it was first seen. */
struct followed_name {
	__u16 length;
	__u8 is_cut; /* there are names above the first */
	__u8 pad[5];
	char text[FILE_PATH_SIZE + FILE_NAME_SIZE];
};

/* A file that a call works on. */
struct file_ref {
	__u64 file; /* the address of the kernel's struct file; 0: none that would be followed */
	__u64 cgroup; /* as a key has it */
	__u64 place, inode;
	__u64 position, size;
	__u32 generation;
	__u16 mode; /* the inode's */
	__u8 position_how; /* enum position_how */
	__u8 is_append;
};

/* An open file, as one cgroup uses it: so each has a share of them, and what is left of those that
 * were closed unseen goes with the cgroup. */
struct open_key {
	__u64 cgroup; /* as a followed_key has it */
	__u64 file; /* the address of the kernel's struct file */
};

/* Where its last access ended. */
struct open_file {
	__u64 inode;
	__u64 end;
};

/* A call in progress. */
struct call {
	__u64 task; /* task_struct's address; 0: none */
	__u64 cgroup;
	union {
		__u64 start_ns;
		__u64 spent_ns; /* is_interrupted: its time so far */
	};
	__u64 chars, chars_calls; /* CALL_EXEC: rchar and syscr before */
	__u64 place, to_place; /* to: CALL_COPY's second */
	struct call_kind kind;
	__u8 op; /* which of its kind's it is */
	__u8 is_interrupted; /* it answered -ERESTART*: see spent_ns */
	__u8 is_by_path; /* @place is still looked for */
	__u8 socket, to_socket; /* the kind of socket that the file is, plus one; 0: it is none */
	__u8 moves_nothing; /* CALL_SOCKET: what is read stays there */
	__u8 pad[2];
};

_Static_assert(sizeof(struct call_kind) == 8, "shared with the kernel side");
_Static_assert(sizeof(struct request_kind) == 4, "shared with the kernel side");
_Static_assert(sizeof(struct file_key) == 24, "shared with the kernel side");
_Static_assert(sizeof(struct file_counts) == 32, "shared with the kernel side");
_Static_assert(sizeof(struct file_row) == 40, "shared with the kernel side");
_Static_assert(sizeof(struct file_histograms) == 448, "shared with the kernel side");
_Static_assert(sizeof(struct superblock) == 56 + 1024, "shared with the kernel side");
_Static_assert(sizeof(struct call) == 72, "shared with the kernel side");
_Static_assert(sizeof(struct call_position) == 4, "shared with the kernel side");
_Static_assert(sizeof(struct followed_key) == 32, "shared with the kernel side");
_Static_assert(sizeof(struct followed_file) == 32, "shared with the kernel side");
_Static_assert(sizeof(struct followed_counts) == 160, "shared with the kernel side");
_Static_assert(sizeof(struct followed_name) == 520, "shared with the kernel side");
_Static_assert(sizeof(struct file_ref) == 56, "shared with the kernel side");
