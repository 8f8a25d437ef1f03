/* SPDX-License-Identifier: MIT */
/*
 * talk - sends and receives known numbers of bytes through sockets of each kind, and tells what it
 *did and got back.
 *
 *	talk MODE OUTPUT
 *
 * Each call goes to the kernel as it stands, once, and is counted with its own result.  Static,
 *like the truth program.  What it writes, it writes at the end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/macro.h"
#include "ring.h"

#define SOCKETS 3000
#define ROUNDS 4

enum kind { TCP, UDP, UNIX_STREAM, UNIX_DGRAM, OTHER, KINDS };
enum direction { SENT, RECEIVED, DIRECTIONS };

static const char *const kind_names[KINDS] = { "tcp", "udp", "unix_stream", "unix_dgram", "other" };
static const char *const direction_names[DIRECTIONS] = { "sent", "received" };

struct tally {
	uint64_t bytes, calls, errors;
};

/* Shared with the children. */
static struct talk {
	struct tally tallies[KINDS][DIRECTIONS];
	uint64_t opened, accepted, retransmits, segments; /* of TCP */
	uint64_t least_round_trip_us; /* 0: there was none */
	char absent[128]; /* what the kernel refused */
} * talk;

static char buffer[65536];

static void die(const char *what)
{
	dprintf(STDERR_FILENO, "talk: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- calls, each once ---- */

static void note(enum kind kind, enum direction direction, long result, uint64_t bytes)
{
	struct tally *t = &talk->tallies[kind][direction];

	__atomic_fetch_add(&t->calls, 1, __ATOMIC_RELAXED);
	if (result < 0)
		__atomic_fetch_add(&t->errors, 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&t->bytes, bytes, __ATOMIC_RELAXED);
}

static long noted(enum kind kind, enum direction direction, long result)
{
	int number = errno;

	note(kind, direction, result, result > 0 ? (uint64_t)result : 0);
	errno = number;
	return result;
}

static long send_flags(enum kind kind, int fd, size_t bytes, int flags)
{
	return noted(kind, SENT,
		     syscall(SYS_sendto, fd, buffer, bytes, flags | MSG_NOSIGNAL, NULL, 0));
}

static long send_to(enum kind kind, int fd, size_t bytes, const void *address, socklen_t length)
{
	return noted(kind, SENT, syscall(SYS_sendto, fd, buffer, bytes, 0, address, length));
}

static long receive(enum kind kind, int fd, size_t bytes, int flags)
{
	long r = syscall(SYS_recvfrom, fd, buffer, bytes, flags, NULL, NULL);

	if (r >= 0 && flags & MSG_PEEK)
		note(kind, RECEIVED, r, 0);
	else
		noted(kind, RECEIVED, r);
	return r;
}

static void must_send(enum kind kind, int fd, size_t bytes)
{
	if (send_flags(kind, fd, bytes, 0) != (long)bytes)
		die("send");
}

/* A stream may give it in parts. */
static void must_receive(enum kind kind, int fd, size_t bytes)
{
	while (bytes) {
		long r = receive(kind, fd, MIN(bytes, sizeof(buffer)), 0);

		if (r <= 0)
			die("receive");
		bytes -= (size_t)r;
	}
}

/* ---- sockets ---- */

struct pair {
	int near, far;
};

static struct sockaddr_storage loopback(int family, socklen_t *ret_length)
{
	struct sockaddr_storage address = { .ss_family = (sa_family_t)family };

	if (family == AF_INET) {
		((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		*ret_length = sizeof(struct sockaddr_in);
	} else {
		((struct sockaddr_in6 *)&address)->sin6_addr = in6addr_loopback;
		*ret_length = sizeof(struct sockaddr_in6);
	}
	return address;
}

static int listener(int family, struct sockaddr_storage *ret, socklen_t *ret_length)
{
	struct sockaddr_storage address = loopback(family, ret_length);
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, *ret_length) < 0 ||
	    listen(fd, 4096) < 0 || getsockname(fd, (struct sockaddr *)ret, ret_length) < 0)
		die("listen");
	return fd;
}

static int accept_one(int listening)
{
	int fd = accept(listening, NULL, NULL);

	if (fd < 0)
		die("accept");
	talk->accepted++;
	return fd;
}

static struct pair connect_to(int listening, int family, const struct sockaddr_storage *address,
			      socklen_t length)
{
	struct pair p = { .near = socket(family, SOCK_STREAM, 0) };

	if (p.near < 0 || connect(p.near, (const struct sockaddr *)address, length) < 0)
		die("connect");
	talk->opened++;
	p.far = accept_one(listening);
	return p;
}

static struct pair tcp_pair(int family)
{
	struct sockaddr_storage address;
	socklen_t length;
	int listening = listener(family, &address, &length);
	struct pair p = connect_to(listening, family, &address, length);

	close(listening);
	return p;
}

static struct pair unix_pair(int type)
{
	struct pair p;
	int fds[2];

	if (socketpair(AF_UNIX, type, 0, fds) < 0)
		die("socketpair");
	p = (struct pair){ fds[0], fds[1] };
	return p;
}

#define NO_ROUND_TRIP UINT32_MAX

static uint32_t retransmits_of(int fd)
{
	struct tcp_info info = {};
	socklen_t size = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_total_retrans
									: 0;
}

/* What the kernel says that it sent and sent again, and what its least round-trip time was. */
static void end_connection(int fd)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
		talk->retransmits += info.tcpi_total_retrans;
		talk->segments += info.tcpi_data_segs_out;
		if (info.tcpi_rtt && info.tcpi_min_rtt != NO_ROUND_TRIP &&
		    (!talk->least_round_trip_us || info.tcpi_min_rtt < talk->least_round_trip_us))
			talk->least_round_trip_us = info.tcpi_min_rtt;
	}
	close(fd);
}

