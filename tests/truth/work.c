/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/macro.h"
#include "path.h"
#include "work.h"

#define PAGE_MAX 65536 /* of any kernel */
#define NOWHERE ((void *)1)

char *work_buffer_new(void)
{
	char *buffer = mmap(NULL, WORK_BUFFER_BYTES + PAGE_MAX, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buffer == MAP_FAILED || mprotect(buffer + WORK_BUFFER_BYTES, PAGE_MAX, PROT_NONE) < 0)
		return NULL;
	memset(buffer, 'w', WORK_BUFFER_BYTES);
	return buffer;
}

#define HOLE_FD 701

struct file work_make_hole(struct ledger *l)
{
	struct file hole = { .fd = -1, .place = PLACE_UNRESOLVED };
	struct file ends[2];

	if (!pipe_make(ends, O_CLOEXEC))
		return hole;
	hole.fd = fcntl((int)ends[0].fd, F_DUPFD, HOLE_FD); /* -1 under a low limit: bad as well */
	if (hole.fd >= 0)
		counted_close(l, (struct file){ .fd = hole.fd, .place = PLACE_PIPE });
	counted_close(l, ends[0]);
	counted_close(l, ends[1]);
	return hole;
}

static void transfer(struct worker *w, struct file file, enum data_call call, size_t bytes,
		     off_t at)
{
	counted_transfer(
		w->ledger, file,
		&(struct transfer){ .call = call, .buffer = w->buffer, .bytes = bytes, .at = at });
}

/* Each call once: a write, then the read that is its counterpart. */
static void transfer_all_ways(struct worker *w, struct file in, struct file out, size_t bytes)
{
	for (int i = 0; i < DATA_CALL_COUNT / 2; i++) {
		transfer(w, out, (enum data_call)(CALL_WRITE + i), bytes, 0);
		transfer(w, in, (enum data_call)(CALL_READ + i), bytes, 0);
	}
}

/* What is wrong with the call and not with the descriptor is an error of the file. */
static void transfer_wrongly(struct worker *w, struct file file)
{
	static char somewhere[31];
	static const struct transfer wrong[] = {
		/* clang-format off */
		{ .call = CALL_READ,     .bytes = 11, .buffer = NOWHERE },
		{ .call = CALL_PREADV,   .bytes = 23, .buffer = NOWHERE },
		{ .call = CALL_WRITE,    .bytes = 13, .buffer = NOWHERE },
		{ .call = CALL_PWRITEV2, .bytes = 29, .buffer = NOWHERE },
		{ .call = CALL_PREAD,    .bytes = 0,  .buffer = NOWHERE, .at = -3 },
		{ .call = CALL_PWRITE,   .bytes = 0,  .buffer = NOWHERE, .at = -5 },
		{ .call = CALL_PREADV2,  .bytes = 31, .buffer = somewhere, .flags = 1 << 30 },
		/* clang-format on */
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		counted_transfer(w->ledger, file, &wrong[i]);
}

static void sync_both_ways(struct worker *w, struct file file)
{
	for (int i = 0; i < 3; i++)
		counted_sync(w->ledger, file, OP_FSYNC);
	for (int i = 0; i < 2; i++)
		counted_sync(w->ledger, file, OP_FDATASYNC);
}

/* ---- regular files ---- */

/* Each way to open, first to create and then, still with O_CREAT, to find what is there. */
static void open_all_ways(struct worker *w, struct file dir, const char *folder)
{
	static const int times[OPEN_CALL_COUNT] = { 2, 3, 5, 7 };
	struct path path;

	path_make(&path, folder, w->name, "opened");
	for (int call = 0; call < OPEN_CALL_COUNT; call++) {
		for (int i = 0; i < times[call]; i++) {
			bool is_relative = call == CALL_OPENAT || call == CALL_OPENAT2;
			struct opening opening = {
				.call = (enum open_call)call,
				.dir_fd = (int)dir.fd,
				.path = is_relative ? path.name : path.text,
				.flags = O_CREAT | O_RDWR | O_CLOEXEC,
				.creates = i == 0,
			};

			counted_close(w->ledger, counted_open(w->ledger, dir.place, &opening));
		}
		counted_unlink(w->ledger, dir.place, path.text);
	}
}

/* What is found in the folder, or missed there: the folder may be a mount point, which is itself
 * searched for elsewhere. */
static void open_wrongly(struct worker *w, struct file dir, const char *folder)
{
	struct path there, absent, below, inner;

	path_make(&there, folder, w->name, "data");
	path_make(&absent, folder, w->name, "absent");
	path_make(&below, folder, w->name, "data/below");
	path_make(&inner, folder, w->name, "inner");

	const struct call make = {
		OP_MKDIR, BY_PATH, 1, SYS_mkdirat, { AT_FDCWD, ARG(inner.text), 0700 }
	};
	const struct call remove = {
		OP_RMDIR, BY_PATH, 1, SYS_unlinkat, { AT_FDCWD, ARG(inner.text), AT_REMOVEDIR }
	};
	const struct opening wrong[] = {
		/* clang-format off */
		{ .call = CALL_OPEN,    .path = absent.text, .flags = O_RDONLY },
		{ .call = CALL_OPEN,    .path = there.text,  .flags = O_CREAT | O_EXCL | O_RDWR },
		{ .call = CALL_OPEN,    .path = inner.text,  .flags = O_WRONLY },
		{ .call = CALL_OPENAT,  .path = absent.name, .flags = O_RDWR },
		{ .call = CALL_OPENAT,  .path = below.name,  .flags = O_CREAT | O_RDWR },
		{ .call = CALL_OPENAT2, .path = absent.name, .flags = O_RDONLY },
		{ .call = CALL_OPENAT2, .path = NOWHERE,     .flags = O_RDONLY },
		{ .call = CALL_CREAT,   .path = below.text },
		{ .call = CALL_CREAT,   .path = inner.text },
		/* clang-format on */
	};

	counted_call(w->ledger, dir.place, &make);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct opening opening = wrong[i];
		bool is_searched = opening.path != NOWHERE;

		opening.dir_fd = (int)dir.fd;
		counted_open(w->ledger, is_searched ? dir.place : PLACE_UNRESOLVED, &opening);
	}
	counted_call(w->ledger, dir.place, &remove);
}

