/* SPDX-License-Identifier: MIT */
/* One trace of all jobs, for the site: its sums go to the agent, which knows what is a job. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/span_sender.h"
#include "agent/tracer_helper.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/idmap.h"
#include "basic/macro.h"
#include "cgroup/hierarchy.h"
#include "cgroup/identity.h"
#include "cgroup/placement.h"
#include "codec/trace_post.h"
#include "export/trace_output.h"
#include "trace/group_sums.h"
#include "trace/installed_sets.h"
#include "trace/sites.h"
#include "trace/tracing.h"

#define AGAIN_NS \
	(300 * UINT64_C(1000000000)) /* after a probe was dropped: its caller may be gone */
#define LONGEST_NS (24 * UINT64_C(3600000000000)) /* then what it holds of files starts anew */

/* ---- calls as spans (export/otlp.h): a trace for each job, which the cgroup of a process names,
 * and which ends when no process of it that called anything is left ---- */

#define CGROUPS_MAX 16384 /* that are remembered */
#define JOBS_MAX 1024

struct spans {
	char *name; /* "slurm/4711" */
	struct trace_output output;
	struct spans *next;
};

struct job_spans {
	const struct sites *sites;
	const struct identity_rules *rules;
	struct hierarchy hierarchy;
	int root_fd, fd;
	char boot[64], host[HOST_NAME_MAX + 1];
	struct idmap jobs; /* struct spans by cgroup; @none for those of no job */
	struct spans none;
	struct spans *first;
	size_t count;
};

/* NULL: no memory, or no cgroups. */
static struct job_spans *job_spans_new(const struct sites *sites,
				       const struct identity_rules *rules, int fd)
{
	struct job_spans *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->sites = sites;
	j->rules = rules;
	j->fd = fd;
	j->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)gethostname(j->host, sizeof(j->host) - 1);
	if (file_read_small(j->root_fd, "proc/sys/kernel/random/boot_id", j->boot,
			    sizeof(j->boot)) > 0)
		j->boot[strcspn(j->boot, "\n")] = '\0';
	if (hierarchy_read(j->root_fd, &j->hierarchy, NULL) < 0) {
		close(j->root_fd);
		free(j);
		return NULL;
	}
	return j;
}

/* A manager's job, around whatever else it is part of. */
static bool find_job(const struct job_spans *j, pid_t pid, struct identity *ret)
{
	struct placement p = {};
	struct identity inner;
	bool is_found;

	is_found = placement_read(j->root_fd, &j->hierarchy, pid, &p, NULL) == 0 && p.path &&
		   identity_of(j->rules, p.path, &inner);
	if (is_found && !identity_around(j->rules, p.path, &inner, ret))
		*ret = inner;
	placement_clear(&p);
	return is_found;
}

static int open_spans(struct job_spans *j, const struct identity *identity, uint64_t start_ns,
		      struct spans *s)
{
	struct otlp_options options = {
		.manager = identity->manager,
		.id = identity->job,
		.scope = strcmp(identity->manager, "run") == 0 ? j->boot : "",
		.name = s->name,
		.host = j->host,
		.slow_ns = OTLP_SLOW_NS,
		.start_ns = start_ns,
		.take = span_sender_put,
		.context = &j->fd,
	};

	s->output = (struct trace_output){
		.format = TRACE_OTLP,
		.sites = j->sites,
		.unix_offset_ns = clock_unix_offset_ns(),
	};
	options.unix_offset_ns = s->output.unix_offset_ns;
	return otlp_open(&options, &s->output.otlp, NULL);
}

static struct spans *spans_free(struct spans *s)
{
	trace_output_clear(&s->output);
	free(s->name);
	free(s);
	return NULL;
}

static struct spans *get_spans(struct job_spans *j, const struct identity *identity,
			       uint64_t start_ns)
{
	struct spans *s = j->first;
	char *name;

	if (asprintf(&name, "%s/%s", identity->manager, identity->job) < 0)
		return NULL;
	while (s && strcmp(s->name, name) != 0)
		s = s->next;
	if (s || j->count >= JOBS_MAX) {
		free(name);
		return s ? s : &j->none;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		free(name);
		return NULL;
	}
	s->name = name;
	if (open_spans(j, identity, start_ns, s) < 0)
		return spans_free(s);
	s->next = j->first;
	j->first = s;
	j->count++;
	return s;
}

/* One that is gone by now may yet be known by its cgroup. */
static struct spans *spans_of(struct job_spans *j, const struct trace_event *event)
{
	struct spans *s = idmap_get(&j->jobs, event->cgroup);
	struct identity identity;

	if (s)
		return s;
	s = find_job(j, (pid_t)event->tgid, &identity) ? get_spans(j, &identity, event->start_ns)
						       : &j->none;
	if (j->jobs.count >= CGROUPS_MAX)
		idmap_clear(&j->jobs);
	if (s && (s != &j->none || kill((pid_t)event->tgid, 0) == 0 || errno != ESRCH))
		(void)idmap_put(&j->jobs, event->cgroup, s);
	return s;
}

static int job_spans_take(struct job_spans *j, const struct trace_event *event)
{
	struct spans *s = spans_of(j, event);

	if (!s)
		return -ENOMEM;
	return s == &j->none ? 0 : trace_output_take(&s->output, event);
}

static bool is_gone(const struct spans *s)
{
	const struct callers *callers = &s->output.callers;

	for (size_t i = 0; i < callers->count; i++) {
		if (kill((pid_t)callers->items[i]->pid, 0) == 0 || errno != ESRCH)
			return false;
	}
	return true;
}

static void end_first(struct job_spans *j, struct spans **at)
{
	struct spans *s = *at;
	struct otlp_counts counts;

	*at = s->next;
	j->count--;
	(void)otlp_finish(s->output.otlp, clock_now_ns(CLOCK_MONOTONIC), &counts);
	idmap_clear(&j->jobs); /* others are found again */
	spans_free(s);
}

/* Now and then: what waits is sent, and traces of jobs that are gone end.  -ENOMEM. */
static int job_spans_work(struct job_spans *j)
{
	struct spans **at = &j->first;
	int r = 0;

	while (*at && r == 0) {
		if (is_gone(*at)) {
			end_first(j, at);
			continue;
		}
		r = otlp_flush((*at)->output.otlp);
		at = &(*at)->next;
	}
	return r;
}

static void job_spans_finish(struct job_spans *j)
{
	while (j->first)
		end_first(j, &j->first);
}

/* ---- the session ---- */

struct session {
	int fd; /* to the agent */
	struct group_sums *sums;
	struct job_spans *spans; /* NULL: no collector */
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

/* What the agent has no room for is sent with the next. */
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