static void close_pair(struct pair p)
{
	end_connection(p.near);
	end_connection(p.far);
}

/* ---- what is done ---- */

static void talk_by_tcp(int family)
{
	struct pair p = tcp_pair(family);

	for (int i = 0; i < 101; i++)
		must_send(TCP, p.near, 1009);
	must_receive(TCP, p.far, 101 * 1009);
	for (int i = 0; i < 7; i++) {
		must_send(TCP, p.far, 13);
		must_receive(TCP, p.near, 13);
	}
	close_pair(p);
}

static void tcp4(void)
{
	talk_by_tcp(AF_INET);
}

static void tcp6(void)
{
	talk_by_tcp(AF_INET6);
}

static int udp_receiver(struct sockaddr_in *ret)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 ||
	    getsockname(fd, (struct sockaddr *)ret, &length) < 0)
		die("bind");
	return fd;
}

static void udp4(void)
{
	struct sockaddr_in to;
	int receiver = udp_receiver(&to), sender = socket(AF_INET, SOCK_DGRAM, 0);

	for (int i = 0; i < 61; i++) {
		if (send_to(UDP, sender, 509, &to, sizeof(to)) != 509 ||
		    receive(UDP, receiver, 1000, 0) != 509)
			die("udp");
	}
	close_pair((struct pair){ receiver, sender });
}

/* An IPv6 socket that talks to IPv4: one message is one, whatever road it takes. */
static void mapped(void)
{
	struct sockaddr_in to;
	int receiver = udp_receiver(&to), sender = socket(AF_INET6, SOCK_DGRAM, 0);
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = to.sin_port };

	inet_pton(AF_INET6, "::ffff:127.0.0.1", &address.sin6_addr);
	for (int i = 0; i < 43; i++) {
		if (send_to(UDP, sender, 307, &address, sizeof(address)) != 307 ||
		    receive(UDP, receiver, 1000, 0) != 307)
			die("mapped");
	}
	close_pair((struct pair){ receiver, sender });
}

static void unix_sockets(void)
{
	static const struct {
		int type;
		enum kind kind;
	} types[] = { { SOCK_STREAM, UNIX_STREAM },
		      { SOCK_DGRAM, UNIX_DGRAM },
		      { SOCK_SEQPACKET, OTHER } };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct pair p = unix_pair(types[i].type);

		for (int k = 0; k < 37; k++) {
			must_send(types[i].kind, p.near, 211);
			must_receive(types[i].kind, p.far, 211);
		}
		close_pair(p);
	}
}