struct portion {
	enum data_call call;
	int times;
	size_t bytes;
};

static void transfer_portions(struct worker *w, struct file file, const struct portion *portions,
			      size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < portions[i].times; k++)
			transfer(w, file, portions[i].call, portions[i].bytes,
				 (off_t)(k * portions[i].bytes));
}

static void fill_file(struct worker *w, struct file file)
{
	static const struct portion portions[] = {
		/* clang-format off */
		{ CALL_WRITE,    13,   1009 },
		{ CALL_WRITE,     1, 262139 },
		{ CALL_WRITE,     3,      1 },
		{ CALL_WRITE,     2,      0 },
		{ CALL_PWRITE,   11,   2003 },
		{ CALL_WRITEV,    7,   3001 },
		{ CALL_PWRITEV,   5,   4001 },
		{ CALL_PWRITEV2,  3,   5003 },
		/* clang-format on */
	};

	transfer_portions(w, file, portions, ARRAY_SIZE(portions));
	transfer(w, file, CALL_PWRITEV2, 127, -1); /* at the file's own position */
	sync_both_ways(w, file);
}

/* The position stands at the end after fill_file(): the first reads give 0 bytes. */
static void drain_file(struct worker *w, struct file file)
{
	static const struct portion portions[] = {
		/* clang-format off */
		{ CALL_READ,    2,    997 },
		{ CALL_PREAD,  17,   1999 },
		{ CALL_PREADV,  5,   2999 },
		{ CALL_PREADV2, 7,   4007 },
		/* clang-format on */
	};
	static const struct portion from_start[] = {
		/* clang-format off */
		{ CALL_READ,   19,    499 },
		{ CALL_READ,    3,      0 },
		{ CALL_READV,  11,   3511 },
		{ CALL_READ,    3, 130043 }, /* the last ones meet the end */
		/* clang-format on */
	};

	transfer_portions(w, file, portions, ARRAY_SIZE(portions));
	lseek((int)file.fd, 0, SEEK_SET);
	transfer_portions(w, file, from_start, ARRAY_SIZE(from_start));
	transfer(w, file, CALL_PREAD, 101, INT64_C(1) << 40); /* far behind the end */
}

