/* SPDX-License-Identifier: MIT */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "samples.h"

#define BLOCK_BYTES 4096
#define THREADS_MAX 2
#define WARM_CALLS 256 /* before each round: rows are inserted, caches are warm */
#define COLD_BYTES 65536
#define MESSAGE_BYTES 64

struct request {
	enum work what;
	unsigned int calls, chunks;
};

struct answer {
	double ns;
	struct deeds deeds; /* of the round */
};

struct worker {
	pid_t pid;
	int fd;
	struct deeds deeds;
};

/* What one thread of a round works with; shares no cache line with another's. */
struct hand {
	_Alignas(4096) char block[COLD_BYTES];
	struct party *party;
	int number;
	int fd;
	struct samples clean, all;
	double born_ns, begun_ns, ended_ns, gone_ns; /* its maker sees the first and the last */
	double children_ns;
	long switches;
};

struct party {
	struct request request;
	int fds[THREADS_MAX];
	int disk_fd; /* a file of nothing but a hole */
	int device_fd; /* -EBADF: none */
	int connection[2]; /* both ends, by TCP */
	char there[64], absent[64], made[64]; /* paths */
	int pipes[THREADS_MAX][2];
	atomic_uint turn; /* WORK_SWITCH: whose it is */
	atomic_uint arrived; /* at the chunks' starting line */
	struct hand hands[THREADS_MAX];
};

/* clang-format off */
static const struct {
	const char *name;
	int threads;
} works[WORK_COUNT] = {
	[WORK_PREAD_1]    = { "pread 4 KiB, 1 thread", 1 },
	[WORK_PREAD_2]    = { "pread 4 KiB, 2 threads", 2 },
	[WORK_PREAD_LAST] = { "pread 4 KiB, last CPU", 1 },
	[WORK_WRITE_1]    = { "write 4 KiB, 1 thread", 1 },
	[WORK_WRITE_2]    = { "write 4 KiB, 2 threads", 2 },
	[WORK_GETPPID_1]  = { "getppid, 1 thread", 1 },
	[WORK_GETPPID_2]  = { "getppid, 2 threads", 2 },
	[WORK_SWITCH]     = { "switch", 2 },
	[WORK_PIPE]       = { "switch by pipe", 2 },
	[WORK_FORK]       = { "fork, exit, wait", 1 },
	[WORK_STAT]       = { "stat", 1 },
	[WORK_OPEN]       = { "open, close", 1 },
	[WORK_ABSENT]     = { "open of what is absent", 1 },
	[WORK_UNLINK]     = { "create, close, unlink", 1 },
	[WORK_NEW]        = { "write 4 KiB, a new page", 1 },
	[WORK_COLD]       = { "pread 64 KiB, cold", 1 },
	[WORK_SEND]       = { "send, recv 64 bytes, TCP", 1 },
	[WORK_DIRECT]     = { "pread 4 KiB, O_DIRECT, a loop device", 1 },
};
/* clang-format on */

const char *work_name(enum work w)
{
	return works[w].name;
}

