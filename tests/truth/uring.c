/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "content.h"
#include "basic/macro.h"
#include "uring.h"

#define NOWHERE ((void *)1)

/* Opcodes newer than the headers that we build with. */
#define OP_EPOLL_WAIT_REQUEST 59 /* IORING_OP_EPOLL_WAIT, Linux 6.15, as are the next */
#define OP_READV_FIXED_REQUEST 60
#define OP_WRITEV_FIXED_REQUEST 61

#define FILE_BYTES 65536
#define PARTS 3

/* ---- requests ---- */

struct deed request_deed(enum op op, struct file file)
{
	return (struct deed){ .place = (int)file.fd < 0 ? PLACE_UNRESOLVED : file.place,
			      .op = op,
			      .way = WAY_IO_URING };
}

void requests_do(struct worker *w, struct ring *r, const struct request *requests, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct io_uring_sqe sqe = requests[i].sqe;

		sqe.user_data = i;
		ring_put(r, &sqe);
	}
	for (size_t i = 0; i < count; i++) {
		struct io_uring_cqe end;

		if (ring_wait(r, &end) < 0 || end.user_data >= count) {
			w->wrong = __func__;
			return;
		}
		ledger_note(w->ledger, requests[end.user_data].deed, end.res);
	}
}

long request_do(struct worker *w, struct ring *r, const struct request *request)
{
	struct io_uring_cqe end;

	ring_put(r, &request->sqe);
	if (ring_wait(r, &end) < 0) {
		w->wrong = __func__;
		return -EIO;
	}
	ledger_note(w->ledger, request->deed, end.res);
	return end.res;
}

bool uring_open(struct worker *w, struct ring *ret, unsigned int setup_flags, enum feature feature)
{
	int error = ring_open(ret, setup_flags);

	if (error < 0)
		ledger_note_refused(w->ledger, feature, error);
	return error >= 0;
}

void uring_close(struct worker *w, struct ring *r)
{
	ring_unmap(r);
	counted_close(w->ledger, (struct file){ .fd = r->fd, .place = PLACE_PSEUDO });
}

/* ---- data ---- */

struct place_of_data { /* how the requests of one round name their file and their memory */
	struct file file;
	unsigned char flags; /* IOSQE_... */
	int index; /* the file's number with IOSQE_FIXED_FILE */
	bool has_fixed_buffer;
};

static struct request data_request(const struct place_of_data *p, int opcode, void *at_memory,
				   size_t bytes, off_t at)
{
	bool writes = opcode == IORING_OP_WRITE || opcode == IORING_OP_WRITEV ||
		      opcode == IORING_OP_WRITE_FIXED || opcode == OP_WRITEV_FIXED_REQUEST;
	bool by_index = p->flags & IOSQE_FIXED_FILE;

	return (struct request){
		.deed = request_deed(writes ? OP_WRITE : OP_READ, p->file),
		.sqe = { .opcode = (unsigned char)opcode,
			 .flags = p->flags,
			 .fd = by_index ? p->index : (int)p->file.fd,
			 .addr = (unsigned long)at_memory,
			 .len = (unsigned int)bytes,
			 .off = (unsigned long)at },
	};
}

static bool write_at(struct worker *w, struct ring *r, const struct place_of_data *p, int opcode,
		     size_t bytes, off_t at)
{
	struct request q = data_request(p, opcode, w->buffer, bytes, at);

	content_fill(w->buffer, bytes, at);
	return request_do(w, r, &q) == (long)bytes;
}

static bool read_at(struct worker *w, struct ring *r, const struct place_of_data *p, int opcode,
		    size_t bytes, off_t at)
{
	struct request q = data_request(p, opcode, w->buffer, bytes, at);

	return request_do(w, r, &q) == (long)bytes && content_is(w->buffer, bytes, at);
}

static bool transfer_vector(struct worker *w, struct ring *r, const struct place_of_data *p,
			    int opcode, size_t bytes, off_t at)
{
	size_t third = bytes / 3;
	struct iovec parts[PARTS] = {
		{ .iov_base = w->buffer, .iov_len = third },
		{ .iov_base = w->buffer, .iov_len = 0 },
		{ .iov_base = w->buffer + third, .iov_len = bytes - third },
	};
	struct request q = data_request(p, opcode, parts, PARTS, at);

	if (opcode == IORING_OP_WRITEV)
		content_fill(w->buffer, bytes, at);
	return request_do(w, r, &q) == (long)bytes && content_is(w->buffer, bytes, at);
}

