/* SPDX-License-Identifier: MIT */
#include "model/file_op.h"

#include <assert.h>

/* clang-format off */
const char *const file_op_names[OP_COUNT] = {
	[OP_READ] = "read", [OP_WRITE] = "write", [OP_OPEN] = "open", [OP_CREATE] = "create",
	[OP_CLOSE] = "close", [OP_STAT] = "stat", [OP_ACCESS] = "access", [OP_READDIR] = "readdir",
	[OP_READLINK] = "readlink", [OP_STATFS] = "statfs", [OP_RENAME] = "rename", [OP_LINK] = "link",
	[OP_SYMLINK] = "symlink", [OP_UNLINK] = "unlink", [OP_MKDIR] = "mkdir", [OP_RMDIR] = "rmdir",
	[OP_MKNOD] = "mknod", [OP_TRUNCATE] = "truncate", [OP_FALLOCATE] = "fallocate",
	[OP_CHMOD] = "chmod", [OP_CHOWN] = "chown", [OP_UTIME] = "utime", [OP_XATTR] = "xattr",
	[OP_FSYNC] = "fsync", [OP_FDATASYNC] = "fdatasync", [OP_SYNC] = "sync",
};

/* Operations whose calls all take a descriptor. */
static const bool is_by_descriptor[OP_COUNT] = {
	[OP_READ] = true, [OP_WRITE] = true, [OP_CLOSE] = true, [OP_READDIR] = true,
	[OP_FALLOCATE] = true, [OP_FSYNC] = true, [OP_FDATASYNC] = true, [OP_SYNC] = true,
};

const char *const file_interface_names[INTERFACE_COUNT] = {
	[INTERFACE_CALL] = "call", [INTERFACE_IO_URING] = "io_uring", [INTERFACE_LIBAIO] = "libaio",
	[INTERFACE_SENDFILE] = "sendfile", [INTERFACE_COPY_FILE_RANGE] = "copy_file_range",
	[INTERFACE_SPLICE] = "splice", [INTERFACE_MAPPING] = "mapping",
};

static const struct {
	bool has_time, is_accounted;
} interfaces[INTERFACE_COUNT] = {
	[INTERFACE_CALL] = { true, true },
	[INTERFACE_SENDFILE] = { true, true },
	[INTERFACE_COPY_FILE_RANGE] = { true, true },
	[INTERFACE_SPLICE] = { true, false },
};
/* clang-format on */

const char *file_op_name(enum file_op op)
{
	assert(op < OP_COUNT);
	return file_op_names[op];
}

bool file_op_is_by_path(enum file_op op)
{
	assert(op < OP_COUNT);
	return !is_by_descriptor[op];
}

const char *file_interface_name(enum file_interface interface)
{
	assert(interface < INTERFACE_COUNT);
	return file_interface_names[interface];
}

bool file_interface_has_time(enum file_interface interface)
{
	assert(interface < INTERFACE_COUNT);
	return interfaces[interface].has_time;
}

bool file_interface_is_accounted(enum file_interface interface)
{
	assert(interface < INTERFACE_COUNT);
	return interfaces[interface].is_accounted;
}
