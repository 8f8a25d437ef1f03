/* SPDX-License-Identifier: MIT */
/*
 * bench-reading - what it costs to read the files of many groups: as we do, and by open, read and
 * close.
 *
 * All take turns within one run; what counts is CPU time, and the ratio within one repetition.  The
 * plain reader does no more than to open, read and close: it makes no numbers of what it reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "cgroup/group_files.h"
#include "groups.h"
#include "basic/macro.h"
#include "page.h"
#include "basic/parse.h"
#include "plain.h"
#include "samples.h"

#define EXIT_SKIP 77
#define ROUND_GROUPS 1000 /* read in one measurement: fewer groups are read more often */
#define SLEEPER_EVERY 10

static const size_t counts[] = { 10, 100, 1000 };

enum interface {
	INTERFACE_PLAIN,
	INTERFACE_KEPT,
	INTERFACE_REOPENED, /* by the same code, where no descriptor can be kept */
	INTERFACES,
};

/* Which numbers. */
enum set {
	SET_BPF, /* those that an agent reads where BPF tells the rest */
	SET_ALL,
	SETS,
};
static const char *const set_names[SETS] = { "beside BPF", "without BPF" };

struct result {
	size_t files; /* of one group */
	struct samples us[INTERFACES]; /* a group */
	struct samples ratio[INTERFACES]; /* to the plain one */
};

struct bench {
	int root_fd, repetitions;
	struct hierarchy hierarchy;
	struct groups *groups;
	struct group_files_budget budget, none;
	struct group_files *kept[1000], *passing[1000];
	struct plain *plain;
	uint64_t sum;
	struct result results[ARRAY_SIZE(counts)][SETS];
	double kernel_kib; /* that a kept descriptor takes */
};

static double cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int read_ours(struct bench *b, struct group_files *files, const struct metric_set *wanted)
{
	struct value values[METRIC_JOB_COUNT] = {};
	int r = group_files_read(files, wanted, values);

	b->sum += values[METRIC_MEMORY_USAGE].number;
	return r;
}

/* CPU time that a group takes. */
static int measure(struct bench *b, enum interface interface, size_t count,
		   const struct metric_set *wanted, double *ret_us)
{
	size_t times = ROUND_GROUPS / count;
	double before = cpu_us();

	for (size_t t = 0; t < times; t++) {
		for (size_t i = 0; i < count; i++) {
			int r = interface == INTERFACE_PLAIN
					? plain_read(b->plain, i)
					: read_ours(b,
						    interface == INTERFACE_KEPT ? b->kept[i]
										: b->passing[i],
						    wanted);

			if (r < 0)
				return r;
		}
	}
	*ret_us = (cpu_us() - before) / (double)(times * count);
	return 0;
}

static int run_set(struct bench *b, size_t count, enum set set, struct result *result)
{
	struct metric_set wanted = metric_set_minus(
		group_files_metrics(b->hierarchy.is_v2, set == SET_BPF), group_files_seldom());
	double us[INTERFACES];

	b->plain = plain_new(&b->hierarchy, b->groups, count, wanted);
	if (!b->plain)
		return -ENOMEM;
	result->files = plain_files(b->plain);
	for (int repetition = -1; repetition < b->repetitions; repetition++) { /* the first is for
										  the caches */
		for (int w = 0; w < INTERFACES; w++) {
			enum interface interface =
				(enum interface)((w + repetition + 1) % INTERFACES);
			int r = measure(b, interface, count, &wanted, &us[interface]);

			if (r < 0)
				return r;
		}
		for (int w = 0; w < INTERFACES && repetition >= 0; w++) {
			samples_add(&result->us[w], us[w]);
			samples_add(&result->ratio[w], us[w] / us[INTERFACE_PLAIN]);
		}
	}
	b->plain = plain_free(b->plain);
	return 0;
}

static double slab_kib(void)
{
	_cleanup_free_ char *text = NULL;
	uint64_t kib = 0;

	if (file_read(AT_FDCWD, "/proc/meminfo", 1 << 16, &text, NULL) >= 0)
		(void)parse_keyed_u64(text, "SUnreclaim", ':', &kib);
	return (double)kib;
}

