/* SPDX-License-Identifier: MIT */
#include "load/calls.h"

#include <assert.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "basic/macro.h"
#include "model/file_op.h"
#include "model/reading.h"
#include "model/cause.h"

static_assert(FILES_BUCKETS == HISTOGRAM_BUCKETS, "the kernel side fills the model's histograms");
static_assert(OP_COUNT <= FILES_OPS, "the kernel side has room for each operation");
static_assert(INTERFACE_COUNT <= FILES_INTERFACES, "and for each way");
static_assert((int)FILES_READ == OP_READ && (int)FILES_WRITE == OP_WRITE &&
		      (int)FILES_BY_URING == INTERFACE_IO_URING &&
		      (int)FILES_BY_LIBAIO == INTERFACE_LIBAIO &&
		      (int)FILES_BY_SPLICE == INTERFACE_SPLICE &&
		      (int)FILES_BY_MAPPING == INTERFACE_MAPPING,
	      "both number alike");
static_assert((int)FILES_OPEN == OP_OPEN && (int)FILES_CREATE == OP_CREATE &&
		      (int)FILES_CLOSE == OP_CLOSE,
	      "both number alike");

/* Newer than the headers that we build with; one number on all machines. */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#define SYS_getxattrat 464
#define SYS_listxattrat 465
#define SYS_removexattrat 466
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_futex_wait
#define SYS_futex_wait 455
#endif

/* clang-format off */
#define NO ARGUMENT_NONE

#define DATA(op) { CALL_BY_DESCRIPTOR, op, op, INTERFACE_CALL, { 0 }, { NO }, NO, CALL_MOVES_DATA }
#define COPIES(interface, from, to) \
	{ CALL_COPY, OP_READ, OP_WRITE, interface, { from }, { .to_file = (to) }, NO, CALL_MOVES_DATA }
#define BY_FILE(op) { CALL_BY_DESCRIPTOR, op, op, INTERFACE_CALL, { 0 }, { NO }, NO, 0 }
#define BY_PATH(op) { CALL_BY_PATH, op, op, INTERFACE_CALL, { NO }, { 0 }, NO, 0 }
/* Or by the descriptor before the path, if the path is empty and the flags say so. */
#define BY_PATH_OR_FILE(op, path, flags) \
	{ CALL_BY_PATH, op, op, INTERFACE_CALL, { (path) - 1 }, { path }, flags, 0 }
#define BY_PATH_OR_NULL(op, path, flags) \
	{ CALL_BY_PATH, op, op, INTERFACE_CALL, { (path) - 1 }, { path }, flags, CALL_NULL_IS_FILE }
#define UNLINKS(flags) { CALL_BY_PATH, OP_UNLINK, OP_RMDIR, INTERFACE_CALL, { NO }, { 1 }, flags, 0 }
#define OPENS { CALL_BY_RESULT, OP_OPEN, OP_CREATE, INTERFACE_CALL, { NO }, { NO }, NO, 0 }
#define EXECS { CALL_EXEC, OP_READ, OP_READ, INTERFACE_CALL, { NO }, { NO }, NO, CALL_MOVES_DATA }
#define POLLS(limit_, traits) { CALL_POLL, 0, 0, INTERFACE_CALL, { .limit = (limit_) }, { NO }, NO, traits }
#define ON_SOCKET(op, messages_, flags, traits) \
	{ CALL_SOCKET, op, op, INTERFACE_CALL, { 0 }, { .messages = (messages_) }, flags, CALL_MOVES_DATA | (traits) }
#define ACCEPTS { CALL_ACCEPT, OP_READ, OP_READ, INTERFACE_CALL, { NO }, { NO }, NO, 0 }
#define SUBMITS { CALL_SUBMIT, OP_READ, OP_READ, INTERFACE_LIBAIO, { NO }, { NO }, NO, CALL_MOVES_DATA }

