/* SPDX-License-Identifier: MIT */
/*
 * bench-top - what looking costs: the CPU time of `jobmeter top` and of Debian's htop on terminals
 * of one size, with as many jobs of one process each; what the agent takes for it; and how soon the
 * first frame is there.
 *
 * Both run within the same seconds, and look once a second.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
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
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "ground.h"
#include "groups.h"
#include "cgroup/hierarchy.h"
#include "basic/macro.h"
#include "page.h"
#include "basic/parse.h"
#include "samples.h"
#include "served.h"
#include "tool.h"

#define EXIT_SKIP 77
#define WARM_SECONDS 5
#define COLUMNS 160
#define ROWS 50
#define FIRST_FRAMES 31

static const size_t counts[] = { 10, 100, 1000 };

enum viewer { VIEWER_TOP, VIEWER_HTOP, VIEWERS };

struct view { /* a program on a terminal of its own */
	pid_t pid; /* 0: it does not run */
	int fd;
};

struct result {
	struct samples ms[VIEWERS], ratio, agent_ms, alone_ms, first_ms;
	double rss_mib[VIEWERS];
};

struct bench {
	int root_fd, seconds;
	const char *update;
	char top[4096], agent[4096], socket[4096 + 16];
	struct hierarchy hierarchy;
	struct ground *ground;
	struct result results[ARRAY_SIZE(counts)];
};

/* ---- programs on terminals ---- */