int work_threads(enum work w)
{
	return works[w].threads;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* How often another task took our CPU. */
static long times_pushed_off(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

/* How often we left it ourselves. */
static long times_left(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static double to_ns(struct timeval t)
{
	return (double)t.tv_sec * 1e9 + (double)t.tv_usec * 1e3;
}

/* All threads that we ever had, and children that we have waited for. */
static double cpu_ns(void)
{
	struct rusage children;
	struct timespec own;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	return (double)own.tv_sec * 1e9 + (double)own.tv_nsec + to_ns(children.ru_utime) +
	       to_ns(children.ru_stime);
}

static void futex(atomic_uint *word, int op, unsigned int value)
{
	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void take_turns(struct hand *hand, unsigned int calls)
{
	atomic_uint *turn = &hand->party->turn;
	unsigned int me = (unsigned int)hand->number;

	for (unsigned int i = 0; i < calls / 2; i++) { /* each turn is half a round trip */
		while (atomic_load(turn) != me)
			futex(turn, FUTEX_WAIT, 1 - me);
		atomic_store(turn, 1 - me);
		futex(turn, FUTEX_WAKE, 1);
	}
}

static void pass_bytes(struct hand *hand, unsigned int calls)
{
	int to = hand->party->pipes[hand->number][1],
	    from = hand->party->pipes[1 - hand->number][0];
	char byte = 0;

	for (unsigned int i = 0; i < calls / 2; i++) {
		if (hand->number == 0 && write(to, &byte, 1) != 1)
			abort();
		if (read(from, &byte, 1) != 1)
			abort();
		if (hand->number == 1 && write(to, &byte, 1) != 1)
			abort();
	}
}

static void fork_and_wait(struct hand *hand, unsigned int calls)
{
	double start = now_ns();

	for (unsigned int i = 0; i < calls; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			abort();
	}
	hand->children_ns += now_ns() - start; /* one at a time, all the time */
}

static void open_and_close(const char *path, int flags, unsigned int calls)
{
	for (unsigned int i = 0; i < calls; i++) {
		int fd = open(path, flags | O_CLOEXEC, 0600);

		if (fd < 0 || close(fd) < 0 || (flags & O_CREAT && unlink(path) < 0))
			abort();
	}
}

/* Inside a chunk the file is only cut off or dropped from the cache now and then; it is a small
 * part. */
static void write_new_pages(int fd, const char *block, unsigned int calls)
{
	for (unsigned int i = 0; i < calls; i++) {
		if (i % 256 == 0 && (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0))
			abort();
		if (write(fd, block, BLOCK_BYTES) != BLOCK_BYTES)
			abort();
	}
}

static void read_cold_pages(int fd, char *block, unsigned int calls)
{
	if (ftruncate(fd, 0) < 0 || ftruncate(fd, (off_t)calls * COLD_BYTES) < 0)
		abort(); /* a hole, of which nothing is cached */
	for (unsigned int i = 0; i < calls; i++) {
		if (pread(fd, block, COLD_BYTES, (off_t)i * COLD_BYTES) != COLD_BYTES)
			abort();
	}
}

static void send_to_ourselves(const int connection[2], char *block, unsigned int calls)
{
	for (unsigned int i = 0; i < calls; i++) {
		if (send(connection[0], block, MESSAGE_BYTES, MSG_NOSIGNAL) != MESSAGE_BYTES ||
		    recv(connection[1], block, MESSAGE_BYTES, MSG_WAITALL) != MESSAGE_BYTES)
			abort();
	}
}

static void do_calls(struct hand *hand, unsigned int calls)
{
	switch (hand->party->request.what) {
	case WORK_PREAD_1:
	case WORK_PREAD_2:
	case WORK_PREAD_LAST:
		for (unsigned int i = 0; i < calls; i++) {
			if (pread(hand->fd, hand->block, BLOCK_BYTES, 0) != BLOCK_BYTES)
				abort();
		}
		break;
	case WORK_WRITE_1: /* write() moves on, so that now and then it has to go back */
	case WORK_WRITE_2:
		for (unsigned int i = 0; i < calls; i++) {
			if (i % 256 == 0)
				lseek(hand->fd, 0, SEEK_SET);
			if (write(hand->fd, hand->block, BLOCK_BYTES) != BLOCK_BYTES)
				abort();
		}
		break;
	case WORK_GETPPID_1:
	case WORK_GETPPID_2:
		for (unsigned int i = 0; i < calls; i++)
			syscall(SYS_getppid);
		break;
	case WORK_SWITCH:
		take_turns(hand, calls);
		break;
	case WORK_PIPE:
		pass_bytes(hand, calls);
		break;
	case WORK_FORK:
		fork_and_wait(hand, calls);
		break;
	case WORK_STAT:
		for (unsigned int i = 0; i < calls; i++) {
			struct stat st;

			if (stat(hand->party->there, &st) < 0)
				abort();
		}
		break;
	case WORK_OPEN:
		open_and_close(hand->party->there, O_RDONLY, calls);
		break;
	case WORK_ABSENT:
		for (unsigned int i = 0; i < calls; i++) {
			if (open(hand->party->absent, O_RDONLY | O_CLOEXEC) >= 0)
				abort();
		}
		break;
	case WORK_UNLINK:
		open_and_close(hand->party->made, O_RDWR | O_CREAT | O_EXCL, calls);
		break;
	case WORK_NEW:
		write_new_pages(hand->party->disk_fd, hand->block, calls);
		break;
	case WORK_COLD:
		read_cold_pages(hand->party->disk_fd, hand->block, calls);
		break;
	case WORK_SEND:
		send_to_ourselves(hand->party->connection, hand->block, calls);
		break;
	case WORK_DIRECT:
		for (unsigned int i = 0; i < calls; i++) {
			if (pread(hand->party->device_fd, hand->block, BLOCK_BYTES, 0) !=
			    BLOCK_BYTES)
				abort();
		}
		break;
	case WORK_COUNT:
		abort();
	}
}

/* Which of the CPUs that we may use: from the first on, or -1: the last. */
static int cpu_for(enum work what, int hand)
{
	if (what == WORK_PREAD_LAST)
		return -1;
	return works[what].threads == 2 && what != WORK_SWITCH && what != WORK_PIPE ? hand : 0;
}

static void pin(int number)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(getpid(), sizeof(allowed), &allowed) < 0)
		return;
	number = (number + CPU_COUNT(&allowed)) % CPU_COUNT(&allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || number-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity((pid_t)syscall(SYS_gettid), sizeof(one), &one);
		return;
	}
}

/* All hands begin chunk @number together. */
static void line_up(struct hand *hand, unsigned int number)
{
	struct party *party = hand->party;
	unsigned int all = (number + 1) * (unsigned int)works[party->request.what].threads;

	atomic_fetch_add(&party->arrived, 1);
	while (atomic_load(&party->arrived) < all)
		sched_yield();
}

static void *work_by_chunks(void *data)
{
	struct hand *hand = data;
	const struct request *request = &hand->party->request;

	hand->begun_ns = now_ns();
	pin(cpu_for(request->what, hand->number));
	line_up(hand, 0);
	do_calls(hand, MIN(request->calls, (unsigned int)WARM_CALLS));
	for (unsigned int i = 0; i < request->chunks; i++) {
		double start, ns;
		long pushed;

		line_up(hand, i + 1);
		pushed = times_pushed_off();
		start = now_ns();
		do_calls(hand, request->calls);
		ns = (now_ns() - start) / request->calls;
		samples_add(&hand->all, ns);
		if (times_pushed_off() == pushed)
			samples_add(&hand->clean, ns);
	}
	hand->switches = times_left();
	hand->ended_ns = now_ns();
	return NULL;
}

static void add_deeds(struct deeds *to, const struct deeds *from)
{
	to->preads += from->preads;
	to->writes += from->writes;
	to->switches += from->switches;
	to->cpu_ns += from->cpu_ns;
	to->least_ns += from->least_ns;
	to->most_ns += from->most_ns;
}

static struct deeds deeds_of(const struct hand *hand)
{
	return (struct deeds){
		.switches = (uint64_t)hand->switches,
		.least_ns = (uint64_t)(hand->ended_ns - hand->begun_ns),
		.most_ns = (uint64_t)(hand->gone_ns - hand->born_ns + hand->children_ns),
	};
}

/* In the worker: one round, by threads of its own. */
static struct answer do_round(struct party *party)
{
	int threads = works[party->request.what].threads;
	pthread_t others[THREADS_MAX];
	double before = cpu_ns();
	struct answer answer = {};

	atomic_store(&party->turn, 0);
	atomic_store(&party->arrived, 0);
	for (int i = 0; i < threads; i++) {
		struct hand *hand = &party->hands[i];

		hand->party = party;
		hand->number = i;
		hand->fd = party->fds[i];
		hand->clean.count = hand->all.count = 0;
		hand->children_ns = 0;
		hand->born_ns = now_ns();
		if (pthread_create(&others[i], NULL, work_by_chunks, hand) != 0)
			abort();
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(others[i], NULL);
		party->hands[i].gone_ns = now_ns();
	}
	for (int i = 0; i < threads; i++) {
		struct hand *hand = &party->hands[i];
		struct deeds deeds = deeds_of(hand);

		answer.ns += samples_quantile(hand->clean.count >= 2 ? &hand->clean : &hand->all,
					      0.5) /
			     threads;
		add_deeds(&answer.deeds, &deeds);
	}
	answer.deeds.cpu_ns = (uint64_t)(cpu_ns() - before);
	return answer;
}

static _Noreturn void be_worker(struct party *party, int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* recv and send, not read and write: what is counted is the rounds' alone */
	while (recv(fd, &party->request, sizeof(party->request), 0) == sizeof(party->request)) {
		struct answer answer = do_round(party);

		if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
			break;
	}
	_exit(0);
}

/* The thread's file: as long as the furthest write, so that none ever grows it. */
static int make_file(const char *dir, int number, struct error *err)
{
	_cleanup_close_ int fd = -EBADF;
	char path[4096], block[BLOCK_BYTES] = "jobmeter";

	snprintf(path, sizeof(path), "%s/%d", dir, number);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set_errno(err, errno, "cannot make '%s'", path);
	for (int i = 0; i < 256; i++) {
		if (write(fd, block, sizeof(block)) != sizeof(block))
			return error_set_errno(err, errno, "cannot fill '%s'", path);
	}
	return TAKE_FD(fd);
}

/* The file that other works are done on, unnamed. */
static int make_disk_file(const char *dir, struct error *err)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? error_set_errno(err, errno, "cannot make a file in '%s'", dir) : fd;
}

/* Both ends of a connection to ourselves. */
static int connect_ourselves(int ret[2], struct error *err)
{
	_cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), to = -EBADF;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *name = (struct sockaddr *)(void *)&address;
	socklen_t length = sizeof(address);
	int from;

	to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || to < 0 || bind(listener, name, length) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, name, &length) < 0 || connect(to, name, length) < 0)
		return error_set_errno(err, errno, "cannot connect to ourselves by TCP");
	from = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (from < 0)
		return error_set_errno(err, errno, "cannot accept our own connection");
	ret[0] = TAKE_FD(to);
	ret[1] = from;
	return 0;
}