static const struct {
	long nr;
	struct call_kind kind;
} calls[] = {
	{ SYS_read,      DATA(OP_READ) },
	{ SYS_pread64,   DATA(OP_READ) },
	{ SYS_readv,     DATA(OP_READ) },
	{ SYS_preadv,    DATA(OP_READ) },
	{ SYS_preadv2,   DATA(OP_READ) },
	{ SYS_write,     DATA(OP_WRITE) },
	{ SYS_pwrite64,  DATA(OP_WRITE) },
	{ SYS_writev,    DATA(OP_WRITE) },
	{ SYS_pwritev,   DATA(OP_WRITE) },
	{ SYS_pwritev2,  DATA(OP_WRITE) },
	{ SYS_sendfile,  COPIES(INTERFACE_SENDFILE, 1, 0) },
	{ SYS_splice,    COPIES(INTERFACE_SPLICE, 0, 2) },
	{ SYS_copy_file_range, COPIES(INTERFACE_COPY_FILE_RANGE, 0, 2) },
	{ SYS_io_submit, SUBMITS },

	{ SYS_sendto,    ON_SOCKET(OP_WRITE, NO, NO, 0) },
	{ SYS_sendmsg,   ON_SOCKET(OP_WRITE, NO, NO, 0) },
	{ SYS_sendmmsg,  ON_SOCKET(OP_WRITE, 1, NO, CALL_HAS_MESSAGES) },
	{ SYS_recvfrom,  ON_SOCKET(OP_READ, NO, 3, 0) },
	{ SYS_recvmsg,   ON_SOCKET(OP_READ, NO, 2, 0) },
	{ SYS_recvmmsg,  ON_SOCKET(OP_READ, 1, 3, CALL_HAS_MESSAGES) },
	{ SYS_accept,    ACCEPTS },
	{ SYS_accept4,   ACCEPTS },

	{ SYS_openat,    OPENS },
	{ SYS_openat2,   OPENS },
	{ SYS_close,     BY_FILE(OP_CLOSE) },
	{ SYS_fsync,     BY_FILE(OP_FSYNC) },
	{ SYS_fdatasync, BY_FILE(OP_FDATASYNC) },
	{ SYS_syncfs,    BY_FILE(OP_SYNC) },
	{ SYS_sync_file_range, BY_FILE(OP_SYNC) },
	{ SYS_sync,      BY_PATH(OP_SYNC) }, /* of every file system: unresolved */
	{ SYS_msync,     BY_PATH(OP_SYNC) }, /* by address: unresolved */

	{ SYS_fstat,      BY_FILE(OP_STAT) },
	{ SYS_newfstatat, BY_PATH_OR_FILE(OP_STAT, 1, 3) },
	{ SYS_statx,      BY_PATH_OR_FILE(OP_STAT, 1, 2) },
	{ SYS_faccessat,  BY_PATH(OP_ACCESS) },
	{ SYS_faccessat2, BY_PATH_OR_FILE(OP_ACCESS, 1, 3) },
	{ SYS_getdents64, BY_FILE(OP_READDIR) },
	{ SYS_readlinkat, BY_PATH(OP_READLINK) },
	{ SYS_statfs,     BY_PATH(OP_STATFS) },
	{ SYS_fstatfs,    BY_FILE(OP_STATFS) },
	{ SYS_renameat2,  BY_PATH(OP_RENAME) },
	{ SYS_linkat,     BY_PATH(OP_LINK) },
	{ SYS_symlinkat,  BY_PATH(OP_SYMLINK) },
	{ SYS_unlinkat,   UNLINKS(2) },
	{ SYS_mkdirat,    BY_PATH(OP_MKDIR) },
	{ SYS_mknodat,    BY_PATH(OP_MKNOD) },
	{ SYS_truncate,   BY_PATH(OP_TRUNCATE) },
	{ SYS_ftruncate,  BY_FILE(OP_TRUNCATE) },
	{ SYS_fallocate,  BY_FILE(OP_FALLOCATE) },
	{ SYS_fchmod,     BY_FILE(OP_CHMOD) },
	{ SYS_fchmodat,   BY_PATH(OP_CHMOD) },
	{ SYS_fchmodat2,  BY_PATH_OR_FILE(OP_CHMOD, 1, 3) },
	{ SYS_fchown,     BY_FILE(OP_CHOWN) },
	{ SYS_fchownat,   BY_PATH_OR_FILE(OP_CHOWN, 1, 4) },
	{ SYS_utimensat,  BY_PATH_OR_NULL(OP_UTIME, 1, 3) },
	{ SYS_setxattr,     BY_PATH(OP_XATTR) },
	{ SYS_lsetxattr,    BY_PATH(OP_XATTR) },
	{ SYS_fsetxattr,    BY_FILE(OP_XATTR) },
	{ SYS_getxattr,     BY_PATH(OP_XATTR) },
	{ SYS_lgetxattr,    BY_PATH(OP_XATTR) },
	{ SYS_fgetxattr,    BY_FILE(OP_XATTR) },
	{ SYS_listxattr,    BY_PATH(OP_XATTR) },
	{ SYS_llistxattr,   BY_PATH(OP_XATTR) },
	{ SYS_flistxattr,   BY_FILE(OP_XATTR) },
	{ SYS_removexattr,  BY_PATH(OP_XATTR) },
	{ SYS_lremovexattr, BY_PATH(OP_XATTR) },
	{ SYS_fremovexattr, BY_FILE(OP_XATTR) },
	{ SYS_setxattrat,    BY_PATH_OR_FILE(OP_XATTR, 1, 2) },
	{ SYS_getxattrat,    BY_PATH_OR_FILE(OP_XATTR, 1, 2) },
	{ SYS_listxattrat,   BY_PATH_OR_FILE(OP_XATTR, 1, 2) },
	{ SYS_removexattrat, BY_PATH_OR_FILE(OP_XATTR, 1, 2) },

#ifdef SYS_open /* newer machines have those with a directory alone */
	{ SYS_open,      OPENS },
	{ SYS_creat,     OPENS },
	{ SYS_stat,      BY_PATH(OP_STAT) },
	{ SYS_lstat,     BY_PATH(OP_STAT) },
	{ SYS_access,    BY_PATH(OP_ACCESS) },
	{ SYS_getdents,  BY_FILE(OP_READDIR) },
	{ SYS_readlink,  BY_PATH(OP_READLINK) },
	{ SYS_rename,    BY_PATH(OP_RENAME) },
	{ SYS_renameat,  BY_PATH(OP_RENAME) },
	{ SYS_link,      BY_PATH(OP_LINK) },
	{ SYS_symlink,   BY_PATH(OP_SYMLINK) },
	{ SYS_unlink,    BY_PATH(OP_UNLINK) },
	{ SYS_rmdir,     BY_PATH(OP_RMDIR) },
	{ SYS_mkdir,     BY_PATH(OP_MKDIR) },
	{ SYS_mknod,     BY_PATH(OP_MKNOD) },
	{ SYS_chmod,     BY_PATH(OP_CHMOD) },
	{ SYS_chown,     BY_PATH(OP_CHOWN) },
	{ SYS_lchown,    BY_PATH(OP_CHOWN) },
	{ SYS_utime,     BY_PATH(OP_UTIME) },
	{ SYS_utimes,    BY_PATH(OP_UTIME) },
	{ SYS_futimesat, BY_PATH_OR_NULL(OP_UTIME, 1, NO) },
#endif
	{ SYS_execve,    EXECS },
	{ SYS_execveat,  EXECS },

	{ SYS_sched_yield, POLLS(NO, 0) },
	{ SYS_ppoll,       POLLS(2, CALL_TIME_IS_POINTED) },
	{ SYS_pselect6,    POLLS(4, CALL_TIME_IS_POINTED) },
	{ SYS_epoll_pwait, POLLS(3, 0) },
	{ SYS_epoll_pwait2, POLLS(3, CALL_TIME_IS_POINTED) },
#ifdef SYS_poll
	{ SYS_poll,        POLLS(2, 0) },
	{ SYS_select,      POLLS(4, CALL_TIME_IS_POINTED) },
	{ SYS_epoll_wait,  POLLS(3, 0) },
#endif
};

