/* SPDX-License-Identifier: MIT */
#include "load/causes.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "load/calls.h"
#include "model/file_op.h"
#include "basic/macro.h"

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

/* Newer than the headers that we build with; one number on all machines. */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_futex_wait
#define SYS_futex_wait 455
#endif

#define BY_CALL(cause)              \
	{                           \
		cause, TIME_NO_FILE \
	}
#define BY_FILE(cause, argument) \
	{                        \
		cause, argument  \
	} /* or what kind of file it is, if it is none on a file system */
#define AS_BEFORE                            \
	{                                    \
		TIME_AS_BEFORE, TIME_NO_FILE \
	}

/* clang-format off */
static const struct {
	long nr;
	struct call_cause cause;
} table[] = {
	/* What goes on with a call that a signal interrupted. */
	{ SYS_restart_syscall, AS_BEFORE },

	{ SYS_sendfile,      BY_FILE(CAUSE_FILE_READ, 0) }, /* to a socket it waits for that */
	{ SYS_vmsplice,      BY_CALL(CAUSE_PIPE) },
	{ SYS_tee,           BY_CALL(CAUSE_PIPE) },
	{ SYS_readahead,     BY_CALL(CAUSE_FILE_READ) },
	{ SYS_fadvise64,     BY_CALL(CAUSE_FILE_READ) },
	{ SYS_io_getevents,  BY_CALL(CAUSE_FILE_ASYNC) },
	{ SYS_io_pgetevents, BY_CALL(CAUSE_FILE_ASYNC) },
	{ SYS_io_destroy,    BY_CALL(CAUSE_FILE_ASYNC) },
	{ SYS_io_uring_enter, BY_CALL(CAUSE_FILE_ASYNC) },

	/* They bring pages in, as faults do. */
	{ SYS_mmap,     BY_CALL(CAUSE_PAGE_FAULT) },
	{ SYS_madvise,  BY_CALL(CAUSE_PAGE_FAULT) },
	{ SYS_process_madvise, BY_CALL(CAUSE_PAGE_FAULT) },
	{ SYS_mlock,    BY_CALL(CAUSE_PAGE_FAULT) },
	{ SYS_mlock2,   BY_CALL(CAUSE_PAGE_FAULT) },
	{ SYS_mlockall, BY_CALL(CAUSE_PAGE_FAULT) },

	{ SYS_recvfrom, BY_FILE(CAUSE_NETWORK, 0) },
	{ SYS_recvmsg,  BY_FILE(CAUSE_NETWORK, 0) },
	{ SYS_recvmmsg, BY_FILE(CAUSE_NETWORK, 0) },
	{ SYS_sendto,   BY_FILE(CAUSE_NETWORK, 0) },
	{ SYS_sendmsg,  BY_FILE(CAUSE_NETWORK, 0) },
	{ SYS_sendmmsg, BY_FILE(CAUSE_NETWORK, 0) },
	{ SYS_connect,  BY_FILE(CAUSE_NETWORK, 0) },
	{ SYS_accept,   BY_FILE(CAUSE_NETWORK, 0) },
	{ SYS_accept4,  BY_FILE(CAUSE_NETWORK, 0) },
	{ SYS_shutdown, BY_FILE(CAUSE_NETWORK, 0) },

	{ SYS_futex,       BY_CALL(TIME_FUTEX) },
	{ SYS_futex_waitv, BY_CALL(CAUSE_LOCK) },
	{ SYS_futex_wait,  BY_CALL(CAUSE_LOCK) },
	{ SYS_flock,       BY_CALL(CAUSE_LOCK) },
	{ SYS_fcntl,       BY_CALL(CAUSE_LOCK) },
	{ SYS_semop,       BY_CALL(CAUSE_LOCK) },
	{ SYS_semtimedop,  BY_CALL(CAUSE_LOCK) },

	{ SYS_mq_timedsend,    BY_CALL(CAUSE_PIPE) },
	{ SYS_mq_timedreceive, BY_CALL(CAUSE_PIPE) },
	{ SYS_msgsnd,          BY_CALL(CAUSE_PIPE) },
	{ SYS_msgrcv,          BY_CALL(CAUSE_PIPE) },

	{ SYS_ppoll,           BY_CALL(CAUSE_POLL) },
	{ SYS_pselect6,        BY_CALL(CAUSE_POLL) },
	{ SYS_epoll_pwait,     BY_CALL(CAUSE_POLL) },
	{ SYS_epoll_pwait2,    BY_CALL(CAUSE_POLL) },
	{ SYS_rt_sigtimedwait, BY_CALL(CAUSE_POLL) },
	{ SYS_rt_sigsuspend,   BY_CALL(CAUSE_POLL) },

	{ SYS_nanosleep,       BY_CALL(CAUSE_SLEEP) },
	{ SYS_clock_nanosleep, BY_CALL(CAUSE_SLEEP) },

	{ SYS_wait4,  BY_CALL(CAUSE_CHILDREN) },
	{ SYS_waitid, BY_CALL(CAUSE_CHILDREN) },
	{ SYS_clone,  BY_CALL(CAUSE_CHILDREN) }, /* CLONE_VFORK: until the child starts a program */
	{ SYS_clone3, BY_CALL(CAUSE_CHILDREN) },

#ifdef SYS_open /* newer machines have the others alone */
	{ SYS_poll,       BY_CALL(CAUSE_POLL) },
	{ SYS_select,     BY_CALL(CAUSE_POLL) },
	{ SYS_epoll_wait, BY_CALL(CAUSE_POLL) },
	{ SYS_pause,      BY_CALL(CAUSE_POLL) },
	{ SYS_vfork,      BY_CALL(CAUSE_CHILDREN) },
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
		ret[nr] = (struct call_cause)BY_CALL(CAUSE_OTHER);
		if (kinds[nr].how != CALL_IGNORED)
			ret[nr] = cause_of_call(&kinds[nr]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		assert(table[i].nr >= 0 && table[i].nr < TIME_CALLS);
		ret[table[i].nr] = table[i].cause;
	}
}
