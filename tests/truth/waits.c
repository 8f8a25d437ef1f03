/* SPDX-License-Identifier: MIT */
/*
 * waits - waits for one thing or another, and tells for how long by its own clocks.
 *
 * What a thread waits within some calls is the time that passed by the wall, less its own time on a
 * CPU, less what the kernel says that it was ready to run and did not.  Static, like the truth
 * program.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/macro.h"

#define PAGE 4096
#define STEP_NS 50000000 /* how long each of the short waits is */
#define STORM_NS 1000000 /* the same of a child of a storm */
#define STORM_PARENTS 5
#define CAUSES_MAX 4

static int schedstat_fd;
static uint64_t born_ns; /* of this process: its first instruction */
static const char *folder;

/* What all tell, each by its own clocks; shared with children. */
struct told {
	uint64_t waited_ns; /* children, asleep or stopped */
	uint64_t children_ns; /* waiting for children: as they are born, and for their ends */
	uint64_t queued_ns; /* waiting for a CPU, as the kernel says of those that ended */
	uint64_t lived_ns; /* from their first instruction to what they told last */
};
static struct told *told;

/* ---- clocks ---- */

struct span {
	uint64_t wall_ns, on_ns, queued_ns;
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The second number of a schedstat. */
static uint64_t read_queued(int fd)
{
	char text[64] = "", *second;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	second = strchr(text, ' ');
	return second ? strtoull(second, NULL, 10) : 0;
}

static uint64_t queued_ns(void)
{
	return read_queued(schedstat_fd);
}

/* All at one moment: where others had the CPU between two clocks, they are read once more. */
static struct span read_clocks(void)
{
	struct span now;

	do {
		now.queued_ns = queued_ns();
		now.wall_ns = now_ns(CLOCK_MONOTONIC);
		now.on_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	} while (queued_ns() != now.queued_ns);
	return now;
}

static void tell(uint64_t *to, uint64_t ns)
{
	__atomic_fetch_add(to, ns, __ATOMIC_RELAXED);
}

/* Add what was waited since. */
static void end(const struct span *from, uint64_t *waited_ns)
{
	struct span now = read_clocks();
	uint64_t queued = now.queued_ns - from->queued_ns, on = now.on_ns - from->on_ns,
		 wall = now.wall_ns - from->wall_ns;

	if (wall > on + queued)
		tell(waited_ns, wall - on - queued);
}

/* ---- what is waited for ---- */

struct truth {
	struct {
		const char *cause;
		uint64_t ns;
	} waits[CAUSES_MAX];
	uint64_t children_most_ns; /* from before their births to when their ends were seen */
	uint64_t wait4_ns; /* CPU time of those that were waited for, as wait4() says */
};

static bool sleep_for(long ns)
{
	return nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL) == 0;
}

static bool wait_sleeping(unsigned long count, struct truth *t)
{
	struct span from = read_clocks();

	for (unsigned long i = 0; i < count; i++) {
		if (!sleep_for(STEP_NS))
			return false;
	}
	end(&from, &t->waits[0].ns);
	return true;
}

static bool wait_for_futex(unsigned long count, int value, struct truth *t)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	struct span from = read_clocks();
	int word = value;

	for (unsigned long i = 0; i < count; i++) {
		if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &step, NULL, 0) == 0 ||
		    errno != ETIMEDOUT)
			return false;
	}
	end(&from, &t->waits[0].ns);
	return true;
}

/* As glibc's mutex that others wait for. */
static bool wait_for_lock(unsigned long count, struct truth *t)
{
	return wait_for_futex(count, 2, t);
}

/* As an idle thread of Go. */
static bool wait_for_work(unsigned long count, struct truth *t)
{
	return wait_for_futex(count, 0, t);
}

/* As glibc's condition variables and joins: until a moment, of which it has one each time. */
static bool wait_for_thread(unsigned long count, struct truth *t)
{
	struct span from = read_clocks();
	struct timespec until;
	int id = 4711;

	clock_gettime(CLOCK_REALTIME, &until);
	for (unsigned long i = 0; i < count; i++) {
		until.tv_nsec += STEP_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (syscall(SYS_futex, &id, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, id, &until,
			    NULL, FUTEX_BITSET_MATCH_ANY) == 0 ||
		    errno != ETIMEDOUT)
			return false;
	}
	end(&from, &t->waits[0].ns);
	return true;
}

static bool wait_for_events(unsigned long count, struct truth *t)
{
	struct span from = read_clocks();

	for (unsigned long i = 0; i < count; i++) {
		if (poll(NULL, 0, STEP_NS / 1000000) != 0)
			return false;
	}
	end(&from, &t->waits[0].ns);
	return true;
}

