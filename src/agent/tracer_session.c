/* SPDX-License-Identifier: MIT */
/* One trace for one user: what `jobmeter trace` does, of what is his. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/tracer_helper.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "export/trace_output.h"
#include "trace/installed_sets.h"
#include "trace/owner.h"
#include "trace/sites.h"
#include "trace/tracing.h"

struct session {
	const struct tracer_request *request;
	struct owner owner;
	int fd; /* where the trace goes; its other end is closed when it is not wanted any more */
	uint64_t outside_ns; /* what it cost others */
	bool is_begun; /* the reply is sent, and what follows is the trace */
	struct trace_output output;
};

static int take_event(void *context, const struct trace_event *event)
{
	return trace_output_take(&((struct session *)context)->output, event);
}

static int take_open(void *context, const struct trace_event *event)
{
	return trace_output_take_open(&((struct session *)context)->output, event);
}

static void say_drop(void *context, const struct site_row *row, uint64_t cost_ns)
{
	const struct session *s = context;

	fprintf(stderr, "the trace of user %u: '%s' costs too much (%.1f ms): no longer probed\n",
		s->owner.uid, row->name, (double)cost_ns / 1e6);
}

static int begun(void *context, struct error *err UNUSED)
{
	struct session *s = context;

	s->is_begun = true;
	tracer_send_reply(s->fd, 0, "");
	return 0;
}

static int wait_for_end(void *context, int timeout_ms, struct error *err UNUSED)
{
	struct pollfd p = { ((struct session *)context)->fd, POLLRDHUP, 0 };

	return poll(&p, 1, timeout_ms) <= 0;
}

static int admit(const struct session *s, struct error *err)
{
	const pid_t pid = s->request->pid;
	_cleanup_close_ int fd = -EBADF;
	int r;

	if (!pid)
		return 0;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return error_set(err, -ENOENT, "there is no such process, or it is not yours");
	r = owner_check(&s->owner, pid, err);
	/* it was this process that was looked at, if it is still there */
	if (r == 0 && poll(&(struct pollfd){ fd, POLLIN, 0 }, 1, 0) != 0)
		r = error_set(err, -ENOENT, "there is no such process, or it is not yours");
	return r;
}

static int run(struct session *s, struct error *err)
{
	const struct tracer_request *q = s->request;
	const bool is_text = q->format == TRACE_TEXT;
	struct sites sites = { .level = (enum probe_level)q->level,
			       .options = { .sums = is_text, .sends_events = !is_text } };
	const struct tracing_options options = {
		.group = *q->group ? q->group : NULL,
		.pid = q->pid,
		.owner = &s->owner,
		.duration_ns = q->duration_ns,
		.budget = TRACING_BUDGET,
		.read = take_event,
		.open = take_open,
		.drop = say_drop,
		.begun = begun,
		.wait = wait_for_end,
		.context = s,
	};
	struct wanted_sets sets = {};
	struct tracer *tracer = NULL;
	struct traced traced = {};
	int r = admit(s, err);

	if (r == 0)
		r = wanted_sets_add_list(&sets, q->sets, true, err);
	wanted_sets_put(&sets, &sites);
	if (r == 0)
		r = sites_begin(&sites, err);
	s->output = (struct trace_output){ .format = (enum trace_format)q->format,
					   .job = *q->job ? q->job : NULL,
					   .tells_losses = true,
					   .sites = &sites };
	if (r == 0)
		r = trace_output_open(&s->output, false, err);
	if (r == 0)
		r = tracing_run(&options, &sites, &tracer, &traced, err);
	s->outside_ns = traced.outside_ns;
	return r < 0 ? r : trace_output_finish(&s->output, tracer, &traced, NULL, err);
}

/* What it holds goes with the process. */
void tracer_session(const struct tracer_request *request, int fd)
{
	struct session s = { .request = request,
			     .owner = { request->uid, request->gid },
			     .fd = fd };
	struct error err = {};
	int r = dup2(fd, STDOUT_FILENO) < 0 ? -errno : run(&s, &err);

	if (r < 0 && !s.is_begun)
		tracer_send_reply(fd, r, err.text);
	(void)fflush(stdout);
	_exit((int)MIN(s.outside_ns / TRACER_COST_NS, UINT64_C(255)));
}
