/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/macro.h"
#include "meta.h"
#include "numbers.h"

#define XATTR "user.truth"

/* What can be asked of any descriptor, and done to it without harm. */
static void use_descriptor(struct worker *w, struct file file)
{
	const long fd = file.fd, to = ARG(w->buffer);
	const struct call calls[] = {
		/* clang-format off */
		{ OP_STAT,      BY_DESCRIPTOR, 3, SYS_fstat,           { fd, to } },
		{ OP_STAT,      BY_DESCRIPTOR, 2, SYS_newfstatat,      { fd, ARG(""), to, AT_EMPTY_PATH } },
		{ OP_STAT,      BY_DESCRIPTOR, 2, SYS_statx,           { fd, ARG(""), AT_EMPTY_PATH, STATX_ALL, to } },
		{ OP_STATFS,    BY_DESCRIPTOR, 3, SYS_fstatfs,         { fd, to } },
		{ OP_READDIR,   BY_DESCRIPTOR, 2, SYS_getdents64,      { fd, to, 257 } },
		{ OP_TRUNCATE,  BY_DESCRIPTOR, 3, SYS_ftruncate,       { fd, 1021 } },
		{ OP_FALLOCATE, BY_DESCRIPTOR, 2, SYS_fallocate,       { fd, 0, 0, 1031 } },
		{ OP_CHMOD,     BY_DESCRIPTOR, 2, SYS_fchmod,          { fd, 0600 } },
		{ OP_CHOWN,     BY_DESCRIPTOR, 3, SYS_fchown,          { fd, -1, -1 } },
		{ OP_UTIME,     BY_DESCRIPTOR, 2, SYS_utimensat,       { fd, 0, 0, 0 } },
		{ OP_XATTR,     BY_DESCRIPTOR, 3, SYS_fgetxattr,       { fd, ARG(XATTR), to, 257 } },
		{ OP_XATTR,     BY_DESCRIPTOR, 2, SYS_flistxattr,      { fd, to, 257 } },
		{ OP_XATTR,     BY_DESCRIPTOR, 2, SYS_fremovexattr,    { fd, ARG(XATTR) } },
		{ OP_SYNC,      BY_DESCRIPTOR, 3, SYS_syncfs,          { fd } },
		{ OP_SYNC,      BY_DESCRIPTOR, 2, SYS_sync_file_range, { fd, 0, 0, 2 } },
		/* clang-format on */
	};

	counted_calls(w->ledger, file.place, calls, ARRAY_SIZE(calls));
}

void meta_on_device(struct worker *w, int place, const char *path)
{
	struct file device = counted_open_existing(w->ledger, place, path, O_RDWR | O_CLOEXEC);
	const long to = ARG(w->buffer);
	const struct call calls[] = {
		/* clang-format off */
		{ OP_STAT,   BY_DESCRIPTOR, 5, SYS_fstat,      { device.fd, to } },
		{ OP_STATFS, BY_DESCRIPTOR, 2, SYS_fstatfs,    { device.fd, to } },
		{ OP_STAT,   BY_PATH,       3, SYS_newfstatat, { AT_FDCWD, ARG(path), to, 0 } },
		{ OP_ACCESS, BY_PATH,       2, SYS_faccessat,  { AT_FDCWD, ARG(path), R_OK } },
		{ OP_STATFS, BY_PATH,       2, SYS_statfs,     { ARG(path), to } },
		/* clang-format on */
	};

	counted_calls(w->ledger, place, calls, ARRAY_SIZE(calls));
	counted_close(w->ledger, device);
}

static void ask_proc(struct worker *w)
{
	const long to = ARG(w->buffer);
	const struct call calls[] = {
		/* clang-format off */
		{ OP_STAT,     BY_PATH, 3, SYS_newfstatat, { AT_FDCWD, ARG("/proc/self/status"), to, 0 } },
		{ OP_STAT,     BY_PATH, 2, SYS_newfstatat, { AT_FDCWD, ARG("/proc/self/absent"), to, 0 } },
		{ OP_STAT,     BY_PATH, 2, SYS_lstat,      { ARG("/proc/self/exe"), to } },
		{ OP_ACCESS,   BY_PATH, 3, SYS_faccessat,  { AT_FDCWD, ARG("/sys/kernel"), R_OK } },
		{ OP_READLINK, BY_PATH, 5, SYS_readlinkat, { AT_FDCWD, ARG("/proc/self/exe"), to, 257 } },
		{ OP_READLINK, BY_PATH, 2, SYS_readlinkat, { AT_FDCWD, ARG("/proc/self/fd/9973"), to, 257 } },
		{ OP_STATFS,   BY_PATH, 2, SYS_statfs,     { ARG("/proc/self/comm"), to } },
		{ OP_UNLINK,   BY_PATH, 2, SYS_unlinkat,   { AT_FDCWD, ARG("/proc/self/absent"), 0 } },
		/* clang-format on */
	};

	counted_calls(w->ledger, PLACE_PSEUDO, calls, ARRAY_SIZE(calls));
}

void meta_elsewhere(struct worker *w)
{
	struct file ends[2];
	int fds[2];
	struct file event = { .fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .place = PLACE_PSEUDO };
	struct file memory = { .fd = memfd_create("truth", MFD_CLOEXEC), .place = PLACE_PSEUDO };
	struct file folder = counted_open_existing(w->ledger, PLACE_PSEUDO, "/proc/self/task",
						   O_DIRECTORY | O_CLOEXEC);

	use_descriptor(w, event);
	counted_close(w->ledger, event);
	use_descriptor(w, memory);
	counted_close(w->ledger, memory);
	meta_list_folder(w, folder, SYS_getdents64);
	counted_close(w->ledger, folder);
	ask_proc(w);

	if (pipe_make(ends, O_CLOEXEC)) {
		use_descriptor(w, ends[0]);
		counted_close(w->ledger, ends[0]);
		counted_close(w->ledger, ends[1]);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0)
		for (int i = 0; i < 2; i++) {
			struct file end = { .fd = fds[i], .place = PLACE_SOCKET };

			use_descriptor(w, end);
			counted_close(w->ledger, end);
		}
	use_descriptor(w, (struct file){ .fd = -1, .place = PLACE_UNRESOLVED });
	use_descriptor(w, (struct file){ .fd = 1000003, .place = PLACE_UNRESOLVED });
	use_descriptor(w, w->hole);
}

void meta_of_machine(struct ledger *l)
{
	counted_call(
		l, PLACE_UNRESOLVED,
		&(struct call){ .op = OP_SYNC, .by = BY_PATH, .times = 2, .number = SYS_sync });
}
