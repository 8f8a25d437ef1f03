/* SPDX-License-Identifier: MIT */
/*
 * Serves made snapshots as an agent would, for tests with real clients:
 *
 *   exposed [--listen ADDRESS] [--token TOKEN] [--certificate FILE --key FILE] [--socket PATH]
 *           [--jobs N --mounts N]
 *   exposed --print text|openmetrics [--jobs N --mounts N]
 *
 * Prints the port and serves until it gets SIGTERM.  Without --jobs it is the small snapshot of the
 * unit tests, with one sample of each metric of node and agent; else each scrape finds the jobs'
 * counters raised by 10007.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "agent/agent_metrics.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "export/exposition.h"
#include "http/http.h"
#include "basic/macro.h"
#include "made_snapshot.h"

struct demo {
	size_t jobs, mounts;
	uint64_t scrapes;
	struct scrapes answered;
};

static void free_snapshot(void *context)
{
	made_snapshot_clear(context);
	free(context);
}

static int make_page(struct demo *d, enum exposition_format format, struct exposition **ret)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct exposition_options options = {
		.format = format, .snapshot = s, .done = free_snapshot, .context = s
	};
	struct agent_facts facts = { .version = "made", .scrapes = &d->answered };

	if (!s)
		return -ENOMEM;
	if (d->jobs) {
		made_snapshot_fill_large(s, d->jobs, d->mounts, d->scrapes++);
		agent_facts_put(&facts, &options.samples);
	} else {
		made_snapshot_fill(s);
		made_samples_fill(&options.samples);
	}
	return exposition_new(&options, ret);
}

static int answer_metrics(void *context, const struct http_request *request,
			  struct http_answer *ret)
{
	struct exposition *e = NULL;
	int r = make_page(context, exposition_choose(http_header(request, "Accept")), &e);

	if (r == 0)
		exposition_answer(e, ret);
	return r;
}

static int answer_health(void *context, const struct http_request *request, struct http_answer *ret)
{
	(void)context, (void)request;
	ret->length = (size_t)asprintf(&ret->text, "ok\n");
	return 0;
}

static void note_answer(void *context, const struct http_route *route, unsigned int status)
{
	struct demo *d = context;

	scrapes_add(&d->answered, route ? route->path : NULL, status);
}

static int print_page(struct demo *d, const char *format)
{
	_cleanup_(exposition_freep) struct exposition *e = NULL;
	static char buffer[65536];
	ssize_t n;

	if (make_page(d, strcmp(format, "text") == 0 ? EXPOSITION_TEXT : EXPOSITION_OPENMETRICS,
		      &e) < 0)
		return 1;
	while ((n = exposition_next(e, buffer, sizeof(buffer))) > 0)
		fwrite(buffer, 1, (size_t)n, stdout);
	return n < 0;
}

static int serve(struct http *h)
{
	struct pollfd fds[] = { { .fd = http_fd(h), .events = POLLIN }, { .events = POLLIN } };
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	fds[1].fd = signalfd(-1, &signals, SFD_CLOEXEC);
	printf("%u\n", http_port(h));
	fflush(stdout);
	while (!fds[1].revents) {
		poll(fds, ARRAY_SIZE(fds), http_timeout_ms(h));
		http_run(h);
	}
	close(fds[1].fd);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct http_route routes[] = {
		{ "GET", "/metrics", answer_metrics, false, true },
		{ "GET", "/health", answer_health, true, true },
		{},
	};
	/* clang-format off */
	static const struct option names[] = {
		{ "listen", required_argument, NULL, 'l' }, { "token", required_argument, NULL, 't' },
		{ "certificate", required_argument, NULL, 'c' }, { "key", required_argument, NULL, 'k' },
		{ "socket", required_argument, NULL, 's' }, { "jobs", required_argument, NULL, 'j' },
		{ "mounts", required_argument, NULL, 'm' }, { "print", required_argument, NULL, 'p' }, {},
	};
	/* clang-format on */
	struct demo demo = { .mounts = 1 };
	struct http_options options = { .routes = routes,
					.context = &demo,
					.answered = note_answer,
					.address = "127.0.0.1:0",
					.socket_mode = 0666 };
	_cleanup_(http_closep) struct http *h = NULL;
	const char *format = NULL;
	struct error err = {};
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		/* clang-format off */
		switch (c) {
		case 'l': options.address = optarg; break;
		case 't': options.token = optarg; break;
		case 'c': options.certificate = optarg; break;
		case 'k': options.key = optarg; break;
		case 's': options.socket_path = optarg; break;
		case 'j': demo.jobs = strtoul(optarg, NULL, 10); break;
		case 'm': demo.mounts = strtoul(optarg, NULL, 10); break;
		case 'p': format = optarg; break;
		default: return 2;
		}
		/* clang-format on */
	}
	if (format)
		return print_page(&demo, format);
	if (http_listen(&options, &h, &err) < 0) {
		fprintf(stderr, "exposed: %s\n", err.text);
		return 1;
	}
	return serve(h);
}