#define OWN POSITION_OWN, 0
#define GIVEN(argument) POSITION_GIVEN, argument
#define POINTED(argument) POSITION_POINTED, argument

static const struct {
	long nr;
	struct call_position position;
} positions[] = {
	{ SYS_close,    { POSITION_END } },
	{ SYS_read,     { OWN } },
	{ SYS_readv,    { OWN } },
	{ SYS_write,    { OWN } },
	{ SYS_writev,   { OWN } },
	{ SYS_pread64,  { GIVEN(3) } },
	{ SYS_preadv,   { GIVEN(3) } },
	{ SYS_preadv2,  { GIVEN(3) } },
	{ SYS_pwrite64, { GIVEN(3) } },
	{ SYS_pwritev,  { GIVEN(3) } },
	{ SYS_pwritev2, { GIVEN(3) } },
	{ SYS_sendfile, { POINTED(2), OWN } },
	{ SYS_splice,   { POINTED(1), POINTED(3) } },
	{ SYS_copy_file_range, { POINTED(1), POINTED(3) } },
};

/* Opcodes newer than the headers that we build with are numbers of the kernel's interface. */
#define OP_SEND_ZC_REQUEST 47 /* IORING_OP_SEND_ZC, Linux 6.0 */
#define OP_SENDMSG_ZC_REQUEST 48 /* Linux 6.1 */
#define OP_READ_MULTISHOT_REQUEST 49 /* IORING_OP_READ_MULTISHOT, Linux 6.7 */
#define OP_FTRUNCATE_REQUEST 55 /* IORING_OP_FTRUNCATE, Linux 6.9 */
#define OP_RECV_ZC_REQUEST 58 /* IORING_OP_RECV_ZC, Linux 6.15 */
#define OP_READV_FIXED_REQUEST 60 /* IORING_OP_READV_FIXED, Linux 6.15 */
#define OP_WRITEV_FIXED_REQUEST 61

