/* SPDX-License-Identifier: MIT */
#include "selftest/selftest.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "basic/macro.h"
#include "selftest/fixture.h"
#include "model/sections/syscalls.h"
#include "selftest/verdict.h"

/* Arguments replaced by something of the fixture. */
#define FD(file) (-1000000L - FIXTURE_##file)
enum {
	BYTES = -2000000,
	PIECE,
	OWN,
	FROM,
	TO,
};

#define HERE AT_FDCWD
#define PATH(name) ((long)(name))
#define XATTR ((long)"security.jobmeter") /* an attribute for which no look-up hook is called */

/* An io_uring for one request at a time, by plain system calls. */
struct ring {
	int fd;
	uint32_t *sq_tail, *sq_array;
	uint32_t *cq_head;
	const struct io_uring_cqe *completions;
	struct io_uring_sqe *requests;
	uint32_t sq_mask, cq_mask;
};

static void *map(int fd, size_t size, long offset)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);

	return at == MAP_FAILED ? NULL : at;
}

/* All is given back by the process' end, and not before.  -EPERM, -ENOSYS: refused here. */
static int ring_open(struct ring *ret)
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

/* Read or write at the file's beginning, and wait for it: its result. */
static long ring_move(struct ring *r, bool is_write, int fd, void *bytes, size_t size)
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

static long nap(struct fixture *s, const struct case_ *v);
static long ask_ring(struct fixture *s, const struct case_ *v);
static long ask_libaio(struct fixture *s, const struct case_ *v);
static long touch_page(struct fixture *s, const struct case_ *v);

#define ON_FIXTURE .place = CASE_ON_FIXTURE
#define BY(hook) .place = CASE_ON_FIXTURE, .placed_by = hook
#define SEARCHED BY("note_permission") /* where its directory is */
#define MOVE(how, bytes) .run = (how), .arguments = { (bytes) }
#define DO(number, ...) .nr = SYS_##number, .arguments = { __VA_ARGS__ }
#define TO_PIPE .place = CASE_ON_FIXTURE, .is_copy = true, .to = CASE_ON_PIPE
#define TO_FIXTURE .place = CASE_ON_FIXTURE, .is_copy = true, .to = CASE_ON_FIXTURE