/* A buffer whose end cannot be touched gives what fitted, or an error: it is noted as it comes. */
static void transfer_half(struct worker *w, struct file file)
{
	struct transfer t = { .buffer = w->buffer + WORK_BUFFER_BYTES - 503, .bytes = 1013 };

	t.call = CALL_PREAD;
	counted_transfer(w->ledger, file, &t);
	t.call = CALL_PWRITE;
	counted_transfer(w->ledger, file, &t);
}

/* A descriptor that does not allow a call gives EBADF too, but a file is behind it. */
static void transfer_against_mode(struct worker *w, int place, const char *path)
{
	struct file in = counted_open_existing(w->ledger, place, path, O_RDONLY | O_CLOEXEC);
	struct file out = counted_open_existing(w->ledger, place, path, O_WRONLY | O_CLOEXEC);
	struct file name = counted_open_existing(w->ledger, place, path, O_PATH | O_CLOEXEC);
	struct file direct = counted_open_existing(w->ledger, place, path, O_RDWR | O_DIRECT);

	transfer_all_ways(w, out, in, 31);
	transfer_all_ways(w, name, name, 37);
	counted_sync(w->ledger, name, OP_FSYNC);
	transfer(w, direct, CALL_PREAD, 4096, 0); /* the buffer is aligned to pages */
	transfer(w, direct, CALL_PREAD, 41, 7);

	counted_close(w->ledger, in);
	counted_close(w->ledger, out);
	counted_close(w->ledger, name);
	counted_close(w->ledger, direct);
}

/* dup2 over an open descriptor, close_range and the end of the process close without a close(). */
static void duplicate(struct worker *w, struct file file)
{
	struct file copy = { .fd = dup((int)file.fd), .place = file.place };
	struct file wide = { .fd = file.fd | INT64_C(0x5eed) << 32, .place = file.place };

	if (copy.fd < 0 || file.fd < 0)
		return;
	transfer(w, copy, CALL_PREAD, 211, 0);
	dup2((int)file.fd, (int)copy.fd);
	transfer(w, copy, CALL_PREAD, 223, 0);
	transfer(w, wide, CALL_PREAD, 227, 0); /* rubbish above the 32 bits of a descriptor */
	close_range((unsigned int)copy.fd, (unsigned int)copy.fd, 0);

	copy.fd = dup((int)file.fd);
	counted_close(w->ledger, copy);
}

static void use_folder_as_file(struct worker *w, struct file dir)
{
	transfer_all_ways(w, dir, dir, 43);
	counted_sync(w->ledger, dir, OP_FSYNC);
}

void work_in_folder(struct worker *w, int place, const char *folder)
{
	struct file dir = counted_open_existing(w->ledger, place, folder, O_DIRECTORY | O_CLOEXEC);
	struct path path;
	struct file file;

	path_make(&path, folder, w->name, "data");
	file = counted_open(w->ledger, place,
			    &(struct opening){ .call = CALL_OPENAT,
					       .dir_fd = (int)dir.fd,
					       .path = path.name,
					       .flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC,
					       .creates = true });
	fill_file(w, file);
	drain_file(w, file);
	transfer_half(w, file);
	transfer_wrongly(w, file);
	duplicate(w, file);
	transfer_against_mode(w, place, path.text);
	counted_close(w->ledger, file);

	open_all_ways(w, dir, folder);
	open_wrongly(w, dir, folder);
	use_folder_as_file(w, dir);
	counted_close(w->ledger, dir);

	/* This one stays open to the process' end, which is no close(). */
	counted_open_existing(w->ledger, place, path.text, O_RDONLY | O_CLOEXEC);
	counted_unlink(w->ledger, place, path.text);
}

/* ---- other files ---- */

void work_on_device(struct worker *w, int place, const char *path)
{
	struct file device = counted_open_existing(w->ledger, place, path, O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 3; i++)
		transfer_all_ways(w, device, device, 1021);
	counted_close(w->ledger, device);
}

