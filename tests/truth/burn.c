/* SPDX-License-Identifier: MIT */
/*
 * burn - uses processor time and memory in one way, and tells what the kernel charged it for.
 *
 * Static, like the truth program; what it writes is not counted by anyone.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/macro.h"

#define MIB (1024 * 1024)
#define CHILD_BYTES (4 * MIB)

static uint64_t now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Arithmetic until @ms of processor time are used by that clock, which is asked about every ms. */
static void compute(clockid_t clock, unsigned long ms)
{
	volatile uint64_t sink = 1;

	while (now_ms(clock) < ms)
		for (int i = 0; i < 500000; i++)
			sink = sink * 6364136223846793005u + 1442695040888963407u;
}

static bool spin(unsigned long ms)
{
	compute(CLOCK_PROCESS_CPUTIME_ID, ms);
	return true;
}

static void *compute_aside(void *ms)
{
	compute(CLOCK_THREAD_CPUTIME_ID, *(const unsigned long *)ms);
	return NULL;
}

/* The main thread only waits for them. */
static bool run_threads(const unsigned long *ms, size_t count)
{
	pthread_t threads[8];

	for (size_t i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, compute_aside, (void *)&ms[i]) != 0)
			return false;
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return true;
}

/* Beside the threads, and before them, a process that does less than they do together. */
static bool run_team(unsigned long ms)
{
	const unsigned long parts[] = { ms, ms / 2, ms / 4 };
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(!spin(ms / 2));
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && run_threads(parts, 3);
}

/* Cheap system calls until @ms are used, most of them the kernel's. */
static bool call(unsigned long ms)
{
	while (now_ms(CLOCK_PROCESS_CPUTIME_ID) < ms)
		for (int i = 0; i < 2000; i++)
			syscall(SYS_getppid);
	return true;
}

static bool touch(size_t bytes)
{
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	if (memory == MAP_FAILED)
		return false;
	memset(memory, 'm', bytes);
	return true;
}

/* A child that touches memory and ends with it mapped: freeing it is part of its end. */
static bool run_child(size_t bytes)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(!touch(bytes));
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool fork_storm(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		if (!run_child(CHILD_BYTES))
			return false;
	return true;
}

static bool fill_memory(unsigned long mib)
{
	return run_child(mib * MIB);
}

static const struct mode {
	const char *name;
	bool (*run)(unsigned long amount);
	const char *help;
} modes[] = {
	/* clang-format off */
	{ "spin",   spin,        "N ms of processor time by arithmetic" },
	{ "team",   run_team,    "threads that compute for N, N/2 and N/4 ms, after a child that does for N/2 ms" },
	{ "calls",  call,        "N ms of processor time by system calls" },
	{ "forks",  fork_storm,  "N short children that touch 4 MiB each" },
	{ "memory", fill_memory, "one child that touches N MiB and ends" },
	/* clang-format on */
};

/* A sum of this process and of the children that it waited for. */
struct usage {
	uint64_t user_us, system_us, minor_faults, major_faults, voluntary, involuntary;
	uint64_t peak_kib; /* of the largest process */
};

static uint64_t us_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static void add_usage(struct usage *usage, int who)
{
	struct rusage r;

	getrusage(who, &r);
	usage->user_us += us_of(r.ru_utime);
	usage->system_us += us_of(r.ru_stime);
	usage->minor_faults += (uint64_t)r.ru_minflt;
	usage->major_faults += (uint64_t)r.ru_majflt;
	usage->voluntary += (uint64_t)r.ru_nvcsw;
	usage->involuntary += (uint64_t)r.ru_nivcsw;
	usage->peak_kib = MAX(usage->peak_kib, (uint64_t)r.ru_maxrss);
}

static bool publish(const char *path, const char *mode, unsigned long amount)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
	struct usage u = {};

	if (fd < 0)
		return false;
	add_usage(&u, RUSAGE_SELF);
	add_usage(&u, RUSAGE_CHILDREN);
	dprintf(fd,
		"{\n\t\"schema\": \"jobmeter.burn/1\",\n\t\"mode\": \"%s\",\n\t\"amount\": %lu,\n"
		"\t\"user_us\": %ju,\n\t\"system_us\": %ju,\n"
		"\t\"minor_faults\": %ju,\n\t\"major_faults\": %ju,\n"
		"\t\"voluntary_switches\": %ju,\n\t\"involuntary_switches\": %ju,\n"
		"\t\"peak_kib\": %ju\n}\n",
		mode, amount, (uintmax_t)u.user_us, (uintmax_t)u.system_us,
		(uintmax_t)u.minor_faults, (uintmax_t)u.major_faults, (uintmax_t)u.voluntary,
		(uintmax_t)u.involuntary, (uintmax_t)u.peak_kib);
	return close(fd) == 0;
}

static int refuse(void)
{
	dprintf(STDERR_FILENO, "usage: burn MODE N OUTPUT\n");
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		dprintf(STDERR_FILENO, "  %-8s%s\n", modes[i].name, modes[i].help);
	return 2;
}

int main(int argc, char **argv)
{
	unsigned long amount = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;

	if (!amount)
		return refuse();
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (strcmp(modes[i].name, argv[1]) == 0)
			return !(modes[i].run(amount) && publish(argv[3], argv[1], amount));
	return refuse();
}