/* clang-format off */
static const struct case_ cases[] = {
	/* It alone reads from the pipe: by its time it is seen that calls that sleep are not forgotten. */
	{ OP_READ,  INTERFACE_CALL, .place = CASE_ON_PIPE, .run = nap, .is_ended_by_signal = true },

	{ OP_CREATE, 0, ON_FIXTURE, DO(openat, HERE, PATH("file"), O_RDWR | O_CREAT | O_EXCL, 0600), .keeps = FIXTURE_FILE },
	{ OP_OPEN,  0, ON_FIXTURE, DO(openat, HERE, PATH("."), O_RDONLY | O_DIRECTORY), .keeps = FIXTURE_DIR },
	{ OP_OPEN,  0, SEARCHED, DO(openat, HERE, PATH("none"), O_RDONLY) },

	{ OP_WRITE, INTERFACE_CALL, ON_FIXTURE, DO(write, FD(FILE), BYTES, 17) },
	{ OP_WRITE, INTERFACE_CALL, ON_FIXTURE, DO(pwrite64, FD(FILE), BYTES, 23, 17) },
	{ OP_WRITE, INTERFACE_CALL, ON_FIXTURE, DO(writev, FD(FILE), PIECE, 1) },
	{ OP_READ,  INTERFACE_CALL, ON_FIXTURE, DO(read, FD(FILE), BYTES, 7) },
	{ OP_READ,  INTERFACE_CALL, ON_FIXTURE, DO(pread64, FD(FILE), BYTES, 11, 0) },
	{ OP_READ,  INTERFACE_CALL, ON_FIXTURE, DO(preadv, FD(FILE), PIECE, 1, 0) },
	{ OP_READ,  INTERFACE_SENDFILE, TO_PIPE, DO(sendfile, FD(PIPE_IN), FD(FILE), FROM, 3) },
	{ OP_READ,  INTERFACE_SPLICE, TO_PIPE, DO(splice, FD(FILE), FROM, FD(PIPE_IN), 0, 2, 0) },
	{ OP_READ,  INTERFACE_COPY_FILE_RANGE, TO_FIXTURE, DO(copy_file_range, FD(FILE), FROM, FD(FILE), TO, 5, 0) },
	{ OP_WRITE, INTERFACE_IO_URING, ON_FIXTURE, MOVE(ask_ring, 29) },
	{ OP_READ,  INTERFACE_IO_URING, ON_FIXTURE, MOVE(ask_ring, 19) },
	{ OP_WRITE, INTERFACE_LIBAIO, ON_FIXTURE, MOVE(ask_libaio, 31) },
	{ OP_READ,  INTERFACE_LIBAIO, ON_FIXTURE, MOVE(ask_libaio, 37) },
	{ OP_READ,  INTERFACE_MAPPING, .place = CASE_ON_STORAGE, .run = touch_page },
	{ OP_WRITE, INTERFACE_MAPPING, .place = CASE_ON_STORAGE, .run = touch_page },

	{ OP_FSYNC, 0, ON_FIXTURE, DO(fsync, FD(FILE)) },
	{ OP_FDATASYNC, 0, ON_FIXTURE, DO(fdatasync, FD(FILE)) },
	{ OP_SYNC,  0, ON_FIXTURE, DO(sync_file_range, FD(FILE), 0, 0, 0) },
	{ OP_TRUNCATE, 0, ON_FIXTURE, DO(ftruncate, FD(FILE), 43) },
	{ OP_TRUNCATE, 0, SEARCHED, DO(truncate, PATH("file"), 41) },
	{ OP_FALLOCATE, 0, ON_FIXTURE, DO(fallocate, FD(FILE), 0, 0, 47) },

	{ OP_STAT,  0, ON_FIXTURE, DO(fstat, FD(FILE), BYTES) },
	{ OP_STAT,  0, BY("note_getattr"), DO(newfstatat, HERE, OWN, BYTES, 0) },
	{ OP_ACCESS, 0, SEARCHED, DO(faccessat, HERE, PATH("file"), R_OK) },
	{ OP_STATFS, 0, BY("note_statfs"), DO(statfs, OWN, BYTES) },
	{ OP_CHMOD, 0, BY("note_setattr"), DO(fchmodat, HERE, OWN, 0640) },
	{ OP_CHOWN, 0, BY("note_setattr"), DO(fchownat, HERE, OWN, -1, -1, 0) },
	{ OP_UTIME, 0, BY("note_setattr"), DO(utimensat, HERE, OWN, 0, 0) },
	{ OP_XATTR, 0, BY("note_setxattr"), DO(setxattr, OWN, XATTR, BYTES, 3, 0) },
	{ OP_XATTR, 0, BY("note_getxattr"), DO(getxattr, OWN, XATTR, BYTES, FIXTURE_BYTES) },
	{ OP_XATTR, 0, BY("note_listxattr"), DO(listxattr, OWN, BYTES, FIXTURE_BYTES) },
	{ OP_XATTR, 0, BY("note_removexattr"), DO(removexattr, OWN, XATTR) },

	{ OP_READDIR, 0, ON_FIXTURE, DO(getdents64, FD(DIR), BYTES, FIXTURE_BYTES) },
	{ OP_LINK,  0, SEARCHED, DO(linkat, HERE, PATH("file"), HERE, PATH("other"), 0) },
	{ OP_RENAME, 0, SEARCHED, DO(renameat2, HERE, PATH("other"), HERE, PATH("renamed"), 0) },
	{ OP_UNLINK, 0, SEARCHED, DO(unlinkat, HERE, PATH("renamed"), 0) },
	{ OP_SYMLINK, 0, SEARCHED, DO(symlinkat, PATH("file"), HERE, PATH("link")) },
	{ OP_OPEN,  0, ON_FIXTURE, DO(openat, HERE, PATH("link"), O_PATH | O_NOFOLLOW), .keeps = FIXTURE_LINK },
	{ OP_READLINK, 0, BY("note_readlink"), DO(readlinkat, FD(LINK), PATH(""), BYTES, FIXTURE_BYTES) },
	{ OP_MKNOD, 0, SEARCHED, DO(mknodat, HERE, PATH("node"), S_IFREG | 0600, 0) },
	{ OP_MKDIR, 0, SEARCHED, DO(mkdirat, HERE, PATH("directory"), 0700) },
	{ OP_RMDIR, 0, SEARCHED, DO(unlinkat, HERE, PATH("directory"), AT_REMOVEDIR) },
	{ OP_CLOSE, 0, ON_FIXTURE, DO(close, FD(FILE)) },
};
/* clang-format on */
static_assert(ARRAY_SIZE(cases) <= SELFTEST_CASES_MAX, "each case has its result");