void work_on_pipes(struct worker *w)
{
	struct file ends[2];

	if (!pipe_make(ends, O_NONBLOCK | O_CLOEXEC))
		return;
	for (int i = 0; i < 5; i++)
		transfer_all_ways(w, ends[0], ends[1], 1009);
	transfer(w, ends[1], CALL_PWRITEV2, 53, -1); /* -1 is what a file without positions takes */
	transfer(w, ends[0], CALL_PREADV2, 59, -1);
	transfer(w, ends[0], CALL_READ, 61, 0); /* EAGAIN */
	transfer(w, ends[0], CALL_WRITE, 67, 0); /* the wrong end */
	transfer_wrongly(w, ends[1]);
	sync_both_ways(w, ends[0]);
	transfer(w, ends[1], CALL_WRITE, 71, 0);
	counted_close(w->ledger, ends[1]);
	transfer(w, ends[0], CALL_READ, 73, 0);
	transfer(w, ends[0], CALL_READ, 79, 0); /* no writer: the end */
	counted_close(w->ledger, ends[0]);

	if (!pipe_make(ends, O_CLOEXEC))
		return;
	counted_close(w->ledger, ends[0]);
	transfer(w, ends[1], CALL_WRITE, 83, 0); /* EPIPE; the signal is ignored */
	counted_close(w->ledger, ends[1]);
}

void work_on_sockets(struct worker *w)
{
	struct file ends[2];
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0)
		return;
	for (int i = 0; i < 2; i++)
		ends[i] = (struct file){ .fd = fds[i], .place = PLACE_SOCKET };

	for (int i = 0; i < 3; i++)
		transfer_all_ways(w, ends[0], ends[1], 2011);
	transfer(w, ends[0], CALL_READ, 89, 0); /* EAGAIN */

	/* send and recv are neither in these counts nor in the kernel's rchar and wchar. */
	if (send(fds[0], w->buffer, 97, 0) == 97)
		recv(fds[1], w->buffer, 97, 0);

	sync_both_ways(w, ends[0]);
	counted_close(w->ledger, ends[0]);
	transfer(w, ends[1], CALL_WRITE, 101, 0); /* EPIPE */
	transfer(w, ends[1], CALL_READ, 103, 0); /* the end */
	counted_close(w->ledger, ends[1]);
}

static void read_proc(struct worker *w, const char *path)
{
	struct file file = counted_open_existing(w->ledger, PLACE_PSEUDO, path, O_RDONLY);

	while (counted_read(w->ledger, file, w->buffer, 107) > 0)
		;
	transfer(w, file, CALL_PREAD, 109, 5);
	transfer(w, file, CALL_PREADV, 113, 0);
	transfer(w, file, CALL_READ, 0, 0);
	sync_both_ways(w, file);
	counted_close(w->ledger, file);
}

static void write_proc(struct worker *w)
{
	struct file file = counted_open_existing(w->ledger, PLACE_PSEUDO, "/proc/self/comm",
						 O_RDWR);

	for (int i = 0; i < 3; i++)
		counted_write(w->ledger, file, "truth", 5);
	counted_close(w->ledger, file);
}

void work_on_pseudo_files(struct worker *w)
{
	struct file event = { .fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .place = PLACE_PSEUDO };
	struct file memory = { .fd = memfd_create("truth", MFD_CLOEXEC), .place = PLACE_PSEUDO };

	transfer_all_ways(w, event, event, 8);
	sync_both_ways(w, event);
	counted_close(w->ledger, event);

	for (int i = 0; i < 7; i++)
		transfer_all_ways(w, memory, memory, 1013);
	sync_both_ways(w, memory);
	counted_close(w->ledger, memory);

	read_proc(w, "/proc/self/status");
	read_proc(w, "/proc/version");
	read_proc(w, "/sys/kernel/uevent_seqnum");
	write_proc(w);
}

void work_on_bad_descriptors(struct worker *w)
{
	const struct file bad[] = {
		{ .fd = -1, .place = PLACE_UNRESOLVED },
		{ .fd = 1000003, .place = PLACE_UNRESOLVED },
		w->hole,
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		transfer_all_ways(w, bad[i], bad[i], 127);
		transfer_wrongly(w, bad[i]);
		sync_both_ways(w, bad[i]);
		counted_close(w->ledger, bad[i]);
	}
}