static const struct {
	unsigned int opcode;
	struct request_kind kind;
} requests[] = {
	{ IORING_OP_READV,       { REQUEST_BY_FILE, OP_READ, OP_READ, 1 } },
	{ IORING_OP_READ,        { REQUEST_BY_FILE, OP_READ, OP_READ, 1 } },
	{ IORING_OP_READ_FIXED,  { REQUEST_BY_FILE, OP_READ, OP_READ, 1 } },
	{ OP_READV_FIXED_REQUEST,  { REQUEST_BY_FILE, OP_READ, OP_READ, 1 } },
	{ IORING_OP_WRITEV,      { REQUEST_BY_FILE, OP_WRITE, OP_WRITE, 1 } },
	{ IORING_OP_WRITE,       { REQUEST_BY_FILE, OP_WRITE, OP_WRITE, 1 } },
	{ IORING_OP_WRITE_FIXED, { REQUEST_BY_FILE, OP_WRITE, OP_WRITE, 1 } },
	{ OP_WRITEV_FIXED_REQUEST, { REQUEST_BY_FILE, OP_WRITE, OP_WRITE, 1 } },
	{ IORING_OP_SPLICE,      { REQUEST_SPLICE, OP_READ, OP_WRITE, 1 } },
	{ IORING_OP_SEND,        { REQUEST_SOCKET, OP_WRITE, OP_WRITE, 0 } },
	{ IORING_OP_SENDMSG,     { REQUEST_SOCKET, OP_WRITE, OP_WRITE, 0 } },
	{ OP_SEND_ZC_REQUEST,    { REQUEST_SOCKET, OP_WRITE, OP_WRITE, 0 } },
	{ OP_SENDMSG_ZC_REQUEST, { REQUEST_SOCKET, OP_WRITE, OP_WRITE, 0 } },
	{ IORING_OP_RECV,        { REQUEST_SOCKET, OP_READ, OP_READ, 0 } },
	{ IORING_OP_RECVMSG,     { REQUEST_SOCKET, OP_READ, OP_READ, 0 } },
	{ OP_READ_MULTISHOT_REQUEST, { REQUEST_MANY, OP_READ, OP_READ, 0 } },
	{ OP_RECV_ZC_REQUEST,    { REQUEST_MANY, OP_READ, OP_READ, 0 } },
	{ IORING_OP_ACCEPT,      { REQUEST_ACCEPT, OP_READ, OP_READ, 0 } },
	{ IORING_OP_FSYNC,       { REQUEST_SYNC, OP_FSYNC, OP_FDATASYNC, 0 } },
	{ IORING_OP_SYNC_FILE_RANGE, { REQUEST_BY_FILE, OP_SYNC, OP_SYNC, 0 } },
	{ IORING_OP_FALLOCATE,   { REQUEST_BY_FILE, OP_FALLOCATE, OP_FALLOCATE, 0 } },
	{ OP_FTRUNCATE_REQUEST,  { REQUEST_BY_FILE, OP_TRUNCATE, OP_TRUNCATE, 0 } },
	{ IORING_OP_FSETXATTR,   { REQUEST_BY_FILE, OP_XATTR, OP_XATTR, 0 } },
	{ IORING_OP_FGETXATTR,   { REQUEST_BY_FILE, OP_XATTR, OP_XATTR, 0 } },
	{ IORING_OP_SETXATTR,    { REQUEST_UNPLACED, OP_XATTR, OP_XATTR, 0 } },
	{ IORING_OP_GETXATTR,    { REQUEST_UNPLACED, OP_XATTR, OP_XATTR, 0 } },
	{ IORING_OP_OPENAT,      { REQUEST_BY_RESULT, OP_OPEN, OP_CREATE, 0 } },
	{ IORING_OP_OPENAT2,     { REQUEST_BY_RESULT, OP_OPEN, OP_CREATE, 0 } },
	{ IORING_OP_CLOSE,       { REQUEST_CLOSE, OP_CLOSE, OP_CLOSE, 0 } },
	{ IORING_OP_STATX,       { REQUEST_UNPLACED, OP_STAT, OP_STAT, 0 } },
	{ IORING_OP_RENAMEAT,    { REQUEST_UNPLACED, OP_RENAME, OP_RENAME, 0 } },
	{ IORING_OP_UNLINKAT,    { REQUEST_UNLINK, OP_UNLINK, OP_RMDIR, 0 } },
	{ IORING_OP_MKDIRAT,     { REQUEST_UNPLACED, OP_MKDIR, OP_MKDIR, 0 } },
	{ IORING_OP_SYMLINKAT,   { REQUEST_UNPLACED, OP_SYMLINK, OP_SYMLINK, 0 } },
	{ IORING_OP_LINKAT,      { REQUEST_UNPLACED, OP_LINK, OP_LINK, 0 } },
};