const struct case_ *selftest_cases(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(cases);
	return cases;
}

static void wake_up(int number)
{
	(void)number;
}

/* Let SIGALRM come each @us from now on, and end calls that sleep with EINTR; 0: no more. */
static void set_alarm(long us)
{
	const struct sigaction action = { .sa_handler = wake_up }; /* no SA_RESTART */
	const struct itimerval timer = { { .tv_usec = us }, { .tv_usec = us } };
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigaction(SIGALRM, &action, NULL);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Sleep in a read until a signal ends it, so that it is parked and comes back with EINTR. */
static long nap(struct fixture *s, const struct case_ *v UNUSED)
{
	char byte;
	long result;

	set_alarm(SELFTEST_SLEEP_NS / 1000);
	result = read(s->files[FIXTURE_PIPE_OUT], &byte, 1) < 0 ? -errno : 0;
	set_alarm(0);
	return result;
}

static long ask_ring(struct fixture *s, const struct case_ *v)
{
	return s->ring ? ring_move(s->ring, v->op == OP_WRITE, s->files[FIXTURE_FILE], s->bytes,
				   (size_t)v->arguments[0])
		       : CASE_NOT_RUN;
}

static long ask_libaio(struct fixture *s, const struct case_ *v)
{
	struct iocb request = {
		.aio_lio_opcode = v->op == OP_WRITE ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
		.aio_fildes = (uint32_t)s->files[FIXTURE_FILE],
		.aio_buf = (uintptr_t)s->bytes,
		.aio_nbytes = (uint64_t)v->arguments[0],
	}, *requests = &request;
	aio_context_t context = 0;
	struct io_event event;

	if (!s->has_libaio || syscall(SYS_io_setup, 1, &context) < 0)
		return CASE_NOT_RUN;
	if (syscall(SYS_io_submit, context, 1, &requests) != 1 ||
	    syscall(SYS_io_getevents, context, 1, 1, &event, NULL) != 1)
		return CASE_NOT_RUN;
	return (long)event.res; /* its end is awaited with the canary's */
}

static long touch_page(struct fixture *s, const struct case_ *v)
{
	volatile char *page = s->page;

	if (!page)
		return CASE_NOT_RUN;
	if (v->op == OP_WRITE)
		*page = 1;
	else
		(void)*page;
	return sysconf(_SC_PAGESIZE);
}

static long argument_of(struct fixture *s, long argument)
{
	switch (argument) {
	case BYTES:
		return (long)s->bytes;
	case PIECE:
		return (long)&s->piece;
	case OWN:
		return (long)s->own;
	case FROM:
		return (long)&s->from;
	case TO:
		return (long)&s->to;
	}
	if (argument <= FD(NONE) && argument > FD(FILES))
		return s->files[FD(NONE) - argument];
	return argument;
}

static long run_case(struct fixture *s, const struct case_ *v)
{
	long a[6], result;

	if (v->run)
		return v->run(s, v);
	for (size_t i = 0; i < ARRAY_SIZE(a); i++)
		a[i] = argument_of(s, v->arguments[i]);
	result = syscall(v->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (result < 0)
		result = -errno;
	if (v->keeps)
		s->files[v->keeps] = (int)result;
	if (v->keeps == FIXTURE_FILE && s->has_proc)
		snprintf(s->own, sizeof(s->own), "/proc/self/fd/%ld", result);
	return result;
}

/* ---- a connection ---- */

#define CONNECT_MS 100 /* if a filter drops packets to the loopback */

/* A socket that listens on the loopback, and its address.  Negative: there is none to be had. */
static int listen_to_self(struct sockaddr_in *ret)
{
	socklen_t length = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, sizeof(*ret)) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)ret, &length) < 0)
		return -errno;
	return fd;
}

