/* SPDX-License-Identifier: MIT */
/* One trace of all jobs, for the site: its sums go to the agent, which knows what is a job. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/job_spans.h"
#include "agent/tracer_helper.h"
#include "agent/tracer_message.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "codec/trace_post.h"
#include "trace/group_sums.h"
#include "trace/installed_sets.h"
#include "trace/sites.h"
#include "trace/tracing.h"

#define AGAIN_NS \
	(300 * UINT64_C(1000000000)) /* after a probe was dropped: its caller may be gone */
#define LONGEST_NS (24 * UINT64_C(3600000000000)) /* then what it holds of files starts anew */

struct session {
	int fd; /* to the agent */
	struct group_sums *sums;
	struct job_spans *spans; /* NULL: nobody wants calls */
	const struct sites *sites;
	uint64_t dropped_ns; /* when a probe was dropped first, by CLOCK_MONOTONIC; 0: none was */
	uint32_t left_out_uid; /* of whom it was said last that files are left out */
	bool is_last;
};

static int take_event(void *context, const struct trace_event *event)
{
	struct session *s = context;

	return s->spans ? job_spans_take(s->spans, event) : 0;
}

static void say_drop(void *context, const struct site_row *row, uint64_t cost_ns)
{
	struct session *s = context;

	s->dropped_ns = s->dropped_ns ? s->dropped_ns : clock_now_ns(CLOCK_MONOTONIC);
	fprintf(stderr,
		"the trace of all jobs: '%s' costs too much (%.1f ms in a second): not probed for five minutes\n",
		row->name, (double)cost_ns / 1e6);
}

/* There was no room for them on their way. */
static void say_dropped(const struct sites *sites, const struct tracer *tracer)
{
	uint64_t dropped = 0;

	for (size_t i = 0; i < sites->row_count; i++) {
		struct trace_counts c;

		if (tracer_get_counts(tracer, i, &c) == 0)
			dropped += c.dropped;
	}
	if (dropped)
		fprintf(stderr,
			"the trace of all jobs: %" PRIu64 " calls came too fast for spans\n",
			dropped);
}

static int wait_for_end(void *context, int timeout_ms, struct error *err UNUSED)
{
	const struct session *s = context;
	struct pollfd p = { s->fd, POLLRDHUP, 0 };

	return poll(&p, 1, timeout_ms) <= 0 &&
	       (!s->dropped_ns || clock_now_ns(CLOCK_MONOTONIC) - s->dropped_ns < AGAIN_NS);
}

static void say_left_out(struct session *s)
{
	if (s->sites->left_out && s->left_out_uid != s->sites->left_out_uid)
		fprintf(stderr,
			"the trace of all jobs: user %u has more than an eighth of its files or probes: "
			"more are left out\n",
			s->sites->left_out_uid);
	if (s->sites->left_out)
		s->left_out_uid = s->sites->left_out_uid;
}

/* What the agent has no room for is told with the next. */
static int tell_group(void *context, const struct group_sum *sum)
{
	const struct session *s = context;
	const struct trace_post post = {
		.group_id = sum->group_id,
		.trace_id = sum->begin_ns,
		.is_last = s->is_last || !sum->is_live,
		.calls = *sum->calls,
	};
	_cleanup_free_ char *text = NULL;

	if (trace_post_format(&post, &text) < 0)
		return -ENOMEM;
	return send(s->fd, text, strlen(text), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void tell(void *context, const struct tracing_moment *moment)
{
	struct session *s = context;

	s->is_last = moment->is_last;
	say_left_out(s);
	(void)group_sums_read(s->sums, moment->tracer, tell_group, s);
	if (s->spans)
		(void)job_spans_work(s->spans);
}

static int run(const struct tracer_plan *plan, int spans_fd, struct session *s, struct error *err)
{
	struct sites sites = { .options = { .sums = true, .sends_events = spans_fd >= 0 },
			       .is_shared = true };
	const struct tracing_options options = {
		.is_of_all = true,
		.duration_ns = LONGEST_NS,
		.budget = TRACING_BUDGET,
		.read = take_event,
		.drop = say_drop,
		.wait = wait_for_end,
		.tell = tell,
		.context = s,
	};
	struct wanted_sets sets = {};
	struct tracer *tracer = NULL;
	struct traced traced = {};
	int r = wanted_sets_add_list(&sets, plan->sets, true, err);

	s->sites = &sites;
	wanted_sets_put(&sets, &sites);
	if (r == 0)
		r = sites_begin(&sites, err);
	if (r == 0)
		s->sums = group_sums_new(&sites);
	if (r == 0 && spans_fd >= 0)
		s->spans = job_spans_new(&sites, plan->rules, spans_fd);
	if (r == 0 && (!s->sums || (spans_fd >= 0 && !s->spans)))
		r = error_set_errno(err, ENOMEM, "cannot trace");
	if (r == 0)
		r = tracing_run(&options, &sites, &tracer, &traced, err);
	if (r == 0 && s->spans)
		say_dropped(&sites, tracer);
	if (s->spans)
		job_spans_finish(s->spans);
	s->sites = NULL;
	return r;
}

/* What it holds goes with the process. */
void tracer_trace_jobs(const struct tracer_plan *plan, int words_fd, int spans_fd)
{
	struct session s = { .fd = words_fd };
	struct error err = {};
	int r = run(plan, spans_fd, &s, &err);

	if (r < 0)
		fprintf(stderr, "the trace of all jobs ended, and begins again: %s\n", err.text);
	(void)send(words_fd, "", 0, MSG_NOSIGNAL);
	_exit(r < 0);
}
