/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/macro.h"
#include "ring.h"

/* From 5.4 on one mapping holds both rings; earlier kernels do not count here. */
static int map(struct ring *r, const struct io_uring_params *p)
{
	size_t ends = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
	size_t places = p->sq_off.array + p->sq_entries * sizeof(unsigned int);

	if (!(p->features & IORING_FEAT_SINGLE_MMAP))
		return -ENOSYS;
	r->rings_bytes = MAX(ends, places);
	r->requests_bytes = p->sq_entries * sizeof(struct io_uring_sqe);
	r->rings = mmap(NULL, r->rings_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			r->fd, IORING_OFF_SQ_RING);
	if (r->rings == MAP_FAILED)
		return -errno;
	r->requests = mmap(NULL, r->requests_bytes, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQES);
	return r->requests == MAP_FAILED ? -errno : 0;
}

static void find_parts(struct ring *r, const struct io_uring_params *p)
{
	char *base = r->rings;

	r->request_tail = (unsigned int *)(base + p->sq_off.tail);
	r->request_flags = (unsigned int *)(base + p->sq_off.flags);
	r->request_places = (unsigned int *)(base + p->sq_off.array);
	r->request_mask = *(unsigned int *)(base + p->sq_off.ring_mask);
	r->end_head = (unsigned int *)(base + p->cq_off.head);
	r->end_tail = (unsigned int *)(base + p->cq_off.tail);
	r->end_mask = *(unsigned int *)(base + p->cq_off.ring_mask);
	r->cqes = (struct io_uring_cqe *)(base + p->cq_off.cqes);
	r->sqes = r->requests;
}

static void learn_opcodes(struct ring *r)
{
	enum { OPS = 256 };
	uint64_t room[(sizeof(struct io_uring_probe) + OPS * sizeof(struct io_uring_probe_op)) /
		      8] = {};
	const struct io_uring_probe *probe = (const struct io_uring_probe *)room;

	if (ring_register(r, IORING_REGISTER_PROBE, room, OPS) < 0)
		return;
	for (int i = 0; i <= probe->last_op; i++)
		r->is_known[i] = probe->ops[i].flags & IO_URING_OP_SUPPORTED;
}

int ring_open(struct ring *ret, unsigned int setup_flags)
{
	struct io_uring_params params = { .flags = setup_flags, .sq_thread_idle = 50 };
	struct ring r = { .setup_flags = setup_flags };
	int error;

	r.fd = (int)syscall(SYS_io_uring_setup, RING_ENTRIES, &params);
	if (r.fd < 0)
		return -errno;
	r.features = params.features;
	error = map(&r, &params);
	if (error < 0)
		return error; /* never seen; the descriptor goes with the process */
	find_parts(&r, &params);
	learn_opcodes(&r);
	*ret = r;
	return 0;
}

void ring_unmap(struct ring *r)
{
	munmap(r->requests, r->requests_bytes);
	munmap(r->rings, r->rings_bytes);
}

int ring_register(struct ring *r, unsigned int what, const void *items, unsigned int count)
{
	return syscall(SYS_io_uring_register, r->fd, what, items, count) < 0 ? -errno : 0;
}

void ring_put(struct ring *r, const struct io_uring_sqe *sqe)
{
	unsigned int tail = *r->request_tail, place = tail & r->request_mask;

	r->sqes[place] = *sqe;
	r->request_places[place] = place;
	__atomic_store_n(r->request_tail, tail + 1, __ATOMIC_RELEASE);
	r->unsubmitted++;
}

static int enter(struct ring *r, unsigned int submit, unsigned int wait, unsigned int flags)
{
	int n;

	do
		n = (int)syscall(SYS_io_uring_enter, r->fd, submit, wait, flags, NULL, 0);
	while (n < 0 && errno == EINTR); /* nothing was submitted, nor taken */
	return n < 0 ? -errno : n;
}

/* A thread of the kernel's that looks for requests itself has to be woken when it dozes. */
static unsigned int flags_to_wake(const struct ring *r)
{
	if (!(r->setup_flags & IORING_SETUP_SQPOLL))
		return 0;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return *r->request_flags & IORING_SQ_NEED_WAKEUP ? IORING_ENTER_SQ_WAKEUP : 0;
}

/* A request that is refused as it comes can end a submission: the rest has to be submitted again.
 */
int ring_submit(struct ring *r)
{
	while (r->unsubmitted) {
		int n = enter(r, r->unsubmitted, 0, flags_to_wake(r));

		if (n < 0)
			return n;
		r->unsubmitted -= MIN((unsigned int)n, r->unsubmitted);
	}
	return 0;
}

int ring_wait(struct ring *r, struct io_uring_cqe *ret)
{
	unsigned int head = *r->end_head;
	int error = ring_submit(r);

	while (error >= 0 && __atomic_load_n(r->end_tail, __ATOMIC_ACQUIRE) == head)
		error = enter(r, 0, 1, IORING_ENTER_GETEVENTS | flags_to_wake(r));
	if (error < 0)
		return error;
	*ret = r->cqes[head & r->end_mask];
	__atomic_store_n(r->end_head, head + 1, __ATOMIC_RELEASE);
	return 0;
}