static const int32_t mapping_calls[] = { SYS_mmap, SYS_madvise, SYS_mlock, SYS_mlock2, SYS_mlockall,
					 SYS_remap_file_pages, SYS_process_madvise };
/* clang-format on */

void calls_fill(struct call_kind *kinds)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		assert(calls[i].nr >= 0 && calls[i].nr < FILES_CALLS);
		kinds[calls[i].nr] = calls[i].kind;
	}
}

void call_positions_fill(struct call_position *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(positions); i++)
		ret[positions[i].nr] = positions[i].position;
}

void requests_fill(struct request_kind *kinds)
{
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		assert(requests[i].opcode < FILES_OPCODES);
		kinds[requests[i].opcode] = requests[i].kind;
	}
}

void mapping_calls_fill(int32_t *numbers, size_t count)
{
	for (size_t i = 0; i < MIN(ARRAY_SIZE(mapping_calls), count); i++)
		numbers[i] = mapping_calls[i];
}

/* ---- what a thread that is blocked in a call waits for ---- */

static_assert(TIME_CALLS == FILES_CALLS, "both tables are by the same numbers");
static_assert((int)CAUSE_COUNT == TIME_CAUSES, "the kernel side has room for each cause");
static_assert((int)CAUSE_PAGE_FAULT == TIME_PAGE_FAULT && (int)CAUSE_NETWORK == TIME_NETWORK &&
		      (int)CAUSE_LOCK == TIME_LOCK && (int)CAUSE_CHILDREN == TIME_CHILDREN &&
		      (int)CAUSE_PIPE == TIME_PIPE && (int)CAUSE_THREADS == TIME_THREADS &&
		      (int)CAUSE_STOPPED == TIME_STOPPED && (int)CAUSE_OTHER == TIME_OTHER,
	      "both number alike");