/* Where groups of processes change meanwhile the kernel lets fork() wait: in a call for children.
 */
static pid_t start_child(void)
{
	struct span from = read_clocks();
	pid_t pid = fork();

	if (pid > 0)
		end(&from, &told->children_ns);
	if (pid == 0) { /* ours is the parent's */
		born_ns = now_ns(CLOCK_MONOTONIC);
		schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	}
	return pid;
}

/* Of a child: its last words, and its exit status. */
static int end_life(bool is_well)
{
	tell(&told->lived_ns, now_ns(CLOCK_MONOTONIC) - born_ns);
	return !is_well;
}

static bool sleep_and_tell(long ns)
{
	struct span from = read_clocks();

	if (!sleep_for(ns))
		return false;
	end(&from, &told->waited_ns);
	return true;
}

/* A child that writes a byte to @fd now and then, each after a sleep. */
static pid_t start_writer(int fd, unsigned long count)
{
	pid_t pid = start_child();

	if (pid != 0)
		return pid;
	for (unsigned long i = 0; i < count; i++) {
		if (!sleep_and_tell(STEP_NS) || write(fd, "x", 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static uint64_t usage_ns(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

/* Its end is part of its life: so it is asked when that is over, and before it is gone.  To open a
 * file may be a wait, too, of another cause. */
static bool await_end(pid_t pid)
{
	struct span from = read_clocks();
	siginfo_t info;
	char path[64];
	int fd;

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0)
		return false;
	end(&from, &told->children_ns);
	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	tell(&told->queued_ns, read_queued(fd));
	return close(fd) == 0;
}

static bool end_child(pid_t pid, struct truth *t)
{
	struct rusage usage;
	struct span from;
	int status;

	if (!await_end(pid))
		return false;
	from = read_clocks();
	if (wait4(pid, &status, 0, &usage) != pid || status != 0)
		return false;
	end(&from, &told->children_ns);
	t->wait4_ns += usage_ns(&usage);
	return true;
}

/* Read from @from_fd what a child writes to @to_fd. */
static bool read_from_child(int from_fd, int to_fd, unsigned long count, struct truth *t)
{
	struct span from;
	pid_t pid = start_writer(to_fd, count);
	char byte;

	if (pid < 0)
		return false;
	from = read_clocks();
	for (unsigned long i = 0; i < count; i++) {
		if (read(from_fd, &byte, 1) != 1)
			return false;
	}
	end(&from, &t->waits[0].ns);
	if (!end_child(pid, t))
		return false;
	t->waits[1].ns = told->waited_ns;
	return true;
}

static bool wait_for_pipe(unsigned long count, struct truth *t)
{
	int fds[2];

	return pipe(fds) == 0 && read_from_child(fds[0], fds[1], count, t);
}

static bool wait_for_local_socket(unsigned long count, struct truth *t)
{
	int fds[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0 &&
	       read_from_child(fds[0], fds[1], count, t);
}

static bool wait_for_network(unsigned long count, struct truth *t)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM, 0), ours = socket(AF_INET, SOCK_STREAM, 0),
	    theirs;

	if (bind(listening, (struct sockaddr *)&address, length) < 0 || listen(listening, 1) < 0 ||
	    getsockname(listening, (struct sockaddr *)&address, &length) < 0 ||
	    connect(ours, (struct sockaddr *)&address, length) < 0)
		return false;
	theirs = accept(listening, NULL, NULL);
	return theirs >= 0 && read_from_child(ours, theirs, count, t);
}

static bool wait_for_children(unsigned long count, struct truth *t)
{
	for (unsigned long i = 0; i < count; i++) {
		uint64_t from_ns = now_ns(CLOCK_MONOTONIC);
		pid_t pid = start_child();

		if (pid == 0)
			_exit(end_life(sleep_and_tell(STEP_NS)));
		if (pid < 0 || !end_child(pid, t))
			return false;
		t->children_most_ns += now_ns(CLOCK_MONOTONIC) - from_ns;
	}
	t->waits[1].ns = told->waited_ns;
	return true;
}

/* Each time until another goes on with it, by its own clocks. */
static int stop_often(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		struct span from = read_clocks();

		if (raise(SIGSTOP) != 0)
			return 1;
		end(&from, &told->waited_ns);
	}
	return 0;
}

static bool wait_stopped(unsigned long count, struct truth *t)
{
	pid_t pid = start_child();
	int status;

	if (pid == 0)
		_exit(stop_often(count));
	for (unsigned long i = 0; pid > 0 && i < count; i++) {
		struct span from;

		if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
			return false;
		from = read_clocks();
		if (!sleep_for(STEP_NS))
			return false;
		end(&from, &t->waits[1].ns);
		kill(pid, SIGCONT);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return false;
	t->waits[0].ns = told->waited_ns;
	return true;
}

/* ---- files ---- */

static int open_file(int flags)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | flags, 0600);

	if (fd < 0)
		dprintf(STDERR_FILENO, "waits: no file in %s: %s\n", folder, strerror(errno));
	return fd;
}

typedef ssize_t (*mover)(int fd, char *buffer, size_t size, off_t at);

static ssize_t write_at(int fd, char *buffer, size_t size, off_t at)
{
	return pwrite(fd, buffer, size, at);
}

static ssize_t read_at(int fd, char *buffer, size_t size, off_t at)
{
	return pread(fd, buffer, size, at);
}

static bool move(mover move_at, int fd, char *buffer, unsigned long pages, uint64_t *waited_ns)
{
	struct span from = read_clocks();

	for (unsigned long i = 0; i < pages; i++) {
		if (move_at(fd, buffer, PAGE, (off_t)(i * PAGE)) != PAGE)
			return false;
	}
	end(&from, waited_ns);
	return true;
}

static bool wait_for_storage(unsigned long pages, struct truth *t)
{
	static char buffer[PAGE] __attribute__((aligned(PAGE)));
	int fd = open_file(O_DIRECT);
	struct span from;

	if (fd < 0 || !move(write_at, fd, buffer, pages, &t->waits[1].ns))
		return false;
	from = read_clocks();
	if (fsync(fd) < 0)
		return false;
	end(&from, &t->waits[2].ns);
	return move(read_at, fd, buffer, pages, &t->waits[0].ns);
}

static bool fill(int fd, unsigned long pages, struct truth *t)
{
	static char buffer[PAGE] = { 1 };
	struct span from;

	if (!move(write_at, fd, buffer, pages, &t->waits[1].ns))
		return false;
	from = read_clocks();
	if (fsync(fd) < 0)
		return false;
	end(&from, &t->waits[2].ns);
	return posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
}

/* Touch each page of a file that is not in memory, in no order. */
static bool wait_in_faults(unsigned long pages, struct truth *t)
{
	int fd = open_file(0);
	volatile char *memory;
	struct span from;
	char sum = 0;

	if (fd < 0 || !fill(fd, pages, t))
		return false;
	memory = mmap(NULL, pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED || madvise((void *)memory, pages * PAGE, MADV_RANDOM) < 0)
		return false;
	from = read_clocks();
	for (unsigned long i = 0; i < pages; i++)
		sum += memory[i * 7919 % pages * PAGE];
	end(&from, &t->waits[0].ns);
	(void)sum;
	return true;
}

/* ---- waiting for a CPU ---- */

/* Until the thread has used so much of one. */
static bool spin(uint64_t ms)
{
	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < ms * 1000000)
		for (volatile int i = 0; i < 20000; i++)
			;
	return true;
}

