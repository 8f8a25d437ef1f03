/* SPDX-License-Identifier: MIT */
/*
 * jobwork - a part of a job that knows what it did: writes and reads files on some mounts, from
 * several processes, and appends to a ledger what it did, one line for each mount and operation.
 *
 * The ledger lies on another mount.  Each call is made once, and noted by what the kernel gave
 * back; opens and closes of the ledger, and the program's own start, touch none of the mounts that
 * are worked on. Static, so that no loader opens files.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/macro.h"

#define MOUNTS_MAX 4
#define CHILDREN_MAX 64
#define DIRECT_BYTES 4096
#define NASTY "\"},\n\\\xff{x=\"\r"

enum op { READ, WRITE, CREATE, OPEN, CLOSE, FSYNC, OP_COUNT };

static const char *const op_names[OP_COUNT] = {
	"read", "write", "create", "open", "close", "fsync"
};

static const unsigned int sizes[] = { 1, 127, 1009, 4093, 8191, 65521 };
static const unsigned int calls[] = { 11, 101, 13, 503, 29, 7 };

struct count {
	uint64_t bytes, calls;
};

struct work {
	const char *ledger, *job, *step;
	char *const *mounts;
	unsigned int mount_count, children, seed, sleep_ms, rounds;
	bool nasty;
	/* [children + 1][mounts]; shared, and each process writes in its own */
	struct count (*counts)[MOUNTS_MAX][OP_COUNT];
};

/* One process' work on one mount. */
struct place {
	struct count *counts;
	char path[4096];
	bool failed;
};

static long note(struct place *p, enum op op, long result)
{
	p->counts[op].calls++;
	if (result < 0)
		p->failed = true;
	else if (op == READ || op == WRITE)
		p->counts[op].bytes += (uint64_t)result;
	return result;
}

