/* SPDX-License-Identifier: MIT */
/*
 * ledger - what was done and got back, by place, operation, way of data and how the place is known.
 *
 * Each task writes in a ledger of its own, in memory that it shares with its parents and children,
 * so that no pipe is needed to bring the counts home.  Nothing here makes a system call that a
 * meter counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum op {
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
	OP_XATTR,
	OP_FSYNC,
	OP_FDATASYNC,
	OP_SYNC,
	OP_COUNT,
};

/* How it was asked for.  Operations on metadata come as calls or through io_uring. */
enum way {
	WAY_CALL,
	WAY_IO_URING,
	WAY_LIBAIO,
	WAY_SENDFILE,
	WAY_COPY_FILE_RANGE,
	WAY_SPLICE,
	WAY_MAPPING, /* bytes alone, of pages: no call asks for them */
	WAY_COUNT,
};

/* What tells the place. */
enum by {
	BY_DESCRIPTOR,
	BY_RESULT, /* an open that succeeded */
	BY_PATH,
	BY_COUNT,
};

enum place {
	PLACE_PIPE,
	PLACE_SOCKET,
	PLACE_PSEUDO, /* files that the kernel makes on the fly */
	PLACE_UNRESOLVED, /* no file: a bad descriptor, a path of which nothing was searched */
	PLACE_NAMED, /* from here on: folders and devices, by the path that was given */
	PLACES_MAX = PLACE_NAMED + 16,
};

/* What a kernel may refuse. */
enum feature {
	FEATURE_IO_URING,
	FEATURE_SQPOLL,
	FEATURE_CQE_SKIP,
	FEATURE_LIBAIO,
	FEATURE_COUNT,
};

struct deed {
	int place;
	enum op op;
	enum way way;
	enum by by;
	bool is_silent; /* asked the ring to tell of it only should it fail */
};

struct tally {
	uint64_t calls, bytes;
	uint64_t errors; /* in calls too */
	uint64_t not_found; /* errors that were ENOENT */
};

struct entry {
	struct deed deed;
	struct tally tally;
};

/* More than there are combinations that the program makes. */
#define ENTRIES_MAX 2048

struct ledger {
	int refused[FEATURE_COUNT]; /* -Exxx: why this task could not have it */
	size_t count;
	struct entry entries[ENTRIES_MAX];
};

struct ledgers; /* all the ledgers of the program, and the names of the places */

/* Room for @count ledgers.  NULL: no memory.  Shared with the children; never freed. */
struct ledgers *ledgers_new(size_t count);

/* The place of that name, a new one where it is the first of it.  @name is kept, not copied.
 * -ENOSPC: too many; -EINVAL: it has a letter that would need an escape in JSON. */
int ledgers_get_place(struct ledgers *all, const char *name);

/* NULL: there are no more places. */
const char *ledgers_place_name(const struct ledgers *all, int place);

/* A fresh ledger, for one task; never NULL (aborts where there is none left: our own mistake). */
struct ledger *ledgers_take(struct ledgers *all);

/* Note one call: @result is what it gave back, -Exxx or a number (of bytes, for data). */
void ledger_note(struct ledger *l, struct deed deed, long result);

/* Note what came or went without a call. */
void ledger_note_bytes(struct ledger *l, struct deed deed, uint64_t bytes);

void ledger_note_refused(struct ledger *l, enum feature feature, long error);

/* All of them, in one. */
void ledgers_add_up(const struct ledgers *all, struct ledger *ret);