static bool use_cpu(unsigned long ms, struct truth *t)
{
	(void)t;
	return spin(ms);
}

/* Two at once on one CPU. */
static bool share_cpu(unsigned long ms, struct truth *t)
{
	uint64_t from_ns = now_ns(CLOCK_MONOTONIC);
	cpu_set_t one;
	pid_t pid;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		return false;
	pid = start_child();
	if (pid == 0)
		_exit(end_life(spin(ms)));
	if (pid < 0 || !spin(ms) || !end_child(pid, t))
		return false;
	t->children_most_ns = now_ns(CLOCK_MONOTONIC) - from_ns;
	return true;
}

/* ---- a storm of children ---- */

static uint64_t usage_of(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return usage_ns(&usage);
}

/* Have @count children, one after the other, each asleep and then at work for as long. */
static bool have_children(unsigned long count)
{
	struct truth own = {};

	for (unsigned long i = 0; i < count; i++) {
		pid_t pid = start_child();

		if (pid == 0)
			_exit(end_life(sleep_and_tell(STORM_NS) && spin(STORM_NS / 1000000)));
		if (pid < 0 || !end_child(pid, &own))
			return false;
	}
	return true;
}

static pid_t start_parent(unsigned long children)
{
	pid_t pid = start_child();

	if (pid == 0)
		_exit(end_life(have_children(children)));
	return pid;
}