/* Vectors within the buffer that the kernel holds. */
static bool transfer_fixed_vector(struct worker *w, struct ring *r, const struct place_of_data *p,
				  size_t bytes, off_t at)
{
	struct iovec parts[] = {
		{ .iov_base = w->buffer, .iov_len = bytes / 3 },
		{ .iov_base = w->buffer + bytes / 3, .iov_len = bytes - bytes / 3 },
	};
	struct request put = data_request(p, OP_WRITEV_FIXED_REQUEST, parts, ARRAY_SIZE(parts), at);
	struct request take = data_request(p, OP_READV_FIXED_REQUEST, parts, ARRAY_SIZE(parts), at);

	content_fill(w->buffer, bytes, at);
	return request_do(w, r, &put) == (long)bytes && request_do(w, r, &take) == (long)bytes &&
	       content_is(w->buffer, bytes, at);
}

/* Each opcode, first to write and then to read what was written. */
static void transfer_round(struct worker *w, struct ring *r, const struct place_of_data *p)
{
	bool is_well = true;

	for (int i = 0; i < 5; i++)
		is_well &= write_at(w, r, p, IORING_OP_WRITE, 4003, i * 4003);
	for (int i = 0; i < 3; i++)
		is_well &= transfer_vector(w, r, p, IORING_OP_WRITEV, 2503, 21001 + i * 2503);
	for (int i = 0; i < 7; i++)
		is_well &= read_at(w, r, p, IORING_OP_READ, 2801, i * 2801);
	for (int i = 0; i < 5; i++)
		is_well &= transfer_vector(w, r, p, IORING_OP_READV, 1201, 21001 + i * 1201);
	for (int i = 0; p->has_fixed_buffer && i < 2; i++) {
		is_well &= write_at(w, r, p, IORING_OP_WRITE_FIXED, 3001, 30011 + i * 3001);
		is_well &= read_at(w, r, p, IORING_OP_READ_FIXED, 1499, 30011 + i * 1499);
	}
	for (int i = 0; p->has_fixed_buffer && r->is_known[OP_WRITEV_FIXED_REQUEST] && i < 3; i++)
		is_well &= transfer_fixed_vector(w, r, p, 1733, 36017 + i * 1733);
	is_well &= read_at(w, r, p, IORING_OP_READ, 0, 11);
	if (!is_well)
		w->wrong = __func__;
}

/* Behind the end, and up to it. */
static void read_at_end(struct worker *w, struct ring *r, const struct place_of_data *p)
{
	const struct request requests[] = {
		data_request(p, IORING_OP_READ, w->buffer, 101, FILE_BYTES + 7),
		data_request(p, IORING_OP_READ, w->buffer, 103, FILE_BYTES - 41),
	};

	requests_do(w, r, requests, ARRAY_SIZE(requests));
}

#define CROWD 37

static void read_many_at_once(struct worker *w, struct ring *r, const struct place_of_data *p)
{
	struct request requests[CROWD];

	for (int i = 0; i < CROWD; i++)
		requests[i] = data_request(p, IORING_OP_READ, w->buffer + i * 1009, 1009, i * 1009);
	requests_do(w, r, requests, CROWD);
	if (!content_is(w->buffer, CROWD * 1009, 0))
		w->wrong = __func__;
}

static void transfer_wrongly(struct worker *w, struct ring *r, struct file file, struct file dir)
{
	const struct place_of_data p = { .file = file }, in_dir = { .file = dir };
	const struct place_of_data bad = { .file = { .fd = -1 } },
				   none = { .file = { .fd = 1000003 } };
	struct request by_index = data_request(&bad, IORING_OP_READ, w->buffer, 13, 0);

	by_index.sqe.flags = IOSQE_FIXED_FILE;
	by_index.sqe.fd = 61; /* none such was registered */
	for (int i = 0; i < 3; i++) {
		struct request requests[] = {
			data_request(&p, IORING_OP_READ, NOWHERE, 11, 0),
			data_request(&p, IORING_OP_WRITE, NOWHERE, 13, 0),
			data_request(&in_dir, IORING_OP_READ, w->buffer, 17, 0),
			data_request(&in_dir, IORING_OP_WRITE, w->buffer, 19, 0),
			data_request(&bad, IORING_OP_READ, w->buffer, 23, 0),
			data_request(&none, IORING_OP_WRITE, w->buffer, 29, 0),
			by_index,
		};

		requests[5].deed.place = PLACE_UNRESOLVED;
		requests_do(w, r, requests, ARRAY_SIZE(requests));
	}
}