/* One call each, of so many bytes. */
static bool say(int from, int to, size_t bytes, struct selftest_talk *talk)
{
	char said[8] = {};

	if (send(from, said, bytes, MSG_NOSIGNAL) != (ssize_t)bytes ||
	    recv(to, said, bytes, MSG_WAITALL) != (ssize_t)bytes)
		return false;
	talk->calls++;
	talk->bytes += (unsigned int)bytes;
	return true;
}

/* Sockets are closed by the canary's end, and by no call. */
static void talk_to_self(struct selftest_talk *ret)
{
	const struct timeval patience = { .tv_usec = CONNECT_MS * 1000 };
	struct selftest_talk talk = {};
	struct sockaddr_in address;
	int listening = listen_to_self(&address), near, far;

	if (listening < 0)
		return;
	near = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (near < 0 ||
	    setsockopt(near, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
	    setsockopt(near, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    setsockopt(listening, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    connect(near, (struct sockaddr *)&address, sizeof(address)) < 0)
		return;
	far = accept4(listening, NULL, NULL, SOCK_CLOEXEC); /* which waits no longer either */
	talk.is_made = far >= 0 && say(near, far, 3, &talk) && say(far, near, 5, &talk);
	*ret = talk;
}

int selftest_run(struct fixture *s)
{
	struct ring ring;

	if (chdir(s->dir.path) < 0)
		return -errno;
	s->piece = (struct iovec){ s->bytes, 13 };
	s->from = 0;
	s->to = 64;
	s->ring = ring_open(&ring) >= 0 ? &ring : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		s->results[i] = run_case(s, &cases[i]);
	talk_to_self(s->talk);
	return s->files[FIXTURE_FILE] < 0 ? -EIO : 0;
}

/* ---- system calls by name ---- */

#define ASKED 3 /* calls of getppid(), which nothing else in the self-test makes */
#define REFUSED 2

void syscall_selftest_run(void)
{
	const struct timespec nap = { .tv_nsec = (long)SELFTEST_SLEEP_NS };

	for (int i = 0; i < ASKED; i++)
		(void)syscall(SYS_getppid);
	for (int i = 0; i < REFUSED; i++)
		(void)syscall(SYS_getpgid, -1);
	(void)syscall(SYS_nanosleep, &nap, NULL);
	set_alarm(SELFTEST_SLEEP_NS / 1000); /* ends it with EINTR; one that comes too early is
						followed by more */
	(void)syscall(SYS_ppoll, NULL, 0, NULL, NULL, 8);
	set_alarm(0);
}

/* @least_ns: 0: any. */
static void judge(const struct syscalls *s, const char *program, const char *call, uint64_t calls,
		  uint64_t errors, uint64_t least_ns, struct verdict *v)
{
	const struct syscall_row *row = syscalls_find(s, call);
	uint64_t was = row ? syscall_number(row, METRIC_SYSCALL_CALLS).number : 0;
	uint64_t failed = row ? syscall_number(row, METRIC_SYSCALL_ERRORS).number : 0;
	uint64_t ns = row ? syscall_number(row, METRIC_SYSCALL_SECONDS).number : 0;

	verdict_judge(v, program, was == calls && failed == errors,
		      "of %" PRIu64 " calls of %s, %" PRIu64 " failed, it saw %" PRIu64
		      " and %" PRIu64,
		      calls, call, errors, was, failed);
	verdict_judge(v, program, ns >= least_ns,
		      "%s took %" PRIu64 " ns at least, and %" PRIu64 " by it", call, least_ns, ns);
}

void syscall_selftest_judge(const struct syscalls *counted, struct verdict *v)
{
	judge(counted, "enter_syscall", "getppid", ASKED, 0, 0, v);
	judge(counted, "leave_syscall", "getpgid", REFUSED, REFUSED, 0, v);
	judge(counted, "park_syscall", "nanosleep", 1, 0, SELFTEST_SLEEP_NS, v);
	judge(counted, "end_syscall", "exit_group", 1, 0, 0, v);
	judge(counted, "settle_syscall", "ppoll", 1, 1, 0, v);
}
