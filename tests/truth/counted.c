/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "counted.h"

#define MODE 0600

static long result_of(long r)
{
	return r < 0 ? -errno : r;
}

/* A descriptor is an unsigned int to the kernel: what lies above its 32 bits is not looked at. */
static int place_of(struct file file)
{
	return (int)file.fd < 0 ? PLACE_UNRESOLVED : file.place;
}

#define PARTS 3

static void split(const struct transfer *t, struct iovec ret[PARTS])
{
	size_t third = t->bytes / 3;

	ret[0] = (struct iovec){ .iov_base = t->buffer, .iov_len = third };
	ret[1] = (struct iovec){ .iov_base = t->buffer, .iov_len = 0 };
	ret[2] = (struct iovec){ .iov_base = (char *)t->buffer + third,
				 .iov_len = t->bytes - third };
}

static long call_plain(long number, long fd, const struct transfer *t)
{
	return syscall(number, fd, t->buffer, t->bytes);
}

static long call_at(long number, long fd, const struct transfer *t)
{
	return syscall(number, fd, t->buffer, t->bytes, t->at);
}

static long call_vector(long number, long fd, const struct transfer *t)
{
	struct iovec parts[PARTS];

	split(t, parts);
	return syscall(number, fd, parts, PARTS);
}

/* The position comes in two halves, of which a 64-bit kernel takes the lower for all. */
static long call_vector_at(long number, long fd, const struct transfer *t)
{
	struct iovec parts[PARTS];

	split(t, parts);
	return syscall(number, fd, parts, PARTS, t->at, 0, t->flags);
}

static const struct {
	long number;
	enum op op;
	long (*call)(long number, long fd, const struct transfer *t);
} data_calls[DATA_CALL_COUNT] = {
	/* clang-format off */
	[CALL_READ]     = { SYS_read,     OP_READ,  call_plain },
	[CALL_PREAD]    = { SYS_pread64,  OP_READ,  call_at },
	[CALL_READV]    = { SYS_readv,    OP_READ,  call_vector },
	[CALL_PREADV]   = { SYS_preadv,   OP_READ,  call_vector_at },
	[CALL_PREADV2]  = { SYS_preadv2,  OP_READ,  call_vector_at },
	[CALL_WRITE]    = { SYS_write,    OP_WRITE, call_plain },
	[CALL_PWRITE]   = { SYS_pwrite64, OP_WRITE, call_at },
	[CALL_WRITEV]   = { SYS_writev,   OP_WRITE, call_vector },
	[CALL_PWRITEV]  = { SYS_pwritev,  OP_WRITE, call_vector_at },
	[CALL_PWRITEV2] = { SYS_pwritev2, OP_WRITE, call_vector_at },
	/* clang-format on */
};

long counted_transfer(struct ledger *l, struct file file, const struct transfer *t)
{
	long r = result_of(data_calls[t->call].call(data_calls[t->call].number, file.fd, t));

	ledger_note(l, (struct deed){ .place = place_of(file), .op = data_calls[t->call].op }, r);
	return r;
}

long counted_read(struct ledger *l, struct file file, void *buffer, size_t bytes)
{
	return counted_transfer(
		l, file, &(struct transfer){ .call = CALL_READ, .buffer = buffer, .bytes = bytes });
}

long counted_write(struct ledger *l, struct file file, const void *buffer, size_t bytes)
{
	return counted_transfer(
		l, file,
		&(struct transfer){ .call = CALL_WRITE, .buffer = (void *)buffer, .bytes = bytes });
}

static long call_passing(const struct passing *p)
{
	switch (p->way) {
	case WAY_SENDFILE:
		return syscall(SYS_sendfile, p->out.fd, p->in.fd, p->in_at, p->bytes);
	case WAY_COPY_FILE_RANGE:
		return syscall(SYS_copy_file_range, p->in.fd, p->in_at, p->out.fd, p->out_at,
			       p->bytes, p->flags);
	default:
		return syscall(SYS_splice, p->in.fd, p->in_at, p->out.fd, p->out_at, p->bytes,
			       p->flags);
	}
}

long counted_pass(struct ledger *l, const struct passing *p)
{
	long r = result_of(call_passing(p));

	ledger_note(l, (struct deed){ .place = place_of(p->in), .op = OP_READ, .way = p->way }, r);
	ledger_note(l, (struct deed){ .place = place_of(p->out), .op = OP_WRITE, .way = p->way },
		    r);
	return r;
}

