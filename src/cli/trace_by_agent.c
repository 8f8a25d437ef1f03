/* SPDX-License-Identifier: MIT */
#include "cli/trace_by_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/decimal.h"
#include "basic/endings.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/waiter.h"
#include "cli/child.h"
#include "cli/watch_target.h"
#include "client/client.h"
#include "client/endpoint.h"
#include "trace/libraries.h"
#include "trace/sites.h"

#define TURN_MS 50

struct asked {
	const struct trace_wish *wish;
	struct client *agent;
	struct child child; /* of a command */
	int endings_fd; /* of all else */
	bool is_ending; /* the trace was told to */
	struct error *err;
};

/* ---- a command, held back ---- */

/* The agent's helper looks for functions in what a process has mapped, and nowhere else: so the
 * command's process has that mapped before it executes. */
static int map_library(void *context, const char *path, bool is_program)
{
	const struct asked *a = context;
	_cleanup_close_ int fd = -EBADF;

	if (!sites_want(a->wish->sites, path, is_program))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		(void)mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	return 0;
}

static int prepare(struct asked *a)
{
	int r = libraries_visit(a->wish->command, map_library, a);

	return r < 0 ? r : child_prepare(&a->child, a->wish->command, a->err);
}

/* ---- while it comes ---- */

static int begin(void *context)
{
	struct asked *a = context;

	return a->wish->command ? child_release(&a->child, a->err) : 0;
}

static int take(void *context, const char *data, size_t length)
{
	const struct asked *a = context;

	if (fwrite(data, 1, length, a->wish->out) != length || fflush(a->wish->out) != 0)
		return error_set_errno(a->err, errno, "cannot write");
	return 0;
}

/* Somebody wants the end, or the command has come to its own: what is left still comes. */
static int look(void *context)
{
	struct asked *a = context;
	struct pollfd ending = { a->endings_fd, POLLIN, 0 };
	bool is_over;

	if (a->wish->command)
		is_over = !a->child.pid || child_wait(&a->child, 0, NULL) == 0;
	else
		is_over = poll(&ending, 1, 0) > 0;
	if (is_over && !a->is_ending) {
		a->is_ending = true;
		(void)client_end_trace(a->agent, NULL); /* it may have ended by itself */
	}
	return 0;
}

/* ---- the question ---- */

/* The agent wants its manager, too. */
static int find_job(const struct asked *a, char **ret)
{
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};
	size_t chosen;
	int r = client_list_jobs(a->agent, &jobs, a->err);

	if (r == 0)
		r = watch_target_choose(a->wish->job, jobs.items, jobs.count, &chosen, a->err);
	if (r == 0 && asprintf(ret, "%s/%s", jobs.items[chosen].manager, jobs.items[chosen].id) < 0)
		r = -ENOMEM;
	return r;
}

static int make_query(const struct asked *a, char **ret)
{
	const struct trace_wish *w = a->wish;
	_cleanup_free_ char *sets = percent_encode(w->sets), *job = NULL, *whom = NULL;
	char pid[16], duration[DECIMAL_SIZE + 16] = "", seconds[DECIMAL_SIZE];
	int r = w->job ? find_job(a, &job) : 0;

	if (r < 0)
		return r;
	snprintf(pid, sizeof(pid), "%d", w->command ? a->child.pid : w->pid);
	whom = percent_encode(job ? job : pid);
	if (w->duration_ns)
		snprintf(duration, sizeof(duration), "&duration=%s",
			 decimal_format(seconds, w->duration_ns, 9));
	if (!sets || !whom ||
	    asprintf(ret, "%s=%s&sets=%s&level=%s&format=%s%s", job ? "job" : "pid", whom, sets,
		     w->level, w->format, duration) < 0)
		return -ENOMEM;
	return 0;
}

static int ask(struct asked *a)
{
	const struct endpoint_taker taker = { begin, take, a };
	const struct waiter waiter = {
		{ a->wish->command ? a->child.signal_fd : a->endings_fd, -1 }, TURN_MS, look, a
	};
	_cleanup_free_ char *query = NULL;
	int r = a->wish->command ? prepare(a) : 0;

	if (r == 0)
		r = make_query(a, &query);
	if (r < 0)
		return r;
	client_set_waiter(a->agent, &waiter);
	return client_trace(a->agent, query, &taker, a->err);
}

int trace_by_agent(const struct trace_wish *wish, int *ret_code, struct error *err)
{
	_cleanup_(client_closep) struct client *agent = NULL;
	struct asked a = { .wish = wish, .endings_fd = -EBADF, .err = err };
	int r = client_open(NULL, &agent, err);

	if (r < 0)
		return error_prefix(err, r, "tracing needs root, or an agent that does it");
	a.agent = agent;
	if (wish->command)
		child_begin(&a.child);
	else
		a.endings_fd = endings_open();
	r = ask(&a);
	if (r < 0 && !*err->text)
		error_set_errno(err, r, "cannot trace");
	if (wish->command) {
		while (r == 0 && a.child.pid && child_wait(&a.child, -1, NULL) > 0)
			;
		*ret_code = child_exit_code(&a.child);
		child_clear(&a.child);
		child_end(&a.child);
	}
	closep(&a.endings_fd);
	return r;
}
