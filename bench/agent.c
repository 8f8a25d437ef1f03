/* SPDX-License-Identifier: MIT */
/*
 * bench-agent - what an agent costs a node: its own CPU time and memory, beside Debian's prometheus-node-exporter, and
 * what works lose to it.
 *
 * Both are scraped each second of the same minute, in turn; the CPU time of a second is all that the process took in
 * it, at the scrape or not.  Works take turns with the agent on and off: each round with it stands between two without.
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

#include "cleanup.h"
#include "error.h"
#include "file.h"
#include "groups.h"
#include "losses.h"
#include "macro.h"
#include "page.h"
#include "parse.h"
#include "samples.h"
#include "served.h"
#include "tool.h"

#define EXIT_SKIP 77
#define SLEEPER_EVERY 10
#define EXPORTER "prometheus-node-exporter"
#define EXPORTER_PORT 9841
#define WARM_SECONDS 3

static const size_t counts[] = { 10, 100, 1000 };

enum who {
	WHO_AGENT,
	WHO_EXPORTER,
	WHO_COUNT,
};

struct result {
	struct samples cpu_ms[WHO_COUNT], ratio; /* of one second; the agent's to the exporter's */
	struct served_weight weight[WHO_COUNT];
	size_t page_bytes[WHO_COUNT];
};

struct options {
	char **agent; /* its command line, or NULL */
	int port, seconds, rounds, round_seconds;
	char token[512];
	const char *update;
	char pingpong[4096];
};

struct bench {
	const struct options *options;
	int root_fd;
	struct hierarchy hierarchy;
	struct result results[ARRAY_SIZE(counts)];
	struct samples kept[LOSS_COUNT]; /* the speed with the agent, of that without */
};

static const char *name_of(enum who who)
{
	return who == WHO_AGENT ? "the agent" : "`" EXPORTER "`";
}

static int start(const struct bench *b, enum who who, struct served **ret, struct error *err)
{
	static char *exporter[] = { (char *)EXPORTER, (char *)"--web.listen-address=127.0.0.1:9841",
				    (char *)"--log.level=error", NULL };
	const struct options *o = b->options;

	if (who == WHO_AGENT)
		return o->agent ? served_start(o->agent, o->port, *o->token ? o->token : NULL, ret, err) : 0;
	return tool_exists(EXPORTER) ? served_start(exporter, EXPORTER_PORT, NULL, ret, err) : 0;
}

/* The beginnings of seconds by the clock, so that a late one does not push the others. */
static void wait_until(struct timespec *next)
{
	next->tv_sec++;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL) == EINTR)
		;
}

static int scrape_both(struct served *served[WHO_COUNT], int second, struct result *result, struct error *err)
{
	for (int i = 0; i < WHO_COUNT; i++) {
		int who = (i + second) % WHO_COUNT;
		int r = served[who] ? served_scrape(served[who], &result->page_bytes[who], err) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static void keep_second(struct served *served[WHO_COUNT], uint64_t before[WHO_COUNT], bool is_warm, struct result *result)
{
	double ms[WHO_COUNT] = {};

	for (int who = 0; who < WHO_COUNT; who++) {
		uint64_t now = served[who] ? served_cpu_ns(served[who]) : 0;

		ms[who] = (double)(now - before[who]) / 1e6;
		before[who] = now;
		if (served[who] && is_warm)
			samples_add(&result->cpu_ms[who], ms[who]);
	}
	if (is_warm && served[WHO_AGENT] && served[WHO_EXPORTER] && ms[WHO_EXPORTER] > 0)
		samples_add(&result->ratio, ms[WHO_AGENT] / ms[WHO_EXPORTER]);
}

static int scrape_for_a_while(const struct bench *b, struct served *served[WHO_COUNT], struct result *result,
			      struct error *err)
{
	uint64_t before[WHO_COUNT] = {};
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int second = -WARM_SECONDS; second < b->options->seconds; second++) {
		int r = scrape_both(served, second + WARM_SECONDS, result, err);

		if (r < 0)
			return r;
		wait_until(&next);
		keep_second(served, before, second >= 0, result);
	}
	for (int who = 0; who < WHO_COUNT; who++) {
		if (served[who])
			served_weigh(served[who], &result->weight[who]);
	}
	return 0;
}

static int run_count(struct bench *b, size_t index, struct error *err)
{
	_cleanup_(groups_removep) struct groups *groups = NULL;
	struct served *served[WHO_COUNT] = {};
	int r = groups_make(b->root_fd, &b->hierarchy, counts[index], SLEEPER_EVERY, &groups, err);

	for (int who = 0; who < WHO_COUNT && r >= 0; who++)
		r = start(b, (enum who)who, &served[who], err);
	if (r >= 0)
		r = scrape_for_a_while(b, served, &b->results[index], err);
	for (int who = 0; who < WHO_COUNT; who++)
		served_stop(served[who]);
	return r;
}

/* A process of its own scrapes the agent each second while a work runs. */
static pid_t start_scraper(struct served *agent)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct timespec next;
		size_t bytes;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		clock_gettime(CLOCK_MONOTONIC, &next);
		for (;;) {
			wait_until(&next);
			(void)served_scrape(agent, &bytes, NULL);
		}
	}
	return pid;
}