static int open_all(struct bench *b, size_t count)
{
	double before = slab_kib();

	for (size_t i = 0; i < count; i++) {
		const char *path = groups_path(b->groups, i);
		int r = group_files_open(b->root_fd, &b->hierarchy, path, 0, &b->budget,
					 &b->kept[i]);

		if (r >= 0)
			r = read_ours(b, b->kept[i], NULL);
		if (r < 0)
			return r;
	}
	if (count == 1000)
		b->kernel_kib = (slab_kib() - before) / b->budget.used;
	for (size_t i = 0; i < count; i++) {
		int r = group_files_open(b->root_fd, &b->hierarchy, groups_path(b->groups, i), 0,
					 &b->none, &b->passing[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static void close_all(struct bench *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(b->kept); i++) {
		b->kept[i] = group_files_close(b->kept[i]);
		b->passing[i] = group_files_close(b->passing[i]);
	}
}

static int run_count(struct bench *b, size_t index, struct error *err)
{
	size_t count = counts[index];
	int r = groups_make(b->root_fd, &b->hierarchy, count, SLEEPER_EVERY, NULL, &b->groups, err);

	if (r < 0)
		return r;
	r = open_all(b, count);
	for (int set = 0; set < SETS && r >= 0; set++)
		r = run_set(b, count, (enum set)set, &b->results[index][set]);
	if (r >= 0 && b->budget.reopened)
		r = -EMFILE; /* not what we wanted to measure */
	close_all(b);
	b->groups = groups_remove(b->groups);
	return r < 0 ? error_set_errno(err, r, "cannot read the files of %zu groups", count) : 0;
}

static void print_row(struct bench *b, size_t index, enum set set, FILE *out)
{
	struct result *r = &b->results[index][set];

	fprintf(out, "| %zu | %s: %zu | ", counts[index], set_names[set], r->files);
	samples_print(&r->us[INTERFACE_PLAIN], 1, out);
	fputs(" | ", out);
	samples_print(&r->us[INTERFACE_KEPT], 1, out);
	fputs(" | ", out);
	samples_print(&r->ratio[INTERFACE_KEPT], 2, out);
	fputs(" | ", out);
	samples_print(&r->ratio[INTERFACE_REOPENED], 2, out);
	fputs(" |\n", out);
}

static void print(struct bench *b, FILE *out)
{
	page_print_machine(out);
	fprintf(out, "; cgroup %s.\n%d repetitions; median (quartiles).\n\n",
		b->hierarchy.is_v2 ? "v2" : "v1", b->repetitions);
	fputs("| groups | files of each | open, read, close: us a group | kept open: us a group | kept open, of that | "
	      "where none can be kept, of that |\n|---|---|---|---|---|---|\n",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		for (int set = 0; set < SETS; set++)
			print_row(b, i, (enum set)set, out);
	}
	fprintf(out, "\nA file that is kept open takes %.1f KiB of the kernel's memory.\n\n",
		b->kernel_kib);
}

static int tell(struct bench *b, const char *update, struct error *err)
{
	struct page page;
	int r = page_begin(&page);

	if (r < 0)
		return r;
	print(b, page.out);
	return page_end(&page, update, "bench-reading", err);
}

static int run(struct bench *b, const char *update, struct error *err)
{
	int r = hierarchy_read(b->root_fd, &b->hierarchy, err);

	for (size_t i = 0; i < ARRAY_SIZE(counts) && r >= 0; i++)
		r = run_count(b, i, err);
	return r < 0 ? r : tell(b, update, err);
}

int main(int argc, char **argv)
{
	static const struct option list[] = { { "quick", no_argument, NULL, 'q' },
					      { "update", required_argument, NULL, 'u' },
					      {} };
	static struct bench b = { .repetitions = 41 };
	const char *update = NULL;
	struct error err = {};
	int r, c;

	while ((c = getopt_long(argc, argv, "", list, NULL)) >= 0) {
		if (c == 'q') {
			b.repetitions = 5;
		} else if (c == 'u') {
			update = optarg;
		} else {
			fputs("usage: bench-reading [--quick] [--update PAGE]\n", stderr);
			return 2;
		}
	}
	if (geteuid() != 0) {
		fputs("bench-reading: skipped: it needs root, to make groups\n", stderr);
		return EXIT_SKIP;
	}
	b.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	group_files_budget_init(&b.budget, 64);
	r = run(&b, update, &err);
	hierarchy_clear(&b.hierarchy);
	close(b.root_fd);
	if (r < 0) {
		fprintf(stderr, "bench-reading: %s\n", *err.text ? err.text : strerror(-r));
		return 1;
	}
	return 0;
}