static struct msghdr message_of(struct iovec parts[2], size_t bytes)
{
	parts[0] = (struct iovec){ buffer, bytes / 3 };
	parts[1] = (struct iovec){ buffer + bytes / 3, bytes - bytes / 3 };
	return (struct msghdr){ .msg_iov = parts, .msg_iovlen = 2 };
}

static void talk_by_messages(enum kind kind, struct pair p)
{
	enum { COUNT = 5 };
	struct mmsghdr messages[COUNT] = {};
	struct iovec parts[COUNT][2];
	struct msghdr one = message_of(parts[0], 401);
	uint64_t bytes = 0;
	long r;

	for (int i = 0; i < 11; i++) {
		noted(kind, SENT, syscall(SYS_sendmsg, p.near, &one, 0));
		noted(kind, RECEIVED, syscall(SYS_recvmsg, p.far, &one, 0));
	}
	for (int i = 0; i < COUNT; i++) {
		messages[i].msg_hdr = message_of(parts[i], (size_t)(101 + 2 * i));
		bytes += (uint64_t)(101 + 2 * i);
	}
	r = syscall(SYS_sendmmsg, p.near, messages, COUNT, 0);
	note(kind, SENT, r, bytes);
	r = r == COUNT ? syscall(SYS_recvmmsg, p.far, messages, COUNT, MSG_DONTWAIT, NULL) : r;
	if (r < 1)
		die("messages");
	bytes = 0;
	for (long i = 0; i < r; i++)
		bytes += messages[i].msg_len;
	note(kind, RECEIVED, r, bytes);
	r = syscall(SYS_recvmmsg, p.far, messages, COUNT, MSG_DONTWAIT, NULL); /* nothing is left */
	if (r > 0)
		die("recvmmsg");
	noted(kind, RECEIVED, r);
	close_pair(p);
}