static void transfer_directly(struct worker *w, struct ring *r, int place, const char *path)
{
	struct file file = counted_open_existing(w->ledger, place, path,
						 O_RDWR | O_DIRECT | O_CLOEXEC);
	const struct place_of_data p = { .file = file };
	const struct place_of_data later = { .file = file, .flags = IOSQE_ASYNC };
	bool is_well = true;

	if (file.fd < 0)
		return;
	for (int i = 0; i < 3; i++) {
		is_well &= write_at(w, r, &p, IORING_OP_WRITE, 8192, 4096 + i * 8192);
		is_well &= write_at(w, r, &later, IORING_OP_WRITE, 4096, i * 4096);
	}
	for (int i = 0; i < 5; i++) {
		is_well &= read_at(w, r, &p, IORING_OP_READ, 4096, i * 4096);
		is_well &= read_at(w, r, &later, IORING_OP_READ, 8192, i * 4096);
	}
	if (!is_well)
		w->wrong = __func__;

	struct request askew = data_request(&p, IORING_OP_READ, w->buffer + 1, 13, 7);

	request_do(w, r, &askew);
	counted_close(w->ledger, file);
}

/* A read that finds nothing yet, and is done when something comes. */
static void read_late(struct worker *w, struct ring *r, unsigned char flags)
{
	struct file ends[2];
	struct io_uring_cqe end;
	char bytes[503];

	if (!pipe_make(ends, O_CLOEXEC))
		return;
	for (int i = 0; i < 3; i++) {
		const struct place_of_data p = { .file = ends[0], .flags = flags };
		struct request q = data_request(&p, IORING_OP_READ, bytes, sizeof(bytes), 0);

		ring_put(r, &q.sqe);
		ring_submit(r);
		usleep(5000); /* so that it is likely to wait; it is counted once if not */
		counted_write(w->ledger, ends[1], w->buffer, 211);
		if (ring_wait(r, &end) < 0)
			w->wrong = __func__;
		else
			ledger_note(w->ledger, q.deed, end.res);
	}
	counted_close(w->ledger, ends[0]);
	counted_close(w->ledger, ends[1]);
}

/* Neither reads nor writes, though its result is a number of what it got. */
static void wait_for_events(struct worker *w, struct ring *r)
{
	struct epoll_event wanted = { .events = EPOLLOUT }, event;
	struct file ends[2];
	struct io_uring_cqe end;
	int epoll = r->is_known[OP_EPOLL_WAIT_REQUEST] ? epoll_create1(EPOLL_CLOEXEC) : -1;
	const struct io_uring_sqe sqe = { .opcode = OP_EPOLL_WAIT_REQUEST,
					  .fd = epoll,
					  .addr = (unsigned long)&event,
					  .len = 1 };

	if (epoll < 0 || !pipe_make(ends, O_CLOEXEC))
		return;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, (int)ends[1].fd, &wanted) < 0)
		w->wrong = __func__;
	for (int i = 0; i < 7; i++) {
		ring_put(r, &sqe);
		if (ring_wait(r, &end) < 0 || end.res != 1)
			w->wrong = __func__;
	}
	counted_close(w->ledger, ends[0]);
	counted_close(w->ledger, ends[1]);
	counted_close(w->ledger, (struct file){ .fd = epoll, .place = PLACE_PSEUDO });
}

static void sync_file(struct worker *w, struct ring *r, struct file file, unsigned int flags)
{
	struct request q = {
		.deed = request_deed(flags ? OP_FDATASYNC : OP_FSYNC, file),
		.sqe = { .opcode = IORING_OP_FSYNC, .fd = (int)file.fd, .fsync_flags = flags },
	};

	request_do(w, r, &q);
}

/* ---- without a word when it is done ---- */

#define SILENT 5

/* In a chain behind the silent ones, the last one speaks.  A failure would speak too, or cut the
 * chain. */
static void do_silently(struct worker *w, struct ring *r, struct request *requests)
{
	const struct io_uring_sqe last = { .opcode = IORING_OP_NOP, .user_data = 1 };
	struct io_uring_cqe end;

	for (int i = 0; i < SILENT; i++) {
		requests[i].sqe.flags |= IOSQE_CQE_SKIP_SUCCESS | IOSQE_IO_LINK;
		requests[i].deed.is_silent = true;
		ring_put(r, &requests[i].sqe);
	}
	ring_put(r, &last);
	if (ring_wait(r, &end) < 0 || end.user_data != 1 || end.res != 0)
		w->wrong = __func__;
	for (int i = 0; i < SILENT; i++)
		ledger_note(w->ledger, requests[i].deed, requests[i].sqe.len);
}

