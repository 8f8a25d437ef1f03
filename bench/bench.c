/* SPDX-License-Identifier: MIT */
/*
 * jobmeter-bench - what jobmeter costs, against nothing, a bpftrace one-liner, strace -c, a BPF
 * program of the usual design, and those who measure switches.
 *
 * All take turns within one run, each between two measurements of nothing; what counts is the
 * difference to their mean.  A contender that did not count what was done fails the run.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/loop.h>

#include "basic/cleanup.h"
#include "contender.h"
#include "basic/error.h"
#include "cgroup/group.h"
#include "basic/macro.h"
#include "page.h"
#include "basic/parse.h"
#include "samples.h"
#include "startup.h"
#include "table.h"
#include "tool.h"
#include "worker.h"

#define EXIT_SKIP 77
#define RUNS_MIN 10000 /* of a program, for its mean to mean something */
#define DEVICE_BYTES (1 << 20)
#define TRIES_MAX 5 /* where others' BPF programs disturb */

struct options {
	int repetitions;
	unsigned int chunks;
	int startups;
	unsigned int works;
	unsigned int entries;
	const struct part *only; /* NULL: all */
	const char *jobmeter, *update;
};

/* What has a table of its own. */
struct part {
	const char *name;
	const char *mark; /* of its place on the page */
	unsigned int entries, works;
	void (*print)(struct results *r, FILE *out);
	bool has_startups, has_programs;
	bool has_requests; /* what programs take of a request to a block device */
};

#define SWITCH_ONLY (1u << ENTRY_T1 | 1u << ENTRY_SWITCH_TOOLS | 1u << ENTRY_SWITCH_REFERENCE)
#define SWITCH_ENTRIES (SWITCH_ONLY | 1u << ENTRY_T0 | 1u << ENTRY_T2 | 1u << ENTRY_ALL)
#define SWITCH_WORKS (1u << WORK_SWITCH | 1u << WORK_PIPE | 1u << WORK_FORK | 1u << WORK_PREAD_1)

#define SYSCALL_ONLY (1u << ENTRY_SYSCALLS | 1u << ENTRY_SYSCALLS_ALL | 1u << ENTRY_SYSCOUNT)
#define SYSCALL_ENTRIES (SYSCALL_ONLY | 1u << ENTRY_ALL | 1u << ENTRY_STRACE)
#define SYSCALL_WORKS                                                                            \
	(1u << WORK_GETPPID_1 | 1u << WORK_GETPPID_2 | 1u << WORK_PREAD_1 | 1u << WORK_PREAD_2 | \
	 1u << WORK_PIPE)

#define DEVICE_ONLY (1u << ENTRY_BLOCK | 1u << ENTRY_BIOLATENCY)
#define DEVICE_ENTRIES (1u << ENTRY_T2 | 1u << ENTRY_ALL | 1u << ENTRY_BPFTRACE)
#define DEVICE_WORKS (1u << WORK_SEND | 1u << WORK_DIRECT)

/* clang-format off */
static const struct part parts[] = {
	{ "calls",  "make bench",           ~(SWITCH_ONLY | SYSCALL_ONLY | DEVICE_ONLY), ~DEVICE_WORKS, table_print_calls, true, true },
	{ "switch", "make bench: switches", SWITCH_ENTRIES, SWITCH_WORKS, table_print_switches, false, false },
	{ "syscalls", "make bench: syscalls", SYSCALL_ENTRIES, SYSCALL_WORKS, table_print_syscalls, false, false },
	{ "devices", "make bench: devices", DEVICE_ENTRIES, 1u << WORK_SEND, table_print_devices, false, false, true },
};
/* clang-format on */

struct bench {
	const struct options *options;
	const struct part *part;
	unsigned int refused; /* entries that do not run on this machine */
	struct hierarchy hierarchy;
	struct group *group;
	struct worker *worker;
	char dir[64];
	char device[32]; /* "": none can be had */
	int device_fd; /* keeps it */
	bool is_mounted;
	struct ring ring;
	struct results results;
	double added[ENTRY_COUNT][WORK_COUNT]; /* of the repetition; NAN: none */
};