static bool fork_storm(unsigned long count, struct truth *t)
{
	pid_t pids[STORM_PARENTS];

	for (size_t i = 0; i < STORM_PARENTS; i++)
		pids[i] = start_parent(count / STORM_PARENTS + (i < count % STORM_PARENTS));
	for (size_t i = 0; i < STORM_PARENTS; i++) {
		if (pids[i] < 0 || !end_child(pids[i], t)) /* wait4() tells of its children too */
			return false;
	}
	t->waits[1].ns = told->waited_ns;
	return true;
}

/* ---- all of them ---- */

/* clang-format off */
static const struct mode {
	const char *name;
	bool (*run)(unsigned long amount, struct truth *t);
	const char *causes[CAUSES_MAX];
	const char *help;
} modes[] = {
	{ "sleep",    wait_sleeping,     { "sleep" }, "N sleeps of 50 ms" },
	{ "lock",     wait_for_lock,     { "lock" }, "N waits of 50 ms for a futex, as for a lock" },
	{ "work",     wait_for_work,     { "threads" }, "the same, as an idle thread of a pool" },
	{ "thread",   wait_for_thread,   { "threads" }, "the same, as for the end of a thread" },
	{ "poll",     wait_for_events,   { "poll" }, "N polls of 50 ms" },
	{ "pipe",     wait_for_pipe,     { "pipe", "sleep", "children" }, "N bytes from a child, one each 50 ms" },
	{ "local",    wait_for_local_socket, { "pipe", "sleep", "children" }, "the same by a socket of AF_UNIX" },
	{ "network",  wait_for_network,  { "network", "sleep", "children" }, "the same by TCP" },
	{ "children", wait_for_children, { "children", "sleep" }, "N children that sleep for 50 ms" },
	{ "stopped",  wait_stopped,      { "stopped", "sleep" }, "a child that is stopped N times for 50 ms" },
	{ "storage",  wait_for_storage,  { "file_read", "file_write", "sync" }, "N pages, directly from and to storage" },
	{ "faults",   wait_in_faults,    { "page_fault", "file_write", "sync" }, "N pages by a mapping" },
	{ "spin",     use_cpu,           {}, "N ms of a CPU" },
	{ "share",    share_cpu,         { "children" }, "two that use N ms of one CPU each" },
	{ "storm",    fork_storm,        { "children", "sleep" }, "N short children of a few parents" },
};
/* clang-format on */

static bool publish(const char *path, const struct mode *mode, const struct truth *t)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);

	if (fd < 0)
		return false;
	dprintf(fd,
		"{\n\t\"schema\": \"jobmeter.waits/1\",\n\t\"mode\": \"%s\",\n\t\"own_ns\": %ju,\n",
		mode->name, (uintmax_t)(now_ns(CLOCK_MONOTONIC) - born_ns));
	dprintf(fd,
		"\t\"children_ns\": %ju,\n\t\"children_most_ns\": %ju,\n\t\"queued_ns\": %ju,\n",
		(uintmax_t)told->lived_ns, (uintmax_t)t->children_most_ns,
		(uintmax_t)(queued_ns() + told->queued_ns));
	dprintf(fd, "\t\"rusage_ns\": %ju,\n\t\"wait4_ns\": %ju,\n\t\"waits_ns\": {",
		(uintmax_t)(usage_of(RUSAGE_SELF) + usage_of(RUSAGE_CHILDREN)),
		(uintmax_t)(usage_of(RUSAGE_SELF) + t->wait4_ns));
	for (size_t i = 0; i < CAUSES_MAX && mode->causes[i]; i++)
		dprintf(fd, "%s\"%s\": %ju", i ? ", " : "", mode->causes[i],
			(uintmax_t)(strcmp(mode->causes[i], "children") == 0 ? told->children_ns
									     : t->waits[i].ns));
	dprintf(fd, "}\n}\n");
	return close(fd) == 0;
}

static int refuse(void)
{
	dprintf(STDERR_FILENO, "usage: waits MODE N OUTPUT [FOLDER]\n");
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		dprintf(STDERR_FILENO, "  %-9s%s\n", modes[i].name, modes[i].help);
	return 2;
}

int main(int argc, char **argv)
{
	unsigned long amount = argc >= 4 ? strtoul(argv[2], NULL, 10) : 0;
	struct truth t = {};

	born_ns = now_ns(CLOCK_MONOTONIC);
	folder = argc > 4 ? argv[4] : ".";
	schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	told = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!amount || schedstat_fd < 0 || told == MAP_FAILED)
		return refuse();
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(modes[i].name, argv[1]) == 0)
			return !(modes[i].run(amount, &t) && publish(argv[3], &modes[i], &t));
	}
	return refuse();
}
