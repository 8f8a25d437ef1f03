/* SPDX-License-Identifier: MIT */
#include "selftest/ring.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *map(int fd, size_t size, long offset)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);

	return at == MAP_FAILED ? NULL : at;
}

int ring_open(struct ring *ret)
{
	struct io_uring_params p = {};
	int fd = (int)syscall(SYS_io_uring_setup, 1, &p);
	char *sq, *cq, *requests;

	if (fd < 0)
		return -errno;
	sq = map(fd, p.sq_off.array + p.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	cq = map(fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		 IORING_OFF_CQ_RING);
	requests = map(fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	if (!sq || !cq || !requests)
		return -ENOMEM;
	*ret = (struct ring){
		.fd = fd,
		.sq_tail = (uint32_t *)(sq + p.sq_off.tail),
		.sq_array = (uint32_t *)(sq + p.sq_off.array),
		.sq_mask = *(uint32_t *)(sq + p.sq_off.ring_mask),
		.cq_head = (uint32_t *)(cq + p.cq_off.head),
		.cq_mask = *(uint32_t *)(cq + p.cq_off.ring_mask),
		.completions = (struct io_uring_cqe *)(cq + p.cq_off.cqes),
		.requests = (struct io_uring_sqe *)requests,
	};
	return 0;
}

long ring_move(struct ring *r, bool is_write, int fd, void *bytes, size_t size)
{
	uint32_t slot = *r->sq_tail & r->sq_mask, head = *r->cq_head;
	long result;

	r->requests[slot] = (struct io_uring_sqe){
		.opcode = is_write ? IORING_OP_WRITE : IORING_OP_READ,
		.fd = fd,
		.addr = (uintptr_t)bytes,
		.len = (uint32_t)size,
	};
	r->sq_array[slot] = slot;
	__atomic_store_n(r->sq_tail, *r->sq_tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return -errno;
	result = r->completions[head & r->cq_mask].res;
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	return result;
}