#define STANDS_FOR(member, cause) \
	(offsetof(struct blocked_times, member) == (cause) * sizeof(uint64_t))
static_assert(STANDS_FOR(file_read, CAUSE_FILE_READ) && STANDS_FOR(file_write, CAUSE_FILE_WRITE) &&
		      STANDS_FOR(file_meta, CAUSE_FILE_META) &&
		      STANDS_FOR(file_async, CAUSE_FILE_ASYNC) && STANDS_FOR(sync, CAUSE_SYNC) &&
		      STANDS_FOR(page_fault, CAUSE_PAGE_FAULT) &&
		      STANDS_FOR(network, CAUSE_NETWORK) && STANDS_FOR(lock, CAUSE_LOCK) &&
		      STANDS_FOR(pipe, CAUSE_PIPE) && STANDS_FOR(poll, CAUSE_POLL) &&
		      STANDS_FOR(sleep, CAUSE_SLEEP) && STANDS_FOR(children, CAUSE_CHILDREN) &&
		      STANDS_FOR(threads, CAUSE_THREADS) && STANDS_FOR(stopped, CAUSE_STOPPED) &&
		      STANDS_FOR(other, CAUSE_OTHER),
	      "each time has its place");

/* clang-format off */
#define IN_CALL(cause) { cause, TIME_NO_FILE }
#define ON_FILE(cause, argument) { cause, argument } /* or by its kind, if the file is on no file system */
#define AS_BEFORE { TIME_AS_BEFORE, TIME_NO_FILE }

