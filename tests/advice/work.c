/* SPDX-License-Identifier: MIT */
/*
 * work - programs whose cause of trouble is known, one a mode: work MODE [ARGUMENT...].
 *
 * Each does one thing for some seconds; the table of cases says what is to be told of it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64

static volatile uint64_t sink;

static void must(int is_so, const char *what)
{
	if (is_so)
		return;
	perror(what);
	exit(2);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void compute_ms(double ms)
{
	double end = now() + ms / 1e3;
	uint64_t x = 1;

	while (now() < end) {
		for (int i = 0; i < 2000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
	}
	sink = x;
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static double seconds(char **argv)
{
	return atof(argv[0]);
}

/* ---- threads ---- */

static double until; /* when threads end */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;

static void start_and_join(int count, void *(*body)(void *))
{
	pthread_t threads[THREADS_MAX];

	for (long i = 0; i < count; i++)
		must(pthread_create(&threads[i], NULL, body, (void *)i) == 0, "pthread_create");
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void *burn_body(void *number)
{
	(void)number;
	compute_ms((until - now()) * 1e3);
	return NULL;
}

/* burn SECONDS THREADS */
static void burn(char **argv)
{
	until = now() + seconds(argv);
	start_and_join(atoi(argv[1]), burn_body);
}

/* onecpu SECONDS THREADS: bound to the first of the CPUs that it may use. */
static void one_cpu(char **argv)
{
	cpu_set_t all, one;
	int cpu = 0;

	sched_getaffinity(0, sizeof(all), &all);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	burn(argv);
}

static void *idle_body(void *number)
{
	(void)number;
	pthread_mutex_lock(&lock);
	pthread_cond_wait(&condition, &lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* pool SECONDS THREADS: the main thread computes, and the pool has nothing to do. */
static void pool(char **argv)
{
	pthread_t threads[THREADS_MAX];
	int count = atoi(argv[1]);

	for (int i = 0; i < count; i++)
		must(pthread_create(&threads[i], NULL, idle_body, NULL) == 0, "pthread_create");
	compute_ms(seconds(argv) * 1e3);
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void *fight_body(void *number)
{
	(void)number;
	while (now() < until) {
		pthread_mutex_lock(&lock);
		compute_ms(2);
		pthread_mutex_unlock(&lock);
		compute_ms(0.05);
	}
	return NULL;
}

/* fight SECONDS THREADS: nearly all is done under one lock. */
static void fight(char **argv)
{
	until = now() + seconds(argv);
	start_and_join(atoi(argv[1]), fight_body);
}

static void *march_body(void *number)
{
	for (int i = 0; i < 200; i++) {
		compute_ms(number ? 6 : 30);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* march THREADS: the first one has five times the work of the others before each barrier. */
static void march(char **argv)
{
	pthread_barrier_init(&barrier, NULL, (unsigned int)atoi(argv[0]));
	start_and_join(atoi(argv[0]), march_body);
}

static void *turns_body(void *number)
{
	for (long i = 0; i < 200; i++) {
		compute_ms(i % 2 == (long)number ? 30 : 3);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* turns: of two threads always the other one has the work; both have as much in the end. */
static void turns(char **argv)
{
	(void)argv;
	pthread_barrier_init(&barrier, NULL, 2);
	start_and_join(2, turns_body);
}

static void *part_body(void *number)
{
	compute_ms(number ? 1500 : 6500);
	return NULL;
}

/* parts THREADS: one has most of the work. */
static void parts(char **argv)
{
	start_and_join(atoi(argv[0]), part_body);
}

static void *yield_body(void *number)
{
	if (!number) {
		compute_ms((until - now()) * 1e3);
		return NULL;
	}
	while (now() < until)
		sched_yield();
	return NULL;
}

/* yield SECONDS: one computes, and the other asks again and again whether it is done. */
static void yield(char **argv)
{
	until = now() + seconds(argv);
	start_and_join(2, yield_body);
}

/* ---- processes ---- */

/* forks SECONDS PROCESSES */
static void forks(char **argv)
{
	until = now() + seconds(argv);
	for (int i = atoi(argv[1]); i > 0; i--) {
		if (fork() == 0) {
			burn_body(NULL);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

/* flock FILE SECONDS PROCESSES: a lock of a file around 5 ms of work. */
static void file_lock(char **argv)
{
	until = now() + seconds(argv + 1);
	for (int i = atoi(argv[2]); i > 0; i--) {
		if (fork() == 0) {
			int fd = open(argv[0], O_CREAT | O_RDWR, 0600);

			while (now() < until) {
				flock(fd, LOCK_EX);
				compute_ms(5);
				flock(fd, LOCK_UN);
			}
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

/* held FILE SECONDS: a process sleeps with a lock that the other one wants. */
static void held(char **argv)
{
	int fd = open(argv[0], O_CREAT | O_RDWR, 0600);

	if (fork() == 0) {
		fd = open(argv[0], O_RDWR);
		flock(fd, LOCK_EX);
		sleep_ms((long)(seconds(argv + 1) * 1e3));
		_exit(0);
	}
	sleep_ms(100);
	flock(fd, LOCK_EX);
	wait(NULL);
}

/* segv, abort */
static void fault(char **argv)
{
	(void)argv;
	raise(SIGSEGV);
}

static void give_up(char **argv)
{
	(void)argv;
	abort();
}

/* ---- files ---- */

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	must(fd >= 0, path);
	return fd;
}

/* read FILE SIZE SECONDS [random]: over and over, or at random places. */
static void read_file(char **argv)
{
	int fd = open_file(argv[0], O_RDONLY);
	size_t size = strtoul(argv[1], NULL, 10);
	char *buffer = malloc(size);
	struct stat st;
	uint64_t x = 88172645463325252u;
	double end = now() + seconds(argv + 2);

	fstat(fd, &st);
	while (now() < end) {
		for (int i = 0; i < 64; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			if (argv[3])
				lseek(fd, (off_t)(x % (uint64_t)st.st_size) & ~4095L, SEEK_SET);
			if (read(fd, buffer, size) <= 0)
				lseek(fd, 0, SEEK_SET);
		}
	}
	free(buffer);
	close(fd);
}

/* write FILE SIZE SECONDS [sync N | direct] */
static void write_file(char **argv)
{
	int is_direct = argv[3] && strcmp(argv[3], "direct") == 0;
	int fd = open_file(argv[0], O_WRONLY | O_CREAT | O_TRUNC | (is_direct ? O_DIRECT : 0));
	size_t size = strtoul(argv[1], NULL, 10);
	unsigned long every = argv[3] && !is_direct ? strtoul(argv[4], NULL, 10) : 0;
	double end = now() + seconds(argv + 2);
	char *buffer = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);

	memset(buffer, 'x', size);
	for (unsigned long i = 1; now() < end; i++) {
		must(write(fd, buffer, size) == (ssize_t)size, "write");
		if (every && i % every == 0)
			fsync(fd);
		if (i * size % (1UL << 30) == 0)
			lseek(fd, 0, SEEK_SET);
	}
	free(buffer);
	close(fd);
}

/* touch DIR SECONDS: makes, asks for and removes files. */
static void touch(char **argv)
{
	double end = now() + seconds(argv + 1);
	struct stat st;
	char path[4096];

	for (unsigned long i = 0; now() < end; i++) {
		snprintf(path, sizeof(path), "%s/%lu", argv[0], i % 500);
		close(open_file(path, O_CREAT | O_WRONLY));
		stat(path, &st);
		unlink(path);
	}
}

/* small DIR SECONDS: opens 2,000 files of 100 bytes over and over. */
static void small(char **argv)
{
	double end;
	char path[4096], buffer[4096];

	for (int i = 0; i < 2000; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%d", argv[0], i);
		fd = open_file(path, O_CREAT | O_WRONLY);
		must(write(fd, path, 100) == 100, "write");
		close(fd);
	}
	end = now() + seconds(argv + 1);
	for (int i = 0; now() < end; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%d", argv[0], i % 2000);
		fd = open_file(path, O_RDONLY);
		sink += (uint64_t)read(fd, buffer, sizeof(buffer));
		close(fd);
	}
}

/* search SECONDS: opens what is not there. */
static void search(char **argv)
{
	double end = now() + seconds(argv);
	char path[64];

	for (unsigned long i = 0; now() < end; i++) {
		snprintf(path, sizeof(path), "/usr/lib/nowhere/%lu.so", i % 100);
		sink += (uint64_t)open(path, O_RDONLY);
	}
}

/* ---- memory ---- */

static void fill(size_t mib)
{
	char *memory = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	must(memory != MAP_FAILED, "mmap");
	for (size_t i = 0; i < mib << 20; i += 4096)
		memory[i] = 1;
}

/* hog MIB SECONDS: fills it, and computes. */
static void hog(char **argv)
{
	fill(strtoul(argv[0], NULL, 10));
	compute_ms(seconds(argv + 1) * 1e3);
}

/* hogs MIB PROCESSES: each fills as much, all at once. */
static void hogs(char **argv)
{
	for (int i = atoi(argv[1]); i > 0; i--) {
		if (fork() == 0) {
			for (int k = 0; k < 20; k++) {
				fill(strtoul(argv[0], NULL, 10) / 20);
				sleep_ms(50);
			}
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

/* map FILE SECONDS: touches pages of a mapped file at random. */
static void map(char **argv)
{
	int fd = open_file(argv[0], O_RDONLY);
	double end = now() + seconds(argv + 1);
	uint64_t x = 88172645463325252u;
	struct stat st;
	char *memory;

	fstat(fd, &st);
	memory = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	must(memory != MAP_FAILED, "mmap");
	madvise(memory, (size_t)st.st_size, MADV_RANDOM);
	while (now() < end) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		sink += (uint64_t)memory[x % (uint64_t)st.st_size];
	}
}

/* ---- waits ---- */

/* events SECONDS: a server to which nobody comes. */
static void events(char **argv)
{
	int epoll = epoll_create1(0);
	struct epoll_event event;

	epoll_wait(epoll, &event, 1, (int)(seconds(argv) * 1e3));
}

static int listen_here(struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t length = sizeof(*at);

	*at = (struct sockaddr_in){ .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	must(bind(fd, (struct sockaddr *)at, sizeof(*at)) == 0 && listen(fd, 128) == 0, "listen");
	getsockname(fd, (struct sockaddr *)at, &length);
	return fd;
}

/* ask SECONDS MS: asks a server that takes so long to answer, over and over. */
static void ask(char **argv)
{
	struct sockaddr_in at;
	int server = listen_here(&at), fd;
	double end = now() + seconds(argv);
	char byte = 0;

	if (fork() == 0) {
		fd = accept(server, NULL, NULL);
		while (recv(fd, &byte, 1, 0) == 1) {
			sleep_ms(atol(argv[1]));
			send(fd, &byte, 1, MSG_NOSIGNAL);
		}
		_exit(0);
	}
	fd = socket(AF_INET, SOCK_STREAM, 0);
	must(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "connect");
	while (now() < end) {
		send(fd, &byte, 1, MSG_NOSIGNAL);
		recv(fd, &byte, 1, 0);
	}
	close(fd);
	wait(NULL);
}

/* rank MS STEPS: computes so long in each step. */
static void rank(char **argv)
{
	for (int i = atoi(argv[1]); i > 0; i--)
		compute_ms(atof(argv[0]));
}

static const struct {
	const char *name;
	void (*run)(char **argv);
} modes[] = {
	{ "burn", burn },     { "onecpu", one_cpu },  { "pool", pool },	       { "fight", fight },
	{ "march", march },   { "turns", turns },     { "parts", parts },      { "yield", yield },
	{ "forks", forks },   { "flock", file_lock }, { "held", held },	       { "segv", fault },
	{ "abort", give_up }, { "read", read_file },  { "write", write_file }, { "touch", touch },
	{ "small", small },   { "search", search },   { "hog", hog },	       { "hogs", hogs },
	{ "map", map },	      { "events", events },   { "ask", ask },	       { "rank", rank },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]) == 0) {
			modes[i].run(argv + 2);
			return 0;
		}
	}
	fprintf(stderr, "work: no such mode\n");
	return 2;
}
