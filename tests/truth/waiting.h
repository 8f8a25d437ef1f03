/* SPDX-License-Identifier: MIT */
/*
 * waiting - reads that wait, and what can happen to them meanwhile.
 *
 * A read is counted once however often a signal restarts it, as an error where it gave EINTR back,
 * and to the file that its descriptor stood for when it began.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "counted.h"

/* Tasks that are blocked in read() on one pipe. */
struct herd {
	struct file ends[2];
	size_t count;
	size_t process_count;
};

/* Make @count tasks, half of them threads of one process, half of them processes, and return when
 * all are about to read.  false: they could not be made. */
bool herd_start(struct herd *herd, struct ledgers *all, size_t count);

/* Two thirds get a byte each and the rest the end of the pipe.  Returns when all have ended. */
bool herd_release(struct herd *herd, struct ledger *l);

/* Reads that signals interrupt, with and without SA_RESTART, with handlers that write to a pipe
 * themselves, and a read in a process that is stopped and continued.  To be called in a process of
 * its own.  false: the cases could not be made. */
bool interrupt_readers(struct ledgers *all);

/* Other files put under the descriptor of a read that waits.  The same holds. */
bool replace_under_reader(struct ledgers *all, int place, const char *folder);
