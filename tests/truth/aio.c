/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "aio.h"
#include "content.h"
#include "basic/macro.h"
#include "path.h"

#define NOWHERE ((void *)1)
#define FILE_BYTES 65536
#define REQUESTS_MAX 32
#define PARTS 3

/* One request, in what the kernel takes; its data says which one it is. */
static struct iocb request(struct file file, int opcode, void *memory, size_t count, off_t at)
{
	return (struct iocb){
		.aio_lio_opcode = (unsigned short)opcode,
		.aio_fildes = (unsigned int)file.fd,
		.aio_buf = (unsigned long)memory,
		.aio_nbytes = count,
		.aio_offset = at,
	};
}

static void note(struct worker *w, struct file file, const struct iocb *r, long result)
{
	bool reads = r->aio_lio_opcode == IOCB_CMD_PREAD || r->aio_lio_opcode == IOCB_CMD_PREADV;

	ledger_note(w->ledger,
		    (struct deed){ .place = file.place,
				   .op = reads ? OP_READ : OP_WRITE,
				   .way = WAY_LIBAIO },
		    result);
}

/* Submit all at once and note each end.  Returns the sum of bytes, -Exxx of the last that failed.
 */
static long do_all(struct worker *w, aio_context_t context, struct file file, struct iocb *requests,
		   long count)
{
	struct iocb *pointers[REQUESTS_MAX];
	struct io_event ends[REQUESTS_MAX];
	long submitted, ended = 0, sum = 0;

	for (long i = 0; i < count; i++) {
		requests[i].aio_data = (unsigned long)i;
		pointers[i] = &requests[i];
	}
	submitted = syscall(SYS_io_submit, context, count, pointers);
	while (ended < submitted) {
		long n = syscall(SYS_io_getevents, context, 1, submitted - ended, ends + ended,
				 NULL);

		if (n < 0 && errno != EINTR) /* which it is, without a signal, as an io_uring ends
					      */
			break;
		ended += MAX(n, 0);
	}
	for (long i = 0; i < ended; i++) {
		note(w, file, &requests[ends[i].data], (long)ends[i].res);
		sum = ends[i].res < 0 ? (long)ends[i].res : sum + (long)ends[i].res;
	}
	if (ended != count)
		w->wrong = __func__;
	return sum;
}

static long do_one(struct worker *w, aio_context_t context, struct file file, int opcode,
		   void *memory, size_t count, off_t at)
{
	struct iocb one = request(file, opcode, memory, count, at);

	return do_all(w, context, file, &one, 1);
}

static void transfer_one(struct worker *w, aio_context_t context, struct file file, size_t bytes,
			 off_t at)
{
	long expected = (long)bytes;

	content_fill(w->buffer, bytes, at);
	if (do_one(w, context, file, IOCB_CMD_PWRITE, w->buffer, bytes, at) != expected)
		w->wrong = __func__;
	content_fill(w->buffer, bytes, at + 1);
	if (do_one(w, context, file, IOCB_CMD_PREAD, w->buffer, bytes, at) != expected ||
	    !content_is(w->buffer, bytes, at))
		w->wrong = __func__;
}

static void transfer_parts(struct worker *w, aio_context_t context, struct file file, size_t part,
			   off_t at)
{
	size_t bytes = part * PARTS;
	struct iovec parts[PARTS];

	for (int i = 0; i < PARTS; i++)
		parts[i] = (struct iovec){ .iov_base = w->buffer + i * part, .iov_len = part };
	content_fill(w->buffer, bytes, at);
	if (do_one(w, context, file, IOCB_CMD_PWRITEV, parts, PARTS, at) != (long)bytes)
		w->wrong = __func__;
	content_fill(w->buffer, bytes, at + 1);
	if (do_one(w, context, file, IOCB_CMD_PREADV, parts, PARTS, at) != (long)bytes ||
	    !content_is(w->buffer, bytes, at))
		w->wrong = __func__;
}

/* Sizes and offsets in @unit, as direct transfers want. */
static void transfer_many(struct worker *w, aio_context_t context, struct file file, size_t unit)
{
	enum { CROWD = 13 };
	struct iocb requests[CROWD];

	for (int i = 0; i < 5; i++)
		transfer_one(w, context, file, unit, i * (off_t)unit);
	for (int i = 0; i < 3; i++)
		transfer_parts(w, context, file, unit, i * (off_t)unit);
	for (int i = 0; i < CROWD; i++)
		requests[i] = request(file, IOCB_CMD_PREAD, w->buffer + i * unit, unit,
				      i * (off_t)unit);
	if (do_all(w, context, file, requests, CROWD) != (long)(CROWD * unit) ||
	    !content_is(w->buffer, CROWD * unit, 0))
		w->wrong = __func__;
}

/* What is accepted, and fails when it is done. */
static void transfer_wrongly(struct worker *w, aio_context_t context, struct file file)
{
	struct iocb requests[] = {
		request(file, IOCB_CMD_PREAD, NOWHERE, 11, 0),
		request(file, IOCB_CMD_PWRITE, NOWHERE, 13, 0),
		request(file, IOCB_CMD_PREAD, w->buffer, 4096, FILE_BYTES),
		request(file, IOCB_CMD_PREAD, w->buffer, 8192, FILE_BYTES - 4096),
	};

	for (int i = 0; i < 3; i++)
		do_all(w, context, file, requests, ARRAY_SIZE(requests));
}

static void transfer_directly(struct worker *w, aio_context_t context, int place, const char *path)
{
	struct file file = counted_open_existing(w->ledger, place, path,
						 O_RDWR | O_DIRECT | O_CLOEXEC);

	if (file.fd < 0)
		return;
	transfer_many(w, context, file, 4096);
	do_one(w, context, file, IOCB_CMD_PREAD, w->buffer + 1, 13, 7);
	counted_close(w->ledger, file);
}

void aio_in_folder(struct worker *w, int place, const char *folder)
{
	aio_context_t context = 0;
	struct path path;
	struct file file;

	if (syscall(SYS_io_setup, REQUESTS_MAX, &context) < 0) {
		ledger_note_refused(w->ledger, FEATURE_LIBAIO, -errno);
		return;
	}
	path_make(&path, folder, w->name, "aio");
	file = content_create(w, place, &path, FILE_BYTES);
	if (file.fd >= 0) {
		transfer_many(w, context, file, 1009);
		transfer_wrongly(w, context, file);
		transfer_directly(w, context, place, path.text);
	}
	counted_close(w->ledger, file);
	counted_unlink(w->ledger, place, path.text);
	syscall(SYS_io_destroy, context);
}
