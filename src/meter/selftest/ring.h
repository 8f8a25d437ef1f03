/* SPDX-License-Identifier: MIT */
/* ring - an io_uring for one request at a time, by plain system calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	int fd;
	uint32_t *sq_tail, *sq_array;
	uint32_t *cq_head;
	const struct io_uring_cqe *completions;
	struct io_uring_sqe *requests;
	uint32_t sq_mask, cq_mask;
};

/* All is given back by the process' end, and not before.  -EPERM, -ENOSYS: refused here. */
int ring_open(struct ring *ret);

/* Read or write at the file's beginning, and wait for it: its result. */
long ring_move(struct ring *r, bool is_write, int fd, void *bytes, size_t size);