static void messages(void)
{
	struct sockaddr_in to;
	struct pair udp = { .far = udp_receiver(&to), .near = socket(AF_INET, SOCK_DGRAM, 0) };

	if (connect(udp.near, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("connect");
	talk_by_messages(UDP, udp);
	talk_by_messages(UNIX_DGRAM, unix_pair(SOCK_DGRAM));
}

/* Most messages that one call takes, and more than it takes. */
static void many_messages(void)
{
	enum { COUNT = 1500 };
	static struct mmsghdr all[COUNT];
	static struct iovec parts[COUNT][2];
	struct pair p = unix_pair(SOCK_STREAM);
	size_t bytes = 0;
	long r;

	for (int i = 0; i < COUNT; i++)
		all[i].msg_hdr = message_of(parts[i], 17);
	r = syscall(SYS_sendmmsg, p.near, all, COUNT, MSG_DONTWAIT);
	if (r < 1)
		die("sendmmsg");
	for (long i = 0; i < r; i++)
		bytes += all[i].msg_len;
	note(UNIX_STREAM, SENT, r, bytes);
	must_receive(UNIX_STREAM, p.far, bytes);
	close_pair(p);
}

/* By calls that are for files as well. */
static void as_files(void)
{
	struct iovec parts[2];
	struct pair p = tcp_pair(AF_INET);
	struct msghdr m = message_of(parts, 503);
	int file = memfd_create("talk", 0), ends[2];
	off_t at = 0;
	long r;

	for (int i = 0; i < 3; i++) {
		noted(TCP, SENT, write(p.near, buffer, 601));
		noted(TCP, RECEIVED,
		      syscall(SYS_recvfrom, p.far, buffer, 601, MSG_WAITALL, NULL, NULL));
		noted(TCP, SENT, syscall(SYS_writev, p.far, m.msg_iov, 2));
		noted(TCP, RECEIVED, syscall(SYS_readv, p.near, m.msg_iov, 2));
		noted(TCP, SENT, write(p.near, buffer, 7));
		noted(TCP, RECEIVED, read(p.far, buffer, 7));
	}
	if (file < 0 || ftruncate(file, 20011) < 0 || pipe(ends) < 0)
		die("memfd");
	r = noted(TCP, SENT, sendfile(p.near, file, &at, 20011));
	must_receive(TCP, p.far, (size_t)r);
	if (write(ends[1], buffer, 4001) != 4001)
		die("pipe");
	r = noted(TCP, SENT, splice(ends[0], NULL, p.near, NULL, 4001, 0));
	noted(TCP, RECEIVED, splice(p.far, NULL, ends[1], NULL, (size_t)r, 0));
	close_pair(p);
}

static void peek(void)
{
	struct pair p = unix_pair(SOCK_STREAM);
	struct iovec parts[2];
	struct msghdr m = message_of(parts, 97);

	must_send(UNIX_STREAM, p.near, 97);
	for (int i = 0; i < 5; i++)
		receive(UNIX_STREAM, p.far, 97, MSG_PEEK);
	note(UNIX_STREAM, RECEIVED, syscall(SYS_recvmsg, p.far, &m, MSG_PEEK), 0);
	receive(UNIX_STREAM, p.far, 97, 0);
	close_pair(p);
}

static void on_alarm(int number UNUSED)
{
}

/* Where nothing comes, where nobody is, where there is no socket, and where a signal ends the wait.
 */
static void errors(void)
{
	struct linger hard = { .l_onoff = 1 };
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval soon = { .it_value = { .tv_usec = 20000 } };
	struct pair p = tcp_pair(AF_INET);

	for (int i = 0; i < 19; i++)
		receive(TCP, p.near, 10, MSG_DONTWAIT);
	setsockopt(p.far, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	end_connection(p.far);
	receive(TCP, p.near, 10, 0); /* ECONNRESET */
	send_flags(TCP, p.near, 10, 0); /* EPIPE */
	end_connection(p.near);
	receive(OTHER, p.near, 10, 0); /* EBADF */
	send_flags(OTHER, STDERR_FILENO, 10, 0); /* ENOTSOCK */

	p = unix_pair(SOCK_STREAM);
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < 3; i++) {
		setitimer(ITIMER_REAL, &soon, NULL);
		if (receive(UNIX_STREAM, p.near, 10, 0) >= 0 || errno != EINTR)
			die("a signal");
	}
	close(p.far);
	receive(UNIX_STREAM, p.near, 10, 0); /* the end: no bytes and no error */
	send_flags(UNIX_STREAM, p.near, 10, 0);
	close(p.near);
}

/* One call, though a handler with SA_RESTART interrupts it. */
static void restarted(void)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval soon = { .it_value = { .tv_usec = 20000 } };
	struct pair p = unix_pair(SOCK_STREAM);
	pid_t child;

	sigaction(SIGALRM, &action, NULL);
	child = fork();
	if (child == 0) {
		usleep(100000);
		must_send(UNIX_STREAM, p.far, 83);
		_exit(0);
	}
	setitimer(ITIMER_REAL, &soon, NULL);
	must_receive(UNIX_STREAM, p.near, 83);
	waitpid(child, NULL, 0);
	close_pair(p);
}

/* ---- io_uring ---- */

static long ask(struct ring *ring, unsigned int opcode, int fd, const void *what,
		unsigned int length, unsigned int flags)
{
	struct io_uring_sqe sqe = { .opcode = (uint8_t)opcode,
				    .fd = fd,
				    .addr = (uintptr_t)what,
				    .len = length,
				    .msg_flags = flags };
	struct io_uring_cqe end;

	ring_put(ring, &sqe);
	if (ring_wait(ring, &end) < 0)
		die("io_uring");
	return end.res;
}

static bool open_ring(struct ring *ret)
{
	int r = ring_open(ret, 0);

	if (r < 0)
		snprintf(talk->absent, sizeof(talk->absent), "io_uring: %s", strerror(-r));
	return r >= 0;
}

static void uring(void)
{
	struct pair p = tcp_pair(AF_INET), u = unix_pair(SOCK_STREAM);
	struct iovec parts[2];
	struct msghdr m = message_of(parts, 53);
	struct ring ring;

	if (!open_ring(&ring))
		return;
	for (int i = 0; i < 23; i++) {
		noted(TCP, SENT, ask(&ring, IORING_OP_SEND, p.near, buffer, 701, 0));
		noted(TCP, RECEIVED, ask(&ring, IORING_OP_RECV, p.far, buffer, 701, MSG_WAITALL));
		noted(UNIX_STREAM, SENT, ask(&ring, IORING_OP_SENDMSG, u.near, &m, 1, 0));
		note(UNIX_STREAM, RECEIVED, ask(&ring, IORING_OP_RECV, u.far, buffer, 53, MSG_PEEK),
		     0);
		noted(UNIX_STREAM, RECEIVED, ask(&ring, IORING_OP_RECVMSG, u.far, &m, 1, 0));
		noted(TCP, SENT, ask(&ring, IORING_OP_WRITE, p.far, buffer, 31, 0));
		noted(TCP, RECEIVED, ask(&ring, IORING_OP_READ, p.near, buffer, 31, 0));
	}
	noted(UNIX_STREAM, RECEIVED, ask(&ring, IORING_OP_RECV, u.far, buffer, 53, MSG_DONTWAIT));
	ring_unmap(&ring);
	close_pair(p);
	close_pair(u);
}

/* Connections that begin there, too, and of which no system call sees anything.  Those that it
 * accepts are not known to be accepted. */
static void uring_connections(void)
{
	struct sockaddr_storage address;
	socklen_t length;
	int listening = listener(AF_INET, &address, &length);
	struct ring ring;

	if (!open_ring(&ring))
		return;
	for (int i = 0; i < 5; i++) {
		struct pair p = { .near = socket(AF_INET, SOCK_STREAM, 0) };
		struct io_uring_sqe sqe = { .opcode = IORING_OP_CONNECT,
					    .fd = p.near,
					    .addr = (uintptr_t)&address,
					    .off = length };
		struct io_uring_cqe end;

		ring_put(&ring, &sqe);
		if (ring_wait(&ring, &end) < 0 || end.res < 0)
			die("connect");
		talk->opened++;
		p.far = (int)ask(&ring, IORING_OP_ACCEPT, listening, NULL, 0, 0);
		for (int k = 0; k < 31; k++) {
			noted(TCP, SENT,
			      ask(&ring, IORING_OP_SEND, p.near, buffer, 701, MSG_PEEK)); /* which
											     means
											     nothing
											   */
			noted(TCP, RECEIVED,
			      ask(&ring, IORING_OP_RECV, p.far, buffer, 701, MSG_WAITALL));
			noted(TCP, SENT, ask(&ring, IORING_OP_SEND, p.far, buffer, 13, 0));
			noted(TCP, RECEIVED,
			      ask(&ring, IORING_OP_RECV, p.near, buffer, 13, MSG_WAITALL));
		}
		close_pair(p);
	}
	ring_unmap(&ring);
}

#define OP_READ_MULTISHOT 49 /* IORING_OP_READ_MULTISHOT, Linux 6.7 */
#define RECEIVE_MULTISHOT 2 /* IORING_RECV_MULTISHOT, Linux 6.0 */

/* A request whose results name no request; its last one, as the other side closes, is seen. */
static void receive_on_and_on(struct ring *ring, unsigned int opcode, unsigned int how)
{
	struct pair p = unix_pair(SOCK_STREAM);
	struct io_uring_sqe room = { .opcode = IORING_OP_PROVIDE_BUFFERS,
				     .fd = 8,
				     .addr = (uintptr_t)buffer,
				     .len = 4096,
				     .buf_group = 1 };
	struct io_uring_sqe sqe = { .opcode = (uint8_t)opcode,
				    .fd = p.far,
				    .ioprio = (uint16_t)how,
				    .flags = IOSQE_BUFFER_SELECT,
				    .buf_group = 1 };
	struct io_uring_cqe end;

	ring_put(ring, &room);
	if (ring_wait(ring, &end) < 0 || end.res < 0)
		die("buffers");
	ring_put(ring, &sqe);
	ring_submit(ring);
	for (int i = 0; i < 5; i++) {
		must_send(UNIX_STREAM, p.near, 1009);
		if (ring_wait(ring, &end) < 0 || end.res != 1009)
			die("many");
	}
	close(p.near);
	if (ring_wait(ring, &end) < 0 || end.res != 0)
		die("the end");
	if (opcode == IORING_OP_RECV)
		note(UNIX_STREAM, RECEIVED, 0, 0);
	close(p.far);
}

static void uring_many(void)
{
	struct ring ring;

	if (!open_ring(&ring))
		return;
	if (!ring.is_known[OP_READ_MULTISHOT]) {
		snprintf(talk->absent, sizeof(talk->absent), "io_uring reads once");
		return;
	}
	receive_on_and_on(&ring, IORING_OP_RECV, RECEIVE_MULTISHOT);
	receive_on_and_on(&ring, OP_READ_MULTISHOT, 0);
	ring_unmap(&ring);
}

/* ---- elsewhere, and many ---- */

/* A new network namespace and a guest have it down; where it is up already, nothing changes. */
static void raise_loopback(void)
{
	struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &up) < 0 && errno != EPERM)
		die("lo");
	close(fd);
}