static void write_file(struct place *p, char *buffer, unsigned int size, unsigned int count)
{
	int fd = open(p->path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	note(p, CREATE, fd);
	if (fd < 0)
		return;
	for (unsigned int i = 0; i < count; i++)
		note(p, WRITE, write(fd, buffer, size));
	note(p, FSYNC, fsync(fd));
	note(p, CLOSE, close(fd));
}

/* To its end: the last read gives 0 bytes and is a call as well. */
static void read_file(struct place *p, char *buffer, unsigned int size, int flags)
{
	int fd = open(p->path, O_RDONLY | O_CLOEXEC | flags);

	if (fd < 0 && flags & O_DIRECT && errno == EINVAL)
		return; /* no such thing on this file system, and an open that failed: not compared
			 */
	note(p, OPEN, fd);
	if (fd < 0)
		return;
	while (note(p, READ, read(fd, buffer, size)) > 0)
		;
	note(p, CLOSE, close(fd));
}

/* Files of each process and round are its own; their order and sizes follow from the seed. */
static bool work_on(const struct work *w, unsigned int child, unsigned int mount)
{
	static char buffer[65536] __attribute__((aligned(4096)));
	struct place p = { .counts = w->counts[child][mount] };

	for (unsigned int round = 0; round < w->rounds; round++) {
		unsigned int kind = (w->seed + 5 * child + 3 * mount + round) % ARRAY_SIZE(sizes);

		snprintf(p.path, sizeof(p.path), "%s/%d.%u%s", w->mounts[mount], getpid(), round,
			 w->nasty ? NASTY : "");
		memset(buffer, 'j', sizeof(buffer));
		write_file(&p, buffer, sizes[kind], calls[kind]);
		read_file(&p, buffer, sizes[kind] + 2, 0);
		read_file(&p, buffer, DIRECT_BYTES, O_DIRECT);
		unlink(p.path);
	}
	return !p.failed;
}

static void sleep_ms(unsigned int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static bool work_everywhere(const struct work *w, unsigned int child)
{
	bool is_well = true;

	if (w->nasty)
		prctl(PR_SET_NAME, NASTY);
	for (unsigned int mount = 0; mount < w->mount_count; mount++)
		is_well &= work_on(w, child, mount);
	sleep_ms(w->sleep_ms);
	return is_well;
}

static bool work_with_children(const struct work *w)
{
	bool is_well = true;
	int status;

	for (unsigned int child = 1; child <= w->children; child++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(!work_everywhere(w, child));
		is_well &= pid > 0;
	}
	is_well &= work_everywhere(w, 0);
	while (wait(&status) > 0)
		is_well &= status == 0;
	return is_well;
}

/* All lines by one write, so that steps that end together do not mix theirs. */
static bool append(const struct work *w)
{
	char path[4096], text[MOUNTS_MAX * OP_COUNT * 512];
	size_t used = 0;
	int fd;

	for (unsigned int mount = 0; mount < w->mount_count; mount++)
		for (int op = 0; op < OP_COUNT; op++) {
			struct count sum = {};

			for (unsigned int child = 0; child <= w->children; child++) {
				sum.bytes += w->counts[child][mount][op].bytes;
				sum.calls += w->counts[child][mount][op].calls;
			}
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 "{\"job\": \"%.32s\", \"step\": \"%.32s\", "
						 "\"mount\": \"%.256s\", \"op\": \"%s\", "
						 "\"bytes\": %ju, \"calls\": %ju}\n",
						 w->job, w->step, w->mounts[mount], op_names[op],
						 (uintmax_t)sum.bytes, (uintmax_t)sum.calls);
		}
	snprintf(path, sizeof(path), "%s/%.32s.%u", w->ledger, w->job, geteuid());
	fd = open(path, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0644);
	return fd >= 0 && write(fd, text, used) == (ssize_t)used && close(fd) == 0;
}

static const char *own_or(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value ? value : otherwise;
}

static unsigned int number(const char *text)
{
	return (unsigned int)strtoul(text, NULL, 10);
}

static bool parse(int argc, char **argv, struct work *w)
{
	static const struct option options[] = {
		/* clang-format off */
		{ "ledger",   required_argument, NULL, 'l' }, /* a folder */
		{ "job",      required_argument, NULL, 'j' }, /* whose it is, if the environment lies */
		{ "children", required_argument, NULL, 'c' },
		{ "rounds",   required_argument, NULL, 'r' },
		{ "seed",     required_argument, NULL, 's' },
		{ "sleep-ms", required_argument, NULL, 'm' },
		{ "nasty",    no_argument,       NULL, 'n' }, /* names of files and processes */
		{},
		/* clang-format on */
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (c) {
		case 'l':
			w->ledger = optarg;
			break;
		case 'j':
			w->job = optarg;
			break;
		case 'c':
			w->children = number(optarg);
			break;
		case 'r':
			w->rounds = number(optarg);
			break;
		case 's':
			w->seed = number(optarg);
			break;
		case 'm':
			w->sleep_ms = number(optarg);
			break;
		case 'n':
			w->nasty = true;
			break;
		default:
			return false;
		}
	}
	w->mounts = argv + optind;
	w->mount_count = (unsigned int)(argc - optind);
	return w->ledger && w->mount_count >= 1 && w->mount_count <= MOUNTS_MAX &&
	       w->children <= CHILDREN_MAX;
}

int main(int argc, char **argv)
{
	struct work w = { .rounds = 1,
			  .job = own_or("SLURM_JOB_ID", "none"),
			  .step = own_or("SLURM_STEP_ID", "batch") };
	bool is_well;

	if (!parse(argc, argv, &w)) {
		dprintf(STDERR_FILENO, "usage: jobwork --ledger FOLDER [--job ID] [--children N] "
				       "[--rounds N] [--seed N] "
				       "[--sleep-ms N] [--nasty] MOUNT...\n");
		return 2;
	}
	w.counts = mmap(NULL, (w.children + 1) * sizeof(*w.counts), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w.counts == MAP_FAILED)
		return 1;
	is_well = work_with_children(&w);
	return !(append(&w) && is_well);
}
