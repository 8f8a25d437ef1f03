/* SPDX-License-Identifier: MIT */
/*
 * bench-agent - what an agent costs a node: its own CPU time and memory, beside a plain reading of
 * the same files and beside Debian's prometheus-node-exporter, and what works lose to it.
 *
 * What is compared takes turns within the same seconds; the CPU time of a second is all that a
 * process and its children took in it, whatever for.  Works take turns with the agent on and off:
 * each round with it stands between two without.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "ground.h"
#include "losses.h"
#include "basic/macro.h"
#include "page.h"
#include "basic/parse.h"
#include "samples.h"
#include "served.h"
#include "tool.h"
#include "weighing.h"

#define EXIT_SKIP 77

#define COUNTS 3

struct options {
	struct weighing_options weighing;
	int idle_seconds, rounds, round_seconds;
	bool has_losses, has_jobs;
	size_t counts[COUNTS], count; /* of jobs */
	const char *update;
	char pingpong[4096], agent[4096];
};

struct bench {
	struct options *options;
	struct hierarchy hierarchy;
	struct weighing weighings[COUNTS];
	struct idling idling;
	struct samples kept[LOSS_COUNT]; /* the speed with the agent, of that without */
	double load_before, load_after;
};

static double load(void)
{
	double averages[1] = {};

	(void)getloadavg(averages, 1);
	return averages[0];
}

/* ---- losses ---- */

static int measure_with(struct bench *b, enum loss loss, double *ret, struct error *err)
{
	_cleanup_(served_stopp) struct served *agent = NULL;
	int r = weighing_start_agent(&b->options->weighing, 1, true, &agent, err);

	return r < 0 ? r
		     : loss_measure(loss, b->options->pingpong, b->options->round_seconds, ret,
				    err);
}

static int run_loss(struct bench *b, enum loss loss, struct error *err)
{
	const struct options *o = b->options;
	double before, with, after;
	int r = loss_measure(loss, o->pingpong, o->round_seconds, &before, err);

	for (int i = 0; i < o->rounds && r >= 0; i++) {
		r = measure_with(b, loss, &with, err);
		if (r >= 0)
			r = loss_measure(loss, o->pingpong, o->round_seconds, &after, err);
		if (r < 0)
			return r;
		samples_add(&b->kept[loss], with / ((before + after) / 2));
		before = after;
	}
	return r;
}