static void namespace(void)
{
	if (unshare(CLONE_NEWNET) < 0)
		die("unshare");
	raise_loopback();
	tcp4();
	udp4();
}

/* More sockets than a table of some thousands holds, in several rounds, all open at once. */
static void many(void)
{
	static struct pair pairs[SOCKETS];
	struct sockaddr_storage address;
	socklen_t length;
	int listening = listener(AF_INET, &address, &length);

	for (int i = 0; i < SOCKETS; i++)
		pairs[i] = connect_to(listening, AF_INET, &address, length);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < SOCKETS; i++)
			must_send(TCP, pairs[i].near, 1249);
		for (int i = 0; i < SOCKETS; i++)
			must_receive(TCP, pairs[i].far, 1249);
	}
	for (int i = 0; i < SOCKETS; i++)
		close_pair(pairs[i]);
}

/* From several processes on one socket, some of them asleep in the call. */
static void crowd(void)
{
	enum { CHILDREN = 5 };
	struct pair p = unix_pair(SOCK_DGRAM);

	for (int i = 0; i < CHILDREN; i++) {
		if (fork() == 0) {
			for (int k = 0; k < 331; k++)
				receive(UNIX_DGRAM, p.far, 100, 0);
			_exit(0);
		}
	}
	for (int i = 0; i < CHILDREN * 331; i++)
		must_send(UNIX_DGRAM, p.near, 67);
	for (int i = 0; i < CHILDREN; i++)
		wait(NULL);
	close_pair(p);
}