/* "DIR/sub/there", two directories below a mount point as files of work are. */
static int make_paths(const char *dir, struct party *party, struct error *err)
{
	_cleanup_close_ int fd = -EBADF;

	snprintf(party->there, sizeof(party->there), "%s/sub", dir);
	if (mkdir(party->there, 0700) < 0)
		return error_set_errno(err, errno, "cannot make '%s'", party->there);
	snprintf(party->there, sizeof(party->there), "%s/sub/there", dir);
	snprintf(party->absent, sizeof(party->absent), "%s/sub/absent", dir);
	snprintf(party->made, sizeof(party->made), "%s/sub/made", dir);
	fd = open(party->there, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return fd < 0 ? error_set_errno(err, errno, "cannot make '%s'", party->there) : 0;
}

int worker_start(const char *dir, const char *disk_dir, const char *device, struct worker **ret,
		 struct error *err)
{
	_cleanup_(worker_stopp) struct worker *w = calloc(1, sizeof(*w));
	_cleanup_free_ struct party *party = aligned_alloc(alignof(struct party), sizeof(*party));
	int pair[2], r;

	if (!w || !party)
		return -ENOMEM;
	memset(party, 0, sizeof(*party));
	w->fd = -EBADF;
	r = make_paths(dir, party, err);
	if (r < 0)
		return r;
	party->disk_fd = make_disk_file(disk_dir, err);
	if (party->disk_fd < 0)
		return party->disk_fd;
	party->device_fd = device ? open(device, O_RDONLY | O_DIRECT | O_CLOEXEC) : -EBADF;
	if (device && party->device_fd < 0)
		return error_set_errno(err, errno, "cannot open '%s'", device);
	r = connect_ourselves(party->connection, err);
	if (r < 0)
		return r;
	for (int i = 0; i < THREADS_MAX; i++) {
		party->fds[i] = make_file(dir, i, err);
		if (party->fds[i] < 0)
			return party->fds[i];
		if (pipe2(party->pipes[i], O_CLOEXEC) < 0)
			return error_set_errno(err, errno, "cannot make a pipe");
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set_errno(err, errno, "cannot make a socket pair");
	w->fd = pair[0];
	w->pid = fork();
	if (w->pid == 0) {
		close(pair[0]);
		be_worker(party, pair[1]);
	}
	close(pair[1]);
	close(party->disk_fd);
	close(party->connection[0]);
	close(party->connection[1]);
	if (party->device_fd >= 0)
		close(party->device_fd);
	for (int i = 0; i < THREADS_MAX; i++) { /* the worker has its own */
		close(party->fds[i]);
		close(party->pipes[i][0]);
		close(party->pipes[i][1]);
	}
	if (w->pid < 0)
		return error_set_errno(err, errno, "cannot start a process");
	*ret = TAKE_PTR(w);
	return 0;
}

struct worker *worker_stop(struct worker *w)
{
	if (!w)
		return NULL;
	if (w->fd >= 0)
		close(w->fd); /* at which it ends */
	if (w->pid > 0)
		waitpid(w->pid, NULL, 0);
	free(w);
	return NULL;
}

void worker_stopp(struct worker **w)
{
	worker_stop(*w);
}

pid_t worker_pid(const struct worker *w)
{
	return w->pid;
}

/* Of each two at least one is of a thread's own will: who wakes the other may be pushed off by it.
 * A chunk's first may be none. */
static bool has_switched(const struct request *request, const struct deeds *deeds)
{
	return deeds->switches + 2 * (uint64_t)request->chunks >=
	       (uint64_t)request->chunks * (request->calls / 2);
}

int worker_run(struct worker *w, enum work what, unsigned int calls, unsigned int chunks,
	       double *ret_ns, struct error *err)
{
	struct request request = { what, calls, chunks };
	uint64_t done = (uint64_t)calls * chunks + MIN(calls, (unsigned int)WARM_CALLS);
	struct answer answer;

	if (send(w->fd, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request) ||
	    recv(w->fd, &answer, sizeof(answer), 0) != sizeof(answer))
		return error_set(err, -EPIPE, "the worker has died");
	*ret_ns = answer.ns;
	add_deeds(&w->deeds, &answer.deeds);
	if ((what == WORK_SWITCH || what == WORK_PIPE) && !has_switched(&request, &answer.deeds))
		return error_set(err, -ERANGE, "'%s': %" PRIu64 " switches of %u", works[what].name,
				 answer.deeds.switches, calls * chunks);
	done *= (uint64_t)works[what].threads;
	if (what == WORK_PREAD_1 || what == WORK_PREAD_2 || what == WORK_PREAD_LAST)
		w->deeds.preads += done;
	if (what == WORK_WRITE_1 || what == WORK_WRITE_2)
		w->deeds.writes += done;
	w->deeds.sends += what == WORK_SEND ? done : 0;
	w->deeds.requests += what == WORK_DIRECT ? done : 0;
	return 0;
}

struct deeds worker_deeds(const struct worker *w)
{
	return w->deeds;
}