/* arm64 never had open and creat: there openat stands in for them. */
#ifdef SYS_open
static long call_open(const struct opening *o)
{
	return syscall(SYS_open, o->path, o->flags, MODE);
}

static long call_creat(const struct opening *o)
{
	return syscall(SYS_creat, o->path, MODE);
}
#else
static long call_open(const struct opening *o)
{
	return syscall(SYS_openat, AT_FDCWD, o->path, o->flags, MODE);
}

static long call_creat(const struct opening *o)
{
	return syscall(SYS_openat, AT_FDCWD, o->path, O_CREAT | O_WRONLY | O_TRUNC, MODE);
}
#endif

static long call_openat(const struct opening *o)
{
	return syscall(SYS_openat, o->dir_fd, o->path, o->flags, MODE);
}

static long call_openat2(const struct opening *o)
{
	struct open_how how = {
		.flags = (unsigned int)o->flags, .mode = o->flags & O_CREAT ? MODE : 0, /* else it
											   has to be
											   0 */
	};

	return syscall(SYS_openat2, o->dir_fd, o->path, &how, sizeof(how));
}

static long (*const open_calls[OPEN_CALL_COUNT])(const struct opening *o) = {
	[CALL_OPEN] = call_open,
	[CALL_OPENAT] = call_openat,
	[CALL_OPENAT2] = call_openat2,
	[CALL_CREAT] = call_creat,
};

/* An open that fails has created nothing and has no file to tell its place. */
struct file counted_open(struct ledger *l, int place, const struct opening *o)
{
	struct file file = { .fd = result_of(open_calls[o->call](o)), .place = place };

	ledger_note(l,
		    (struct deed){ .place = place,
				   .op = file.fd >= 0 && o->creates ? OP_CREATE : OP_OPEN,
				   .by = file.fd < 0 ? BY_PATH : BY_RESULT },
		    file.fd);
	return file;
}

struct file counted_open_existing(struct ledger *l, int place, const char *path, int flags)
{
	return counted_open(
		l, place,
		&(struct opening){
			.call = CALL_OPENAT, .dir_fd = AT_FDCWD, .path = path, .flags = flags });
}

long counted_close(struct ledger *l, struct file file)
{
	long r = result_of(syscall(SYS_close, file.fd));

	ledger_note(l, (struct deed){ .place = place_of(file), .op = OP_CLOSE }, r);
	return r;
}

long counted_sync(struct ledger *l, struct file file, enum op op)
{
	long r = result_of(syscall(op == OP_FSYNC ? SYS_fsync : SYS_fdatasync, file.fd));

	ledger_note(l, (struct deed){ .place = place_of(file), .op = op }, r);
	return r;
}

long counted_call(struct ledger *l, int place, const struct call *c)
{
	const long *a = c->args;
	bool is_bad = c->by == BY_DESCRIPTOR && (int)a[0] < 0;
	long r = 0;

	if (c->number == CALL_NOWHERE)
		return -ENOSYS;
	for (int i = 0; i < c->times; i++) {
		r = result_of(syscall(c->number, a[0], a[1], a[2], a[3], a[4]));
		ledger_note(l,
			    (struct deed){ .place = is_bad ? PLACE_UNRESOLVED : place,
					   .op = c->op,
					   .by = c->by },
			    r);
	}
	return r;
}

void counted_calls(struct ledger *l, int place, const struct call *calls, size_t count)
{
	for (size_t i = 0; i < count; i++)
		counted_call(l, place, &calls[i]);
}

long counted_unlink(struct ledger *l, int place, const char *path)
{
	return counted_call(l, place,
			    &(struct call){ .op = OP_UNLINK,
					    .by = BY_PATH,
					    .times = 1,
					    .number = SYS_unlinkat,
					    .args = { AT_FDCWD, ARG(path) } });
}

bool pipe_make(struct file ret[2], int flags)
{
	int fds[2];

	if (pipe2(fds, flags) < 0)
		return false;
	for (int i = 0; i < 2; i++)
		ret[i] = (struct file){ .fd = fds[i], .place = PLACE_PIPE };
	return true;
}