/* One port talks to one port, and is free for the next right after; beforehand its first segments
 * are lost, since nobody may come in. */
static void reused(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(47113) };
	struct sockaddr_in from = to;
	struct linger hard = { .l_onoff = 1 };
	int listening = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	struct pair first = { .near = socket(AF_INET, SOCK_STREAM, 0) };
	struct pair second = { .near = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0) };
	struct pollfd queue = { .fd = listening, .events = POLLIN };

	from.sin_port = htons(47111);
	setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(second.near, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listening, (struct sockaddr *)&to, sizeof(to)) < 0 || listen(listening, 0) < 0 ||
	    bind(second.near, (struct sockaddr *)&from, sizeof(from)) < 0 ||
	    connect(first.near, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("reused");
	talk->opened++;
	if (poll(&queue, 1, -1) != 1) /* it fills the queue now */
		die("poll");
	if (connect(second.near, (struct sockaddr *)&to, sizeof(to)) == 0 || errno != EINPROGRESS)
		die("connect");
	while (!retransmits_of(second.near)) /* a second */
		usleep(10000);
	first.far = accept_one(listening);
	second.far = accept_one(listening);
	talk->opened++;
	must_send(TCP, second.near, 1013);
	must_receive(TCP, second.far, 1013);
	setsockopt(second.near, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close_pair(second);
	close_pair(first);
}

/* A socket that finds itself: both sides begin at once. */
static void self(void)
{
	socklen_t length;
	struct sockaddr_storage address = loopback(AF_INET, &length);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&address, length) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &length) < 0 ||
	    connect(fd, (struct sockaddr *)&address, length) < 0)
		die("self");
	talk->opened++;
	for (int i = 0; i < 23; i++) {
		must_send(TCP, fd, 107);
		must_receive(TCP, fd, 107);
	}
	end_connection(fd);
}

