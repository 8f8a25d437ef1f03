/* SPDX-License-Identifier: MIT */
/*
 * file_op - the operations on files that are counted, and the ways by which data moves.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The first two move data; the rest are metadata's. */
enum file_op {
	OP_READ,
	OP_WRITE,
	OP_OPEN,
	OP_CREATE, /* an open that created the file */
	OP_CLOSE,
	OP_STAT,
	OP_ACCESS,
	OP_READDIR,
	OP_READLINK,
	OP_STATFS,
	OP_RENAME,
	OP_LINK,
	OP_SYMLINK,
	OP_UNLINK,
	OP_MKDIR,
	OP_RMDIR,
	OP_MKNOD,
	OP_TRUNCATE,
	OP_FALLOCATE,
	OP_CHMOD,
	OP_CHOWN,
	OP_UTIME,
	OP_XATTR, /* get, set, list and remove */
	OP_FSYNC,
	OP_FDATASYNC,
	OP_SYNC, /* sync, syncfs, sync_file_range, msync */
	OP_COUNT,
};
#define OP_DATA_COUNT 2 /* OP_READ and OP_WRITE */

/* How bytes came or went. */
enum file_interface {
	INTERFACE_CALL, /* the read and write families of system calls */
	INTERFACE_IO_URING,
	INTERFACE_LIBAIO,
	INTERFACE_SENDFILE,
	INTERFACE_COPY_FILE_RANGE,
	INTERFACE_SPLICE,
	INTERFACE_MAPPING, /* by page faults: not in the sum of reads and writes, since it is no
			      call */
	INTERFACE_COUNT,
};

/* "read", "open"... */
extern const char *const file_op_names[OP_COUNT];
const char *file_op_name(enum file_op op);
/* Is there a call of it that takes a path?  Where one ends is not known on every kernel. */
bool file_op_is_by_path(enum file_op op);

/* "call", "io_uring"... */
extern const char *const file_interface_names[INTERFACE_COUNT];
const char *file_interface_name(enum file_interface interface);
/* Are its calls timed? */
bool file_interface_has_time(enum file_interface interface);
/* Is what moves this way part of the tasks' own rchar and wchar? */
bool file_interface_is_accounted(enum file_interface interface);