static const struct {
	long nr;
	struct call_cause cause;
} causes[] = {
	/* What goes on with a call that a signal interrupted. */
	{ SYS_restart_syscall, AS_BEFORE },

	{ SYS_sendfile,      ON_FILE(CAUSE_FILE_READ, 0) }, /* to a socket it waits for that */
	{ SYS_vmsplice,      IN_CALL(CAUSE_PIPE) },
	{ SYS_tee,           IN_CALL(CAUSE_PIPE) },
	{ SYS_readahead,     IN_CALL(CAUSE_FILE_READ) },
	{ SYS_fadvise64,     IN_CALL(CAUSE_FILE_READ) },
	{ SYS_io_getevents,  IN_CALL(CAUSE_FILE_ASYNC) },
	{ SYS_io_pgetevents, IN_CALL(CAUSE_FILE_ASYNC) },
	{ SYS_io_destroy,    IN_CALL(CAUSE_FILE_ASYNC) },
	{ SYS_io_uring_enter, IN_CALL(CAUSE_FILE_ASYNC) },

	/* They bring pages in, as faults do. */
	{ SYS_mmap,     IN_CALL(CAUSE_PAGE_FAULT) },
	{ SYS_madvise,  IN_CALL(CAUSE_PAGE_FAULT) },
	{ SYS_process_madvise, IN_CALL(CAUSE_PAGE_FAULT) },
	{ SYS_mlock,    IN_CALL(CAUSE_PAGE_FAULT) },
	{ SYS_mlock2,   IN_CALL(CAUSE_PAGE_FAULT) },
	{ SYS_mlockall, IN_CALL(CAUSE_PAGE_FAULT) },

	{ SYS_recvfrom, ON_FILE(CAUSE_NETWORK, 0) },
	{ SYS_recvmsg,  ON_FILE(CAUSE_NETWORK, 0) },
	{ SYS_recvmmsg, ON_FILE(CAUSE_NETWORK, 0) },
	{ SYS_sendto,   ON_FILE(CAUSE_NETWORK, 0) },
	{ SYS_sendmsg,  ON_FILE(CAUSE_NETWORK, 0) },
	{ SYS_sendmmsg, ON_FILE(CAUSE_NETWORK, 0) },
	{ SYS_connect,  ON_FILE(CAUSE_NETWORK, 0) },
	{ SYS_accept,   ON_FILE(CAUSE_NETWORK, 0) },
	{ SYS_accept4,  ON_FILE(CAUSE_NETWORK, 0) },
	{ SYS_shutdown, ON_FILE(CAUSE_NETWORK, 0) },

	{ SYS_futex,       IN_CALL(TIME_FUTEX) },
	{ SYS_futex_waitv, IN_CALL(CAUSE_LOCK) },
	{ SYS_futex_wait,  IN_CALL(CAUSE_LOCK) },
	{ SYS_flock,       IN_CALL(CAUSE_LOCK) },
	{ SYS_fcntl,       IN_CALL(CAUSE_LOCK) },
	{ SYS_semop,       IN_CALL(CAUSE_LOCK) },
	{ SYS_semtimedop,  IN_CALL(CAUSE_LOCK) },

	{ SYS_mq_timedsend,    IN_CALL(CAUSE_PIPE) },
	{ SYS_mq_timedreceive, IN_CALL(CAUSE_PIPE) },
	{ SYS_msgsnd,          IN_CALL(CAUSE_PIPE) },
	{ SYS_msgrcv,          IN_CALL(CAUSE_PIPE) },

	{ SYS_ppoll,           IN_CALL(CAUSE_POLL) },
	{ SYS_pselect6,        IN_CALL(CAUSE_POLL) },
	{ SYS_epoll_pwait,     IN_CALL(CAUSE_POLL) },
	{ SYS_epoll_pwait2,    IN_CALL(CAUSE_POLL) },
	{ SYS_rt_sigtimedwait, IN_CALL(CAUSE_POLL) },
	{ SYS_rt_sigsuspend,   IN_CALL(CAUSE_POLL) },

	{ SYS_nanosleep,       IN_CALL(CAUSE_SLEEP) },
	{ SYS_clock_nanosleep, IN_CALL(CAUSE_SLEEP) },

	{ SYS_wait4,  IN_CALL(CAUSE_CHILDREN) },
	{ SYS_waitid, IN_CALL(CAUSE_CHILDREN) },
	{ SYS_clone,  IN_CALL(CAUSE_CHILDREN) }, /* CLONE_VFORK: until the child starts a program */
	{ SYS_clone3, IN_CALL(CAUSE_CHILDREN) },

#ifdef SYS_open /* newer machines have the others alone */
	{ SYS_poll,       IN_CALL(CAUSE_POLL) },
	{ SYS_select,     IN_CALL(CAUSE_POLL) },
	{ SYS_epoll_wait, IN_CALL(CAUSE_POLL) },
	{ SYS_pause,      IN_CALL(CAUSE_POLL) },
	{ SYS_vfork,      IN_CALL(CAUSE_CHILDREN) },
#endif
};
/* clang-format on */

static enum cause cause_of_op(enum file_op op)
{
	switch (op) {
	case OP_READ:
		return CAUSE_FILE_READ;
	case OP_WRITE:
		return CAUSE_FILE_WRITE;
	case OP_FSYNC:
	case OP_FDATASYNC:
	case OP_SYNC:
		return CAUSE_SYNC;
	default:
		return CAUSE_FILE_META;
	}
}

/* Of an operation on files. */
static struct call_cause cause_of_call(const struct call_kind *kind)
{
	struct call_cause cause = { (uint8_t)cause_of_op((enum file_op)kind->op), TIME_NO_FILE };

	if (kind->how == CALL_SUBMIT)
		cause.cause = CAUSE_FILE_ASYNC;
	else if (kind->how != CALL_EXEC && kind->traits & CALL_MOVES_DATA)
		cause.file = kind->file;
	return cause;
}

void causes_fill(struct call_cause *ret)
{
	struct call_kind kinds[FILES_CALLS] = {};

	calls_fill(kinds);
	for (size_t nr = 0; nr < TIME_CALLS; nr++) {
		ret[nr] = (struct call_cause)IN_CALL(CAUSE_OTHER);
		if (kinds[nr].how != CALL_IGNORED)
			ret[nr] = cause_of_call(&kinds[nr]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
		assert(causes[i].nr >= 0 && causes[i].nr < TIME_CALLS);
		ret[causes[i].nr] = causes[i].cause;
	}
}