/* Calls a chunk, of some 0.2 ms: so short that most fit into one slice of the scheduler's, whoever
 * else wants the CPU. */
static const unsigned int chunk_calls[WORK_COUNT] = {
	[WORK_PREAD_1] = 500,	 [WORK_PREAD_2] = 500, [WORK_PREAD_LAST] = 500,
	[WORK_WRITE_1] = 400,	 [WORK_WRITE_2] = 400, [WORK_GETPPID_1] = 1500,
	[WORK_GETPPID_2] = 1500, [WORK_SWITCH] = 100,  [WORK_PIPE] = 100,
	[WORK_FORK] = 2,	 [WORK_STAT] = 300,    [WORK_OPEN] = 150,
	[WORK_ABSENT] = 300,	 [WORK_UNLINK] = 40,   [WORK_NEW] = 256,
	[WORK_COLD] = 20,	 [WORK_SEND] = 50,     [WORK_DIRECT] = 20,
};

/* BPF programs that may hook what we measure, whoever's they are. */
static int count_programs(void)
{
	int count = 0;

	for (__u32 id = 0; bpf_prog_get_next_id(id, &id) == 0;) {
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);
		_cleanup_close_ int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
			continue;
		count += info.type == BPF_PROG_TYPE_TRACING || info.type == BPF_PROG_TYPE_KPROBE ||
			 info.type == BPF_PROG_TYPE_TRACEPOINT ||
			 info.type == BPF_PROG_TYPE_RAW_TRACEPOINT ||
			 info.type == BPF_PROG_TYPE_PERF_EVENT;
	}
	return count;
}

/* The kernel frees programs a while after their last user. */
static int settle_programs(int wanted)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int count = count_programs();

	for (int i = 0; i < 50 && count != wanted; i++) {
		nanosleep(&pause, NULL);
		count = count_programs();
	}
	return count;
}

