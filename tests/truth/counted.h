/* SPDX-License-Identifier: MIT */
/*
 * counted - system calls on files, each made exactly once and noted in a ledger.
 *
 * They go to the kernel as they stand: no library between that retries, buffers or chooses another.
 * All return what the kernel gave back: a number, or -Exxx.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ledger.h"

/* An open descriptor and the place of the file behind it.  Below 0 it is what a failed open gave
 * back, which is a bad descriptor like any other. */
struct file {
	long fd;
	int place;
};

enum data_call {
	CALL_READ,
	CALL_PREAD,
	CALL_READV,
	CALL_PREADV,
	CALL_PREADV2,
	CALL_WRITE,
	CALL_PWRITE,
	CALL_WRITEV,
	CALL_PWRITEV,
	CALL_PWRITEV2,
	DATA_CALL_COUNT,
};

struct transfer {
	enum data_call call;
	void *buffer; /* calls with vectors get it in three parts, the second empty */
	size_t bytes;
	off_t at; /* calls without a position ignore it */
	int flags; /* preadv2's and pwritev2's */
};

long counted_transfer(struct ledger *l, struct file file, const struct transfer *transfer);

/* The plain two. */
long counted_read(struct ledger *l, struct file file, void *buffer, size_t bytes);
long counted_write(struct ledger *l, struct file file, const void *buffer, size_t bytes);

struct passing { /* from file to file, inside the kernel */
	enum way way; /* of sendfile, copy_file_range and splice */
	struct file in, out;
	off_t *in_at, *out_at; /* NULL: at the file's own position; sendfile has no second */
	size_t bytes;
	unsigned int flags; /* of copy_file_range and splice */
};

long counted_pass(struct ledger *l, const struct passing *passing);

enum open_call { CALL_OPEN, CALL_OPENAT, CALL_OPENAT2, CALL_CREAT, OPEN_CALL_COUNT };

struct opening {
	enum open_call call;
	int dir_fd; /* openat's and openat2's */
	const char *path;
	int flags; /* creat ignores them */
	bool creates; /* the file is not there, and is made */
};

/* A file in @place, should it open; should it not, its path ends in @place: PLACE_UNRESOLVED where
 * nothing is searched at all. */
struct file counted_open(struct ledger *l, int place, const struct opening *opening);

/* The plain one: open an existing file. */
struct file counted_open_existing(struct ledger *l, int place, const char *path, int flags);

long counted_close(struct ledger *l, struct file file);

/* @op: OP_FSYNC or OP_FDATASYNC. */
long counted_sync(struct ledger *l, struct file file, enum op op);

/* Any other call on metadata. */
struct call {
	enum op op;
	enum by by; /* BY_DESCRIPTOR: the first argument is one, and a bad one is of no place */
	int times;
	long number; /* CALL_NOWHERE: this machine never had it, and it is left out */
	long args[5];
};
#define CALL_NOWHERE (-1L)
#define ARG(x) ((long)(x)) /* a pointer as an argument of a call */

/* What the last of its times gave back. */
long counted_call(struct ledger *l, int place, const struct call *call);

void counted_calls(struct ledger *l, int place, const struct call *calls, size_t count);

/* The plain one: unlink a file whose folder is in @place. */
long counted_unlink(struct ledger *l, int place, const char *path);

/* A pipe: [0] to read, [1] to write.  Making one is no open; false: there are no descriptors left.
 */
bool pipe_make(struct file ret[2], int flags);