static int run_losses(struct bench *b, struct error *err)
{
	for (int loss = 0; loss < LOSS_COUNT; loss++) {
		const char *missing = loss_missing((enum loss)loss, b->options->pingpong);
		int r;

		if (missing) {
			fprintf(stderr, "bench-agent: skipped: %s: %s\n",
				loss_name((enum loss)loss), missing);
			continue;
		}
		r = run_loss(b, (enum loss)loss, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the page ---- */

static void print_begin(const struct bench *b, FILE *out)
{
	page_print_machine(out);
	fprintf(out,
		"; cgroup %s.\nLoad %.1f as it began, %.1f as it ended; median (quartiles).\n\n",
		b->hierarchy.is_v2 ? "v2" : "v1", b->load_before, b->load_after);
}

static void print_jobs(struct bench *b, FILE *out)
{
	char version[64];

	print_begin(b, out);
	tool_version("dpkg-query", "-W -f '${Version}\n' prometheus-node-exporter", version,
		     sizeof(version));
	fprintf(out, "%d s each; %s %s.\n\n", b->options->weighing.seconds, weighing_exporter(),
		*version ? version : "is absent");
	weighing_print(b->weighings, b->options->count, out);
	if (b->idling.seconds)
		fprintf(out,
			"\nWith %zu jobs, an interval of %d s and nobody who asks, it took %.1f ms of CPU time a minute, and "
			"woke\n%.0f times.\n",
			b->idling.jobs, b->idling.interval_s, b->idling.cpu_ms, b->idling.sleeps);
	fputc('\n', out);
}

static void print_losses(struct bench *b, FILE *out)
{
	print_begin(b, out);
	fprintf(out,
		"%d rounds of %d s with the agent, which takes a reading each second, each between two without:\n\n"
		"| | speed with the agent, of that without |\n|---|---|\n",
		b->options->rounds, b->options->round_seconds);
	for (int loss = 0; loss < LOSS_COUNT; loss++) {
		fprintf(out, "| %s | ", loss_name((enum loss)loss));
		samples_print(&b->kept[loss], 4, out);
		fputs(" |\n", out);
	}
	fputc('\n', out);
}

static int tell(struct bench *b, const char *mark, void (*print)(struct bench *b, FILE *out),
		struct error *err)
{
	struct page page;
	int r = page_begin(&page);

	if (r < 0)
		return r;
	b->load_after = load();
	print(b, page.out);
	return page_end(&page, b->options->update, mark, err);
}

static int run_jobs(struct bench *b, struct error *err)
{
	struct weighing_options *w = &b->options->weighing;
	int r = 0;

	b->load_before = load();
	for (size_t i = 0; i < b->options->count && r >= 0; i++)
		r = weighing_run(w, b->options->counts[i], &b->weighings[i], err);
	if (r >= 0 && w->agent) {
		b->idling.seconds = b->options->idle_seconds;
		r = idling_run(w, 3, 10, &b->idling, err);
	}
	return r < 0 ? r : tell(b, "bench-agent: jobs", print_jobs, err);
}

static int run(struct bench *b, struct error *err)
{
	struct weighing_options *w = &b->options->weighing;
	int r = hierarchy_read(w->root_fd, &b->hierarchy, err);

	w->hierarchy = &b->hierarchy;
	if (r >= 0 && b->options->has_jobs)
		r = run_jobs(b, err);
	b->load_before = load();
	if (r >= 0 && w->agent && b->options->has_losses) {
		r = run_losses(b, err);
		if (r >= 0)
			r = tell(b, "bench-agent: losses", print_losses, err);
	}
	return r;
}

/* ---- the program ---- */

static const char help[] =
	"bench-agent - what an agent costs a node\n"
	"usage: bench-agent [OPTION...]\n"
	"  --agent PROGRAM  what to measure (jobmeter-agent, built beside); \"\": the node exporter alone\n"
	"  --quick          few seconds and rounds: to see that it works\n"
	"  --jobs N         with so many only, in place of 10, 100 and 1000\n"
	"  --seconds N      for so long each (60)\n"
	"  --only PART      jobs: readings, scrapes, memory; losses: what works lose\n"
	"  --update FILE    put the tables into that page\n";

static void be_quick(struct options *o)
{
	o->weighing.seconds = 6;
	o->idle_seconds = 10;
	o->rounds = 3;
	o->round_seconds = 1;
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option list[] = {
		{ "agent", required_argument, NULL, 'a' },
		{ "only", required_argument, NULL, 'o' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "seconds", required_argument, NULL, 's' },
		{ "update", required_argument, NULL, 'u' },
		{ "quick", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	int c, jobs;

	while ((c = getopt_long(argc, argv, "h", list, NULL)) >= 0) {
		if (c == 'a') {
			o->weighing.agent = *optarg ? optarg : NULL;
		} else if (c == 'u') {
			o->update = optarg;
		} else if (c == 'o') {
			o->has_jobs = strcmp(optarg, "losses") != 0;
			o->has_losses = strcmp(optarg, "jobs") != 0;
		} else if (c == 'j' && parse_int(optarg, 1, 1000, &jobs) == 0) {
			o->counts[0] = (size_t)jobs;
			o->count = 1;
		} else if (c == 's' && parse_int(optarg, 1, 3600, &o->weighing.seconds) == 0) {
			o->idle_seconds = o->weighing.seconds;
		} else if (c == 'q') {
			be_quick(o);
		} else {
			fputs(help, c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	}
}

/* Both are built beside us: the ping-pong where MPI can be compiled for. */
static void find_programs(struct options *o)
{
	char own[4000] = "";

	if (readlink("/proc/self/exe", own, sizeof(own) - 1) <= 0)
		return;
	dirname(own); /* cuts it */
	snprintf(o->pingpong, sizeof(o->pingpong), "%s/pingpong", own);
	snprintf(o->agent, sizeof(o->agent), "%s/../jobmeter-agent", own);
	o->weighing.agent = o->agent;
}

int main(int argc, char **argv)
{
	static struct options options = { .weighing = { .seconds = 60 },
					  .counts = { 10, 100, 1000 },
					  .count = COUNTS,
					  .idle_seconds = 60,
					  .rounds = 15,
					  .round_seconds = 5,
					  .has_losses = true,
					  .has_jobs = true };
	static struct bench b = { .options = &options };
	struct error err = {};
	int r;

	find_programs(&options);
	parse_options(argc, argv, &options);
	if (geteuid() != 0) {
		fputs("bench-agent: skipped: it needs root, to make groups\n", stderr);
		return EXIT_SKIP;
	}
	options.weighing.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = ground_make(&options.weighing.ground, &err);
	if (r >= 0)
		r = run(&b, &err);
	ground_remove(options.weighing.ground);
	hierarchy_clear(&b.hierarchy);
	close(options.weighing.root_fd);
	if (r < 0) {
		fprintf(stderr, "bench-agent: %s\n", *err.text ? err.text : strerror(-r));
		return 1;
	}
	return 0;
}
