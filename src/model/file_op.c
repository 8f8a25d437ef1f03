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
	bool has_time, is_in_books;
} ways[WAY_COUNT] = {
	[WAY_CALL]            = { "call", true, true },
	[WAY_IO_URING]        = { "io_uring", false, false },
	[WAY_LIBAIO]          = { "libaio", false, false },
	[WAY_SENDFILE]        = { "sendfile", true, true },
	[WAY_COPY_FILE_RANGE] = { "copy_file_range", true, true },
	[WAY_SPLICE]          = { "splice", true, false },
	[WAY_MAPPING]         = { "mapping", false, false },
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

const char *file_way_name(enum file_way way)
{
	assert(way < WAY_COUNT);
	return ways[way].name;
}

enum file_way file_way_find(const char *name)
{
	size_t way = 0;

	while (way < WAY_COUNT && strcmp(ways[way].name, name) != 0)
		way++;
	return (enum file_way)way;
}

bool file_way_has_time(enum file_way way)
{
	assert(way < WAY_COUNT);
	return ways[way].has_time;
}

bool file_way_is_in_books(enum file_way way)
{
	assert(way < WAY_COUNT);
	return ways[way].is_in_books;
}