static int run_works(struct bench *b, unsigned int works, unsigned int slowness,
		     double ret[WORK_COUNT], struct error *err)
{
	for (int w = 0; w < WORK_COUNT; w++) {
		int r;

		ret[w] = NAN;
		if (!(works & b->part->works & b->options->works & 1u << w))
			continue;
		r = worker_run(b->worker, (enum work)w, MAX(chunk_calls[w] / slowness, 2u),
			       b->options->chunks, &ret[w], err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* One contender between two measurements of nothing.  *ret_is_calm: nobody's BPF programs came or
 * went meanwhile; if not, nothing is kept. */
static int run_contender(struct bench *b, const struct contender *c, bool *ret_is_calm,
			 struct error *err)
{
	double before[WORK_COUNT], with[WORK_COUNT], after[WORK_COUNT];
	int programs = settle_programs(0);
	struct contest contest;
	int r = run_works(b, c->works, 1, before, err);

	if (r >= 0)
		r = contest_start(c, &b->ring, &contest, err);
	if (r < 0)
		return r;
	r = run_works(b, c->works, c->slowness, with, err);
	if (r < 0)
		return r;
	r = contest_end(&contest, err);
	if (r < 0)
		return r;
	*ret_is_calm = settle_programs(programs) == programs;
	r = run_works(b, c->works, 1, after, err);
	if (r < 0)
		return r;
	*ret_is_calm = *ret_is_calm && count_programs() == programs;
	for (int w = 0; *ret_is_calm && w < WORK_COUNT; w++) {
		if (isnan(with[w]))
			continue;
		if (c->works & 1u << w)
			b->added[c->entry][w] = with[w] - (before[w] + after[w]) / 2;
		samples_add(&b->results.bare[w], before[w]);
		samples_add(&b->results.bare[w], after[w]);
	}
	return 0;
}

static int run_until_calm(struct bench *b, const struct contender *c, struct error *err)
{
	for (int i = 0; i < TRIES_MAX; i++) {
		bool is_calm = false;
		int r = run_contender(b, c, &is_calm, err);

		if (r < 0)
			return r;
		if (is_calm)
			return 0;
		b->results.dropped++;
	}
	return 0;
}

static void keep_repetition(struct bench *b)
{
	struct results *r = &b->results;

	for (int e = 0; e < ENTRY_COUNT; e++) {
		for (int w = 0; w < WORK_COUNT; w++) {
			double added = b->added[e][w];

			if (!isnan(added))
				samples_add(&r->added[e][w], added);
		}
	}
	for (int i = 0; i < RATIO_COUNT; i++) {
		for (int w = 0; w < WORK_COUNT; w++) {
			double ratio = b->added[ratio_sides[i].of][w] /
				       b->added[ratio_sides[i].to][w];

			if (!isnan(ratio))
				samples_add(&r->ratios[i][w], ratio);
		}
	}
	r->repetitions++;
}

static bool is_missing(struct bench *b, const char *program)
{
	struct results *r = &b->results;

	if (!program || tool_exists(program))
		return false;
	for (int i = 0; i < r->missing_count; i++) {
		if (strcmp(r->missing[i], program) == 0)
			return true;
	}
	r->missing[r->missing_count++] = program;
	fprintf(stderr, "jobmeter-bench: skipped: %s is not installed\n", program);
	return true;
}

static bool is_wanted(struct bench *b, const struct contender *c)
{
	return b->options->entries & b->part->entries & ~b->refused & 1u << c->entry &&
	       b->options->works & b->part->works & c->works && !is_missing(b, c->needs);
}

/* The machine does not run it, which says why. */
static void refuse(struct bench *b, const struct contender *c, struct error *err)
{
	fprintf(stderr, "jobmeter-bench: skipped: %s\n", err->text);
	b->refused |= 1u << c->entry;
	b->results.refused = entry_name(c->entry);
	*err = (struct error){};
}

/* All contenders once, each repetition beginning with another. */
static int run_repetition(struct bench *b, int number, struct error *err)
{
	for (int e = 0; e < ENTRY_COUNT; e++) {
		for (int w = 0; w < WORK_COUNT; w++)
			b->added[e][w] = NAN;
	}
	for (int i = 0; i < contender_count; i++) {
		const struct contender *c = &contenders[(i + number) % contender_count];
		int r;

		if (!is_wanted(b, c))
			continue;
		r = run_until_calm(b, c, err);
		if (r == -EOPNOTSUPP)
			refuse(b, c, err);
		else if (r < 0)
			return r;
	}
	keep_repetition(b);
	return 0;
}

struct teller {
	struct results *results;
	const char *owner;
};

static void add_program(const char *program, uint64_t runs, uint64_t ns, void *data)
{
	struct teller *teller = data;
	struct results *r = teller->results;
	struct program_cost *cost;

	if (runs < RUNS_MIN || r->program_count == PROGRAMS_MAX)
		return;
	cost = &r->programs[r->program_count++];
	cost->owner = teller->owner;
	snprintf(cost->name, sizeof(cost->name), "%s", program);
	cost->ns = (double)ns / (double)runs;
}

/* By the kernel's own statistics, which add to each run what reading the clock costs. */
static int run_programs(struct bench *b, struct error *err)
{
	_cleanup_close_ int statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);

	for (int i = 0; i < contender_count && statistics >= 0; i++) {
		const struct contender *c = &contenders[i];
		struct teller teller = { &b->results, entry_name(c->entry) };
		double ns[WORK_COUNT];
		struct contest contest;
		int r;

		if ((c->entry != ENTRY_ALL && c->entry != ENTRY_REFERENCE) ||
		    !(b->options->entries & 1u << c->entry))
			continue;
		r = contest_start(c, &b->ring, &contest, err);
		if (r >= 0)
			r = run_works(b, 1u << WORK_PREAD_2, 1, ns, err);
		if (r < 0)
			return r;
		contest_tell_programs(&contest, add_program, &teller);
		r = contest_end(&contest, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- requests to a block device ---- */

#define REQUEST_CHUNKS 96 /* of a measurement */

/* Between a request and its end a kernel's thread works, on any CPU: so wall time would say little,
 * and what the programs took is asked of the kernel. */
static void add_of_requests(const char *program, uint64_t runs, uint64_t ns, void *data)
{
	static const char *const beginnings[] = { "note_bio", "count_bio", "block_rq_" };

	(void)runs;
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		if (strncmp(program, beginnings[i], strlen(beginnings[i])) == 0)
			*(uint64_t *)data += ns;
	}
}

static int measure_requests(struct bench *b, const struct contender *c, double *ret_ns,
			    struct error *err)
{
	uint64_t before = worker_deeds(b->worker).requests, took = 0;
	struct contest contest;
	double wall_ns;
	int r = contest_start(c, &b->ring, &contest, err);

	if (r >= 0)
		r = worker_run(b->worker, WORK_DIRECT, chunk_calls[WORK_DIRECT], REQUEST_CHUNKS,
			       &wall_ns, err);
	if (r < 0)
		return r;
	contest_tell_programs(&contest, add_of_requests, &took);
	*ret_ns = (double)took / (double)(worker_deeds(b->worker).requests - before);
	return contest_end(&contest, err);
}

/* Both once, each repetition beginning with the other. */
static int repeat_requests(struct bench *b, int number, struct error *err)
{
	double ns[ENTRY_COUNT];

	for (int e = 0; e < ENTRY_COUNT; e++)
		ns[e] = NAN;
	for (int i = 0; i < contender_count; i++) {
		const struct contender *c = &contenders[number % 2 ? contender_count - 1 - i : i];
		int r;

		if (!(c->works & 1u << WORK_DIRECT) ||
		    !(1u << c->entry & DEVICE_ONLY & b->options->entries & ~b->refused) ||
		    is_missing(b, c->needs))
			continue;
		r = measure_requests(b, c, &ns[c->entry], err);
		if (r == -EOPNOTSUPP)
			refuse(b, c, err);
		else if (r < 0)
			return r;
		if (!isnan(ns[c->entry]))
			samples_add(&b->results.requests[c->entry], ns[c->entry]);
	}
	if (!isnan(ns[ENTRY_BLOCK] / ns[ENTRY_BIOLATENCY]))
		samples_add(&b->results.request_ratio, ns[ENTRY_BLOCK] / ns[ENTRY_BIOLATENCY]);
	return 0;
}

static int run_requests(struct bench *b, struct error *err)
{
	_cleanup_close_ int statistics = *b->device ? bpf_enable_stats(BPF_STATS_RUN_TIME) : -EBADF;
	int r = 0;

	for (int i = 0; r >= 0 && statistics >= 0 && i < b->options->repetitions; i++)
		r = repeat_requests(b, i, err);
	return r;
}

/* Does that program run commands and pass on their exit code? */
static bool can_run(const char *jobmeter)
{
	char command[4096];
	int status;

	snprintf(command, sizeof(command), "'%s' run -- sh -c 'exit 7' >/dev/null 2>&1", jobmeter);
	status = system(command);
	return WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

static void run_startups(struct bench *b)
{
	struct results *r = &b->results;
	const char *jobmeter = b->options->jobmeter;

	r->startups[r->startup_count++] = (struct startup){ "true", { "true" } };
	if (can_run(jobmeter))
		r->startups[r->startup_count++] = (struct startup){
			"jobmeter run -- true", { jobmeter, "run", "--", "true" }
		};
	else
		fprintf(stderr, "jobmeter-bench: skipped: '%s' does not run commands\n", jobmeter);
	if (!is_missing(b, "strace"))
		r->startups[r->startup_count++] =
			(struct startup){ "strace -c true", { "strace", "-c", "-f", "true" } };
	if (!is_missing(b, "bpftrace"))
		r->startups[r->startup_count++] = (struct startup){
			"bpftrace -e ... -c true",
			{ "bpftrace", "-e", contenders[ENTRY_BPFTRACE].program, "-c", "/bin/true" },
		};
	startup_measure(r->startups, r->startup_count, b->options->startups);
}

/* Mounts that nobody else sees: the files', and those that bpftrace looks for. */
static int make_mounts(struct bench *b, struct error *err)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return error_set_errno(err, errno, "cannot make a mount namespace");
	snprintf(b->dir, sizeof(b->dir), "/tmp/jobmeter-bench-XXXXXX");
	if (!mkdtemp(b->dir)) {
		b->dir[0] = '\0';
		return error_set_errno(err, errno, "cannot make a directory in /tmp");
	}
	if (mount("jobmeter-bench", b->dir, "tmpfs", 0, "size=16m") < 0)
		return error_set_errno(err, errno, "cannot mount '%s'", b->dir);
	b->is_mounted = true;
	if (access("/sys/kernel/tracing/events", F_OK) < 0)
		(void)mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	if (access("/sys/kernel/debug/tracing/events", F_OK) < 0)
		(void)mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	return 0;
}

/* A loop device over a file of the tmpfs, which goes with the last who has it open: the worker.  A
 * machine without is measured without. */
static int make_device(struct bench *b, struct error *err)
{
	_cleanup_close_ int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), file = -EBADF,
			    device = -EBADF;
	struct loop_config config = { .info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_READ_ONLY };
	char path[128];
	int number;

	snprintf(path, sizeof(path), "%s/device", b->dir);
	file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0 || ftruncate(file, DEVICE_BYTES) < 0)
		return error_set_errno(err, errno, "cannot make '%s'", path);
	number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
	snprintf(b->device, sizeof(b->device), "/dev/loop%d", number);
	device = number < 0 ? -1 : open(b->device, O_RDONLY | O_CLOEXEC);
	config.fd = (__u32)file;
	if (device < 0 || ioctl(device, LOOP_CONFIGURE, &config) < 0) {
		fprintf(stderr, "jobmeter-bench: skipped: no loop device can be had: %m\n");
		*b->device = '\0';
		return 0;
	}
	b->device_fd = TAKE_FD(device);
	return 0;
}

static int prepare(struct bench *b, struct error *err)
{
	char name[64];
	int r = make_mounts(b, err);

	snprintf(name, sizeof(name), "jobmeter-bench-%d", getpid());
	if (r >= 0)
		r = hierarchy_read(b->ring.root_fd, &b->hierarchy, err);
	if (r >= 0)
		r = group_make(b->ring.root_fd, &b->hierarchy, name, &b->group, err);
	if (r >= 0)
		r = make_device(b, err);
	if (r >= 0)
		r = worker_start(b->dir, "/var/tmp", *b->device ? b->device : NULL, &b->worker,
				 err);
	if (r >= 0)
		r = group_add_process(b->group, worker_pid(b->worker), err);
	if (r < 0)
		return r;
	b->ring.hierarchy = &b->hierarchy;
	b->ring.group_id = group_id(b->group);
	b->ring.worker = b->worker;
	b->ring.dir = b->dir;
	b->ring.device = *b->device ? b->device : NULL;
	return 0;
}

static void clean_up(struct bench *b)
{
	worker_stop(b->worker);
	if (b->device_fd >= 0)
		close(b->device_fd);
	group_remove(b->group);
	hierarchy_clear(&b->hierarchy);
	if (b->is_mounted)
		umount2(b->dir, MNT_DETACH);
	if (*b->dir)
		rmdir(b->dir);
	close(b->ring.root_fd);
}

static int tell(struct bench *b, struct error *err)
{
	struct page page;
	int r = page_begin(&page);

	if (r < 0)
		return r;
	b->part->print(&b->results, page.out);
	return page_end(&page, b->options->update, b->part->mark, err);
}

static int run_part(struct bench *b, const struct part *part, struct error *err)
{
	int r = 0;

	b->part = part;
	b->refused = 0;
	memset(&b->results, 0, sizeof(b->results));
	for (int i = 0; r >= 0 && i < b->options->repetitions; i++) {
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\rrepetition %d of %d", i + 1, b->options->repetitions);
		r = run_repetition(b, i, err);
	}
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	if (r >= 0 && part->has_programs && b->options->entries == ~0u)
		r = run_programs(b, err);
	if (r >= 0 && part->has_requests)
		r = run_requests(b, err);
	if (r >= 0 && part->has_startups && b->options->startups)
		run_startups(b);
	return r >= 0 ? tell(b, err) : r;
}

static int run(struct bench *b, struct error *err)
{
	int r = prepare(b, err);

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(parts); i++) {
		if (!b->options->only || b->options->only == &parts[i])
			r = run_part(b, &parts[i], err);
	}
	return r;
}

static const char help[] =
	"jobmeter-bench - what jobmeter costs, against other ways to measure\n"
	"  --quick            few repetitions: to see that it works\n"
	"  --repetitions N    (default 21)\n"
	"  --only PART        of calls, switch, syscalls, devices: each has a table of its own\n"
	"  --entries MASK     bits of contenders, in the order of the table\n"
	"  --works MASK       bits of works, in the order of the table\n"
	"  --jobmeter PATH    the program whose start and end is measured\n"
	"  --update FILE      put the table into that page\n";

static int parse_number(const char *text)
{
	int number;

	if (parse_int(text, 1, 1 << 20, &number) < 0) {
		fprintf(stderr, "jobmeter-bench: '%s' is not a number\n", text);
		exit(2);
	}
	return number;
}

static const struct part *parse_part(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (strcmp(parts[i].name, text) == 0)
			return &parts[i];
	}
	fprintf(stderr, "jobmeter-bench: '%s' is no part\n", text);
	exit(2);
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option list[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "repetitions", required_argument, NULL, 'r' },
		{ "only", required_argument, NULL, 'o' },
		{ "entries", required_argument, NULL, 'e' },
		{ "works", required_argument, NULL, 'w' },
		{ "jobmeter", required_argument, NULL, 'j' },
		{ "update", required_argument, NULL, 'u' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", list, NULL)) >= 0) {
		switch (c) {
		case 'q':
			o->repetitions = 3;
			o->startups = 5;
			break;
		case 'r':
			o->repetitions = parse_number(optarg);
			break;
		case 'o':
			o->only = parse_part(optarg);
			break;
		case 'e':
			o->entries = (unsigned int)parse_number(optarg);
			o->startups = 0;
			break;
		case 'w':
			o->works = (unsigned int)parse_number(optarg);
			break;
		case 'j':
			o->jobmeter = optarg;
			break;
		case 'u':
			o->update = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		default:
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct options options = {
		.repetitions = 21,
		.chunks = 48,
		.startups = 25,
		.works = ~0u,
		.entries = ~0u,
		.jobmeter = "build/jobmeter",
	};
	static struct bench b;
	struct error err = {};
	int r;

	parse_options(argc, argv, &options);
	b.device_fd = -EBADF;
	if (geteuid() != 0) {
		fputs("jobmeter-bench: skipped: it needs root, to load BPF programs\n", stderr);
		return EXIT_SKIP;
	}
	b.options = &options;
	close_range(3, ~0u, 0); /* the worker is to be a process of few files, whoever started us */
	b.ring.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = run(&b, &err);
	clean_up(&b);
	if (r < 0) {
		fprintf(stderr, "jobmeter-bench: %s\n", *err.text ? err.text : strerror(-r));
		return 1;
	}
	return 0;
}