#define MULTIPATH 262 /* IPPROTO_MPTCP */

/* Below which there are TCP's own sockets, that nobody opened. */
static void multipath(void)
{
	socklen_t length;
	struct sockaddr_storage address = loopback(AF_INET, &length);
	int listening = socket(AF_INET, SOCK_STREAM, MULTIPATH),
	    near = socket(AF_INET, SOCK_STREAM, MULTIPATH), far;

	if (listening < 0) {
		snprintf(talk->absent, sizeof(talk->absent), "MPTCP: %s", strerror(errno));
		return;
	}
	if (bind(listening, (struct sockaddr *)&address, length) < 0 || listen(listening, 1) < 0 ||
	    getsockname(listening, (struct sockaddr *)&address, &length) < 0 ||
	    connect(near, (struct sockaddr *)&address, length) < 0)
		die("multipath");
	far = accept(listening, NULL, NULL);
	for (int i = 0; i < 41; i++) {
		must_send(OTHER, near, 401);
		must_receive(OTHER, far, 401);
	}
	close(near);
	close(far);
}

/* Descriptors that a process of few files does not have. */
static void high(void)
{
	struct pair p = tcp_pair(AF_INET);
	int near = fcntl(p.near, F_DUPFD, 700), far = fcntl(p.far, F_DUPFD, 700);

	for (int i = 0; i < 29; i++) {
		must_send(TCP, near, 103);
		must_receive(TCP, far, 103);
	}
	close(p.near);
	close(p.far);
	close_pair((struct pair){ near, far });
}

/* ---- the program ---- */

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "tcp4", tcp4 },
	{ "tcp6", tcp6 },
	{ "udp4", udp4 },
	{ "mapped", mapped },
	{ "unix", unix_sockets },
	{ "messages", messages },
	{ "many-messages", many_messages },
	{ "as-files", as_files },
	{ "peek", peek },
	{ "errors", errors },
	{ "restarted", restarted },
	{ "uring", uring },
	{ "namespace", namespace },
	{ "many", many },
	{ "crowd", crowd },
	{ "high", high },
	{ "reused", reused },
	{ "self", self },
	{ "multipath", multipath },
	{ "uring-connections", uring_connections },
	{ "uring-many", uring_many },
};

static int publish(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		return 1;
	fprintf(out, "{\"absent\": \"%s\", \"least_round_trip_us\": %" PRIu64 ", \"network\": {",
		talk->absent, talk->least_round_trip_us);
	for (size_t kind = 0; kind < KINDS; kind++) {
		fprintf(out, "%s\"%s\": {", kind ? ", " : "", kind_names[kind]);
		for (size_t d = 0; d < DIRECTIONS; d++) {
			const struct tally *t = &talk->tallies[kind][d];

			fprintf(out,
				"%s\"%s\": {\"bytes\": %" PRIu64 ", \"calls\": %" PRIu64
				", \"errors\": %" PRIu64 "}",
				d ? ", " : "", direction_names[d], t->bytes, t->calls, t->errors);
		}
		if (kind == TCP)
			fprintf(out,
				", \"connections\": {\"opened\": %" PRIu64
				", \"accepted\": %" PRIu64 ", \"retransmits\": %" PRIu64
				", \"segments\": %" PRIu64 "}",
				talk->opened, talk->accepted, talk->retransmits, talk->segments);
		fputs("}", out);
	}
	fputs("}}\n", out);
	return fclose(out) != 0;
}

int main(int argc, char **argv)
{
	struct rlimit many_files = { 8192, 8192 };

	talk = mmap(NULL, sizeof(*talk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc != 3 || talk == MAP_FAILED)
		return 2;
	(void)setrlimit(RLIMIT_NOFILE, &many_files);
	raise_loopback();
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(modes[i].name, argv[1]) != 0)
			continue;
		modes[i].run();
		return publish(argv[2]);
	}
	dprintf(STDERR_FILENO, "talk: no such mode: %s\n", argv[1]);
	return 2;
}
