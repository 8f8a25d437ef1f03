/* SPDX-License-Identifier: MIT */
#include "model/file_op.h"

#include <assert.h>
#include <string.h>

/* clang-format off */
static const struct {
	const char *name;
	bool is_by_path;
} ops[OP_COUNT] = {
	[OP_READ]      = { "read", false },
	[OP_WRITE]     = { "write", false },
	[OP_OPEN]      = { "open", true },
	[OP_CREATE]    = { "create", true },
	[OP_CLOSE]     = { "close", false },
	[OP_STAT]      = { "stat", true },
	[OP_ACCESS]    = { "access", true },
	[OP_READDIR]   = { "readdir", false },
	[OP_READLINK]  = { "readlink", true },
	[OP_STATFS]    = { "statfs", true },
	[OP_RENAME]    = { "rename", true },
	[OP_LINK]      = { "link", true },
	[OP_SYMLINK]   = { "symlink", true },
	[OP_UNLINK]    = { "unlink", true },
	[OP_MKDIR]     = { "mkdir", true },
	[OP_RMDIR]     = { "rmdir", true },
	[OP_MKNOD]     = { "mknod", true },
	[OP_TRUNCATE]  = { "truncate", true },
	[OP_FALLOCATE] = { "fallocate", false },
	[OP_CHMOD]     = { "chmod", true },
	[OP_CHOWN]     = { "chown", true },
	[OP_UTIME]     = { "utime", true },
	[OP_XATTR]     = { "xattr", true },
	[OP_FSYNC]     = { "fsync", false },
	[OP_FDATASYNC] = { "fdatasync", false },
	[OP_SYNC]      = { "sync", false },
};

static const struct {
	const char *name;
	bool has_time, is_accounted;
} interfaces[INTERFACE_COUNT] = {
	[INTERFACE_CALL]            = { "call", true, true },
	[INTERFACE_IO_URING]        = { "io_uring", false, false },
	[INTERFACE_LIBAIO]          = { "libaio", false, false },
	[INTERFACE_SENDFILE]        = { "sendfile", true, true },
	[INTERFACE_COPY_FILE_RANGE] = { "copy_file_range", true, true },
	[INTERFACE_SPLICE]          = { "splice", true, false },
	[INTERFACE_MAPPING]         = { "mapping", false, false },
};
/* clang-format on */

const char *file_op_name(enum file_op op)
{
	assert(op < OP_COUNT);
	return ops[op].name;
}

enum file_op file_op_find(const char *name)
{
	size_t op = 0;

	while (op < OP_COUNT && strcmp(ops[op].name, name) != 0)
		op++;
	return (enum file_op)op;
}

bool file_op_is_by_path(enum file_op op)
{
	assert(op < OP_COUNT);
	return ops[op].is_by_path;
}

const char *file_interface_name(enum file_interface interface)
{
	assert(interface < INTERFACE_COUNT);
	return interfaces[interface].name;
}

enum file_interface file_interface_find(const char *name)
{
	size_t interface = 0;

	while (interface < INTERFACE_COUNT && strcmp(interfaces[interface].name, name) != 0)
		interface++;
	return (enum file_interface)interface;
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
