/* SPDX-License-Identifier: MIT */
/*
 * uring - work that is asked of the kernel through io_uring, every operation a known number of
 * times.
 *
 * strace sees none of it, so what was written is read back and compared.
 */
#pragma once

#include "path.h"
#include "ring.h"
#include "work.h"

/* Data, and then operations on metadata, in one folder.  Where the kernel has no io_uring for us,
 * or not all of it, that is noted in the ledger. */
void uring_in_folder(struct worker *w, int place, const char *folder);

/* From a file through a pipe to another: noted as the way "splice", though it is asked for here. */
void uring_splice(struct worker *w, int place, const char *folder);

/* ---- for uring's own parts ---- */

struct request {
	struct deed deed;
	struct io_uring_sqe sqe;
};

/* Submit one, wait for it and note it; returns its result. */
long request_do(struct worker *w, struct ring *ring, const struct request *request);

/* The same with up to RING_ENTRIES under way at once. */
void requests_do(struct worker *w, struct ring *ring, const struct request *requests, size_t count);

/* Where a file is named by descriptor; a bad one has no place. */
struct deed request_deed(enum op op, struct file file);

/* A ring, or false: refused, and noted. */
bool uring_open(struct worker *w, struct ring *ret, unsigned int setup_flags, enum feature feature);
void uring_close(struct worker *w, struct ring *ring);

void uring_on_names(struct worker *w, struct ring *ring, int place, const char *folder);