static int measure_with(struct bench *b, enum loss loss, double *ret, struct error *err)
{
	_cleanup_(served_stopp) struct served *agent = NULL;
	int r = start(b, WHO_AGENT, &agent, err);
	pid_t scraper;

	if (r < 0)
		return r;
	scraper = start_scraper(agent);
	r = loss_measure(loss, b->options->pingpong, b->options->round_seconds, ret, err);
	if (scraper > 0) {
		kill(scraper, SIGKILL);
		waitpid(scraper, NULL, 0);
	}
	return r;
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
			fprintf(stderr, "bench-agent: skipped: %s: %s\n", loss_name((enum loss)loss), missing);
			continue;
		}
		r = run_loss(b, (enum loss)loss, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

static void print_row(struct result *r, size_t jobs, enum who who, FILE *out)
{
	const struct served_weight *w = &r->weight[who];

	if (!r->cpu_ms[who].count)
		return;
	fprintf(out, "| %zu | %s | ", jobs, name_of(who));
	samples_print(&r->cpu_ms[who], 2, out);
	fputs(" | ", out);
	if (who == WHO_AGENT)
		samples_print(&r->ratio, 2, out);
	fprintf(out, " | %.1f | %.1f | %.1f | %.0f |\n", mib(w->rss_bytes), mib(w->pss_bytes), mib(w->map_bytes),
		(double)r->page_bytes[who] / 1024);
}

static void print_losses(struct bench *b, FILE *out)
{
	fprintf(out, "\n%d rounds of %d s with the agent scraped each second, each between two without; the speed with it, "
		     "of\nthat without:\n\n| | speed |\n|---|---|\n",
		b->options->rounds, b->options->round_seconds);
	for (int loss = 0; loss < LOSS_COUNT; loss++) {
		fprintf(out, "| %s | ", loss_name((enum loss)loss));
		samples_print(&b->kept[loss], 4, out);
		fputs(" |\n", out);
	}
}

static void print(struct bench *b, FILE *out)
{
	char version[64];

	page_print_machine(out);
	tool_version("dpkg-query", "-W -f '${Version}\n' " EXPORTER, version, sizeof(version));
	fprintf(out, "; cgroup %s; " EXPORTER " %s.\n%d s each, one scrape a second; median (quartiles).\n\n",
		b->hierarchy.is_v2 ? "v2" : "v1", *version ? version : "absent", b->options->seconds);
	fputs("| jobs | | CPU ms a second | of the exporter's | RSS MiB | Pss MiB | maps MiB | page KiB |\n"
	      "|---|---|---|---|---|---|---|---|\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		for (int who = 0; who < WHO_COUNT; who++)
			print_row(&b->results[i], counts[i], (enum who)who, out);
	}
	if (b->options->agent)
		print_losses(b, out);
	fputc('\n', out);
}

static int tell(struct bench *b, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	print(b, out);
	fclose(out);
	fputs(text, stdout);
	return b->options->update ? page_put(b->options->update, "bench-agent", text, err) : 0;
}

static int run(struct bench *b, struct error *err)
{
	int r = hierarchy_read(b->root_fd, &b->hierarchy, err);

	for (size_t i = 0; i < ARRAY_SIZE(counts) && r >= 0; i++)
		r = run_count(b, i, err);
	if (r >= 0 && b->options->agent)
		r = run_losses(b, err);
	return r < 0 ? r : tell(b, err);
}

static const char help[] =
	"bench-agent - what an agent costs a node\n"
	"usage: bench-agent [OPTION...] [-- AGENT [ARGUMENT...]]    without an agent: the node exporter alone\n"
	"  --port N        where the agent serves /metrics (9840)\n"
	"  --token FILE    what it wants for a scrape\n"
	"  --quick         few seconds and rounds: to see that it works\n"
	"  --update FILE   put the table into that page\n";

static void read_token(const char *path, char *ret, size_t size)
{
	if (file_read_small(AT_FDCWD, path, ret, size) < 0) {
		fprintf(stderr, "bench-agent: cannot read '%s'\n", path);
		exit(1);
	}
	ret[strcspn(ret, "\n")] = '\0';
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option list[] = {
		{ "port", required_argument, NULL, 'p' },   { "token", required_argument, NULL, 't' },
		{ "update", required_argument, NULL, 'u' }, { "quick", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },         {},
	};
	int c;

	while ((c = getopt_long(argc, argv, "+h", list, NULL)) >= 0) {
		if (c == 'p' && parse_int(optarg, 1, 65535, &o->port) == 0)
			continue;
		if (c == 't') {
			read_token(optarg, o->token, sizeof(o->token));
		} else if (c == 'u') {
			o->update = optarg;
		} else if (c == 'q') {
			o->seconds = 5;
			o->rounds = 3;
			o->round_seconds = 1;
		} else {
			fputs(help, c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	}
	if (optind < argc)
		o->agent = argv + optind;
}

/* It is built beside us, where MPI can be compiled for. */
static void find_pingpong(struct options *o)
{
	char own[4000] = "";

	if (readlink("/proc/self/exe", own, sizeof(own) - 1) > 0)
		snprintf(o->pingpong, sizeof(o->pingpong), "%s/pingpong", dirname(own));
}

int main(int argc, char **argv)
{
	static struct options options = { .port = 9840, .seconds = 60, .rounds = 15, .round_seconds = 5 };
	static struct bench b = { .options = &options };
	struct error err = {};
	int r;

	parse_options(argc, argv, &options);
	if (geteuid() != 0) {
		fputs("bench-agent: skipped: it needs root, to make groups\n", stderr);
		return EXIT_SKIP;
	}
	if (!options.agent && !tool_exists(EXPORTER)) {
		fputs("bench-agent: skipped: neither an agent is given nor is " EXPORTER " installed\n", stderr);
		return EXIT_SKIP;
	}
	find_pingpong(&options);
	b.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = run(&b, &err);
	hierarchy_clear(&b.hierarchy);
	close(b.root_fd);
	if (r < 0) {
		fprintf(stderr, "bench-agent: %s\n", *err.text ? err.text : strerror(-r));
		return 1;
	}
	return 0;
}