static int view_open(char *const argv[], struct view *ret, struct error *err)
{
	const struct winsize size = { .ws_col = COLUMNS, .ws_row = ROWS };

	ret->pid = forkpty(&ret->fd, NULL, NULL, &size);
	if (ret->pid < 0)
		return error_set_errno(err, errno, "cannot make a terminal");
	if (ret->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("TERM", "xterm-256color", 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	return fcntl(ret->fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static void view_close(struct view *v)
{
	if (v->pid <= 0)
		return;
	kill(v->pid, SIGKILL);
	waitpid(v->pid, NULL, 0);
	close(v->fd);
	*v = (struct view){};
}

/* What it draws goes nowhere. */
static void drain(struct view *views, uint64_t until_ns)
{
	for (uint64_t now; (now = clock_now_ns(CLOCK_MONOTONIC)) < until_ns;) {
		struct pollfd fds[VIEWERS];
		char buffer[16384];

		for (int i = 0; i < VIEWERS; i++)
			fds[i] = (struct pollfd){ views[i].pid ? views[i].fd : -1, POLLIN, 0 };
		if (poll(fds, VIEWERS, (int)((until_ns - now) / 1000000) + 1) <= 0)
			continue;
		for (int i = 0; i < VIEWERS; i++) {
			while (fds[i].revents && read(views[i].fd, buffer, sizeof(buffer)) > 0)
				;
		}
	}
}

/* Of a program of one thread; 0: it is gone. */
static double cpu_ms(const struct bench *b, const struct view *v)
{
	char path[64], text[256];
	const char *p = text;
	uint64_t ns = 0;

	snprintf(path, sizeof(path), "proc/%d/schedstat", v->pid);
	if (file_read_small(b->root_fd, path, text, sizeof(text)) < 0)
		return 0;
	return parse_leading_u64(&p, &ns) == 0 ? (double)ns / 1e6 : 0;
}

static double rss_mib(const struct bench *b, const struct view *v)
{
	char path[64], text[256];
	uint64_t size, pages = 0;
	const char *p = text;

	snprintf(path, sizeof(path), "proc/%d/statm", v->pid);
	if (file_read_small(b->root_fd, path, text, sizeof(text)) < 0 ||
	    parse_leading_u64(&p, &size) < 0)
		return 0;
	p += *p == ' ';
	(void)parse_leading_u64(&p, &pages);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

/* ---- measuring ---- */

/* From the start to the end of a program that prints one frame. */
static int measure_first(const struct bench *b, struct samples *to, struct error *err)
{
	for (int i = 0; i < FIRST_FRAMES; i++) {
		const struct timespec pause = { .tv_sec = 1 + i % 2,
						.tv_nsec = i * 31000000L }; /* readings may be young
									       or old */
		uint64_t begin_ns;
		int status = 0;
		pid_t pid;

		nanosleep(&pause, NULL);
		begin_ns = clock_now_ns(CLOCK_MONOTONIC);
		pid = fork();
		if (pid < 0)
			return error_set_errno(err, errno, "cannot start '%s'", b->top);
		if (pid == 0) {
			int null_fd = open("/dev/null", O_WRONLY);

			dup2(null_fd, STDOUT_FILENO);
			execl(b->top, b->top, "top", "--batch", "-n", "1", (char *)NULL);
			_exit(127);
		}
		waitpid(pid, &status, 0);
		if (status)
			return error_set(err, -EIO, "'%s top --batch' ended with %d", b->top,
					 WEXITSTATUS(status));
		samples_add(to, (double)(clock_now_ns(CLOCK_MONOTONIC) - begin_ns) / 1e6);
	}
	return 0;
}

/* The agent takes a reading each minute of its own: what it takes now is for who asks. */
static void measure_alone(const struct bench *b, const struct served *agent, struct result *r)
{
	for (int s = 0; s < MIN(b->seconds, 10); s++) {
		uint64_t before = served_cpu_ns(agent);
		const struct timespec second = { .tv_sec = 1 };

		nanosleep(&second, NULL);
		samples_add(&r->alone_ms, (double)(served_cpu_ns(agent) - before) / 1e6);
	}
}

static void measure_seconds(const struct bench *b, const struct served *agent, struct view *views,
			    struct result *r)
{
	uint64_t next_ns = clock_now_ns(CLOCK_MONOTONIC);

	drain(views, next_ns += (uint64_t)WARM_SECONDS * 1000000000);
	for (int s = 0; s < b->seconds; s++) {
		double before[VIEWERS] = { cpu_ms(b, &views[0]), cpu_ms(b, &views[1]) },
		       took[VIEWERS];
		uint64_t agent_before = served_cpu_ns(agent);

		drain(views, next_ns += 1000000000);
		for (int i = 0; i < VIEWERS; i++) {
			took[i] = cpu_ms(b, &views[i]) - before[i];
			if (views[i].pid)
				samples_add(&r->ms[i], took[i]);
		}
		samples_add(&r->agent_ms, (double)(served_cpu_ns(agent) - agent_before) / 1e6);
		if (views[VIEWER_HTOP].pid && took[VIEWER_HTOP] > 0)
			samples_add(&r->ratio, took[VIEWER_TOP] / took[VIEWER_HTOP]);
	}
	for (int i = 0; i < VIEWERS; i++)
		r->rss_mib[i] = rss_mib(b, &views[i]);
}

static int measure_views(const struct bench *b, const struct served *agent, struct result *r,
			 struct error *err)
{
	char *const top[] = { (char *)b->top, (char *)"top", (char *)"-d", (char *)"1", NULL };
	char *const htop[] = { (char *)"htop", (char *)"-d", (char *)"10", NULL };
	struct view views[VIEWERS] = {};
	int status = view_open(top, &views[VIEWER_TOP], err);

	if (status >= 0 && tool_exists("htop"))
		status = view_open(htop, &views[VIEWER_HTOP], err);
	if (status >= 0)
		measure_seconds(b, agent, views, r);
	view_close(&views[VIEWER_TOP]);
	view_close(&views[VIEWER_HTOP]);
	return status;
}

static int measure(struct bench *b, size_t jobs, struct result *r, struct error *err)
{
	const struct groups_mounts mounts = { ground_mounts(b->ground), GROUND_MOUNTS };
	_cleanup_(groups_removep) struct groups *groups = NULL;
	_cleanup_(served_stopp) struct served *agent = NULL;
	const char *config = ground_configure(b->ground, 60, true);
	char *const argv[] = { b->agent, (char *)"--config", (char *)config, NULL };
	const char *slash = config ? strrchr(config, '/') : NULL;
	int status = groups_make(b->root_fd, &b->hierarchy, jobs, 1, &mounts, &groups, err);

	if (!slash)
		return error_set_errno(err, errno, "cannot write the agent's configuration");
	snprintf(b->socket, sizeof(b->socket), "%.*s/agent.sock", (int)(slash - config), config);
	setenv("JOBMETER_SOCKET", b->socket, 1);
	if (status >= 0)
		status = served_start(argv, ground_port(), &agent, err);
	if (status >= 0)
		status = groups_work(groups);
	if (status < 0)
		return status;
	measure_alone(b, agent, r);
	status = measure_first(b, &r->first_ms, err);
	return status < 0 ? status : measure_views(b, agent, r, err);
}

/* ---- the page ---- */

static void print_results(struct bench *b, FILE *out)
{
	char version[64];

	page_print_machine(out);
	tool_version("dpkg-query", "-W -f '${Version}\n' htop", version, sizeof(version));
	fprintf(out,
		"; cgroup %s; htop %s.\n%d s each, terminals of %dx%d%s; median (quartiles).\n\n",
		b->hierarchy.is_v2 ? "v2" : "v1", *version ? version : "is absent", b->seconds,
		COLUMNS, ROWS,
		sched_getscheduler(0) == SCHED_OTHER ? "" : ", all of it with real-time priority");
	fputs("| jobs | top: CPU ms a second | htop: CPU ms a second | top, of that | the agent: CPU ms a second | the same, "
	      "nobody looking | RSS MiB: top | htop | first frame ms |\n|---|---|---|---|---|---|---|---|---|\n",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct result *r = &b->results[i];

		if (!r->ms[VIEWER_TOP].count)
			continue;
		fprintf(out, "| %zu | ", counts[i]);
		samples_print(&r->ms[VIEWER_TOP], 2, out);
		fputs(" | ", out);
		samples_print(&r->ms[VIEWER_HTOP], 2, out);
		fputs(" | ", out);
		samples_print(&r->ratio, 2, out);
		fputs(" | ", out);
		samples_print(&r->agent_ms, 2, out);
		fputs(" | ", out);
		samples_print(&r->alone_ms, 2, out);
		fprintf(out, " | %.1f | %.1f | ", r->rss_mib[VIEWER_TOP], r->rss_mib[VIEWER_HTOP]);
		samples_print(&r->first_ms, 0, out);
		fputs(" |\n", out);
	}
	fputc('\n', out);
}

static int tell(struct bench *b, struct error *err)
{
	struct page page;
	int r = page_begin(&page);

	if (r < 0)
		return r;
	print_results(b, page.out);
	return page_end(&page, b->update, "bench-top", err);
}

static int run(struct bench *b, size_t only, struct error *err)
{
	int r = hierarchy_read(b->root_fd, &b->hierarchy, err);

	if (r >= 0)
		r = ground_make(&b->ground, err);
	for (size_t i = 0; i < ARRAY_SIZE(counts) && r >= 0; i++)
		r = !only || only == counts[i] ? measure(b, counts[i], &b->results[i], err) : 0;
	if (r >= 0)
		r = tell(b, err);
	ground_remove(b->ground);
	hierarchy_clear(&b->hierarchy);
	return r;
}

static void find_programs(struct bench *b)
{
	char own[4000] = "";

	if (readlink("/proc/self/exe", own, sizeof(own) - 1) <= 0)
		return;
	dirname(own); /* cuts it */
	snprintf(b->top, sizeof(b->top), "%s/../jobmeter", own);
	snprintf(b->agent, sizeof(b->agent), "%s/../jobmeter-agent", own);
}

static const char help[] = "bench-top - what it costs to look at jobs\n"
			   "usage: bench-top [OPTION...]\n"
			   "  --jobs N       with 10, 100 or 1000 only\n"
			   "  --seconds N    for so long each (30)\n"
			   "  --update FILE  put the table into that page\n";

int main(int argc, char **argv)
{
	static const struct option list[] = {
		{ "jobs", required_argument, NULL, 'j' },
		{ "seconds", required_argument, NULL, 's' },
		{ "update", required_argument, NULL, 'u' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	static struct bench b = { .seconds = 30 };
	struct error err = {};
	int c, r, jobs = 0;

	find_programs(&b);
	while ((c = getopt_long(argc, argv, "h", list, NULL)) >= 0) {
		if (c == 'u') {
			b.update = optarg;
		} else if ((c == 'j' && parse_int(optarg, 1, 1000, &jobs) == 0) ||
			   (c == 's' && parse_int(optarg, 1, SAMPLES_MAX, &b.seconds) == 0)) {
			continue;
		} else {
			fputs(help, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	if (geteuid() != 0) {
		fputs("bench-top: skipped: it needs root, to make groups\n", stderr);
		return EXIT_SKIP;
	}
	b.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = run(&b, (size_t)jobs, &err);
	close(b.root_fd);
	if (r < 0) {
		fprintf(stderr, "bench-top: %s\n", *err.text ? err.text : strerror(-r));
		return 1;
	}
	return 0;
}
