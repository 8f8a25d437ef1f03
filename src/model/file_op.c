/* SPDX-License-Identifier: MIT */
#include "file_op.h"

#include <assert.h>
#include <string.h>

/* clang-format off */
static const char *const op_names[OP_COUNT] = {
	[OP_READ] = "read", [OP_WRITE] = "write",
	[OP_OPEN] = "open", [OP_CREATE] = "create", [OP_CLOSE] = "close",
	[OP_STAT] = "stat", [OP_ACCESS] = "access", [OP_READDIR] = "readdir", [OP_READLINK] = "readlink",
	[OP_STATFS] = "statfs", [OP_RENAME] = "rename", [OP_LINK] = "link", [OP_SYMLINK] = "symlink",
	[OP_UNLINK] = "unlink", [OP_MKDIR] = "mkdir", [OP_RMDIR] = "rmdir", [OP_MKNOD] = "mknod",
	[OP_TRUNCATE] = "truncate", [OP_FALLOCATE] = "fallocate", [OP_CHMOD] = "chmod", [OP_CHOWN] = "chown",
	[OP_UTIME] = "utime", [OP_XATTR] = "xattr",
	[OP_FSYNC] = "fsync", [OP_FDATASYNC] = "fdatasync", [OP_SYNC] = "sync",
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
	return op_names[op];
}

enum file_op file_op_find(const char *name)
{
	size_t op = 0;

	while (op < OP_COUNT && strcmp(op_names[op], name) != 0)
		op++;
	return (enum file_op)op;
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
