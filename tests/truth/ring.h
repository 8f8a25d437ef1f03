/* SPDX-License-Identifier: MIT */
/*
 * ring - an io_uring by its bare system calls, which are none that a meter counts.
 *
 * For one thread, with few requests under way.
 */
#pragma once

#include <linux/io_uring.h>
#include <stdbool.h>
#include <stddef.h>

#define RING_ENTRIES 64 /* requests that may be under way */

struct ring {
	int fd;
	unsigned int setup_flags;
	unsigned int features; /* IORING_FEAT_... */
	unsigned int unsubmitted; /* put, and not yet shown to the kernel */
	void *rings, *requests; /* what was mapped */
	size_t rings_bytes, requests_bytes;
	unsigned int *request_tail, *request_flags, *request_places, request_mask;
	unsigned int *end_head, *end_tail, end_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	bool is_known[256]; /* by opcode */
};

/* @setup_flags: IORING_SETUP_...  Returns 0 or -Exxx: it is not allowed, or not known. */
int ring_open(struct ring *ret, unsigned int setup_flags);

/* Forget the memory; the descriptor stays open, for whoever counts its close. */
void ring_unmap(struct ring *ring);

/* Have the kernel keep hold of buffers or files, IORING_REGISTER_...  Returns 0 or -Exxx. */
int ring_register(struct ring *ring, unsigned int what, const void *items, unsigned int count);

void ring_put(struct ring *ring, const struct io_uring_sqe *sqe);
int ring_submit(struct ring *ring);

/* Submit what was put, and take the next completion, for which it waits. */
int ring_wait(struct ring *ring, struct io_uring_cqe *ret);
