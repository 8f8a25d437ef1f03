/* SPDX-License-Identifier: MIT */
/*
 * ledger - what was done and got back, by place and operation.
 *
 * Each task writes in a ledger of its own, in memory that it shares with its parents and children,
 * so that no pipe is needed to bring the counts home.  Nothing here makes a system call that a
 * meter counts, but for ledger_publish(), which counts its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum op { OP_READ, OP_WRITE, OP_OPEN, OP_CREATE, OP_CLOSE, OP_FSYNC, OP_FDATASYNC, OP_COUNT };

enum place {
	PLACE_PIPE,
	PLACE_SOCKET,
	PLACE_PSEUDO,	  /* files that the kernel makes on the fly */
	PLACE_UNRESOLVED, /* no file: a bad descriptor, an open that failed */
	PLACE_NAMED,	  /* from here on: folders and devices, by the path that was given */
	PLACES_MAX = PLACE_NAMED + 16,
};

struct tally {
	uint64_t calls, bytes, errors; /* a call that failed is in calls and in errors */
};

struct ledger {
	struct tally tallies[PLACES_MAX][OP_COUNT];
};

struct ledgers; /* all the ledgers of the program, and the names of the places */

/* Room for @count ledgers.  NULL: no memory.  Shared with the children; never freed. */
struct ledgers *ledgers_new(size_t count);

/* The place of that name, a new one where it is the first of it.  @name is kept, not copied.
 * -ENOSPC: too many; -EINVAL: it has a letter that would need an escape in JSON. */
int ledgers_get_place(struct ledgers *all, const char *name);

/* A fresh ledger, for one task; never NULL (aborts where there is none left: our own mistake). */
struct ledger *ledgers_take(struct ledgers *all);

/* Note one call: @result is what it gave back, -Exxx or a number (of bytes, for data). */
void ledger_note(struct ledger *l, int place, enum op op, long result);

/* Write the sum of all ledgers to the new file @path as one JSON document, which counts itself: one
 * file created in @place, one write, one close.  Returns 0 or -Exxx. */
int ledgers_publish(struct ledgers *all, int place, const char *path);