static void transfer_silently(struct worker *w, struct ring *r, struct file file)
{
	const struct place_of_data p = { .file = file };
	struct request requests[SILENT];

	if (!(r->features & IORING_FEAT_CQE_SKIP)) {
		ledger_note_refused(w->ledger, FEATURE_CQE_SKIP, -EOPNOTSUPP);
		return;
	}
	content_fill(w->buffer, SILENT * 2003, 40009);
	for (int i = 0; i < SILENT; i++)
		requests[i] = data_request(&p, IORING_OP_WRITE, w->buffer + i * 2003, 2003,
					   40009 + i * 2003);
	do_silently(w, r, requests);
	content_check(w, file, 40009, SILENT * 2003, 40009);

	for (int i = 0; i < SILENT; i++)
		requests[i] = data_request(&p, IORING_OP_READ, w->buffer + i * 1009, 1009,
					   40009 + i * 1009);
	content_fill(w->buffer, SILENT * 1009, 0);
	do_silently(w, r, requests);
	if (!content_is(w->buffer, SILENT * 1009, 40009))
		w->wrong = __func__;
}

/* ---- in a folder ---- */

/* The buffer's first part, which is all that a round uses. */
static bool register_buffer(struct worker *w, struct ring *r)
{
	const struct iovec buffer = { .iov_base = w->buffer, .iov_len = 16384 };

	return ring_register(r, IORING_REGISTER_BUFFERS, &buffer, 1) == 0;
}

static bool register_file(struct ring *r, struct file file)
{
	const int fds[] = { -1, (int)file.fd };

	return ring_register(r, IORING_REGISTER_FILES, fds, ARRAY_SIZE(fds)) == 0;
}

static void transfer_all_ways(struct worker *w, struct ring *r, struct file file)
{
	bool has_buffer = register_buffer(w, r), has_file = register_file(r, file);
	static const unsigned char flags[] = { 0, IOSQE_ASYNC, IOSQE_FIXED_FILE,
					       IOSQE_FIXED_FILE | IOSQE_ASYNC };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		const struct place_of_data p = {
			.file = file, .flags = flags[i], .index = 1, .has_fixed_buffer = has_buffer
		};

		if ((flags[i] & IOSQE_FIXED_FILE) && !has_file)
			continue;
		transfer_round(w, r, &p);
		read_at_end(w, r, &p);
		read_many_at_once(w, r, &p);
	}
}

static void use_polled_ring(struct worker *w, struct file file)
{
	struct ring r;

	if (!uring_open(w, &r, IORING_SETUP_SQPOLL, FEATURE_SQPOLL))
		return;
	if (r.features & IORING_FEAT_SQPOLL_NONFIXED)
		transfer_all_ways(w, &r, file);
	else
		ledger_note_refused(w->ledger, FEATURE_SQPOLL, -EOPNOTSUPP);
	uring_close(w, &r);
}

static void use_file(struct worker *w, struct ring *r, struct file dir, const struct path *path)
{
	struct file file = content_create(w, dir.place, path, FILE_BYTES);

	if (file.fd < 0)
		return;
	transfer_all_ways(w, r, file);
	transfer_silently(w, r, file);
	transfer_wrongly(w, r, file, dir);
	transfer_directly(w, r, dir.place, path->text);
	for (int i = 0; i < 3; i++)
		sync_file(w, r, file, 0);
	for (int i = 0; i < 2; i++)
		sync_file(w, r, file, IORING_FSYNC_DATASYNC);
	sync_file(w, r, (struct file){ .fd = -1 }, 0);
	use_polled_ring(w, file);
	counted_close(w->ledger, file);
	counted_unlink(w->ledger, dir.place, path->text);
}

void uring_in_folder(struct worker *w, int place, const char *folder)
{
	struct path path;
	struct file dir;
	struct ring r;

	if (!uring_open(w, &r, 0, FEATURE_IO_URING))
		return;
	dir = counted_open_existing(w->ledger, place, folder, O_DIRECTORY | O_CLOEXEC);
	path_make(&path, folder, w->name, "ring");
	use_file(w, &r, dir, &path);
	read_late(w, &r, 0);
	read_late(w, &r, IOSQE_ASYNC);
	wait_for_events(w, &r);
	uring_on_names(w, &r, place, folder);
	counted_close(w->ledger, dir);
	uring_close(w, &r);
}
