/* SPDX-License-Identifier: MIT */
#include "agent/job_spans.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/span_sender.h"
#include "basic/clock.h"
#include "basic/file.h"
#include "basic/idmap.h"
#include "cgroup/hierarchy.h"
#include "cgroup/identity.h"
#include "cgroup/placement.h"
#include "export/trace_output.h"
#include "trace/sites.h"

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

struct job_spans *job_spans_new(const struct sites *sites, const struct identity_rules *rules,
				int fd)
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

int job_spans_take(struct job_spans *j, const struct trace_event *event)
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

int job_spans_work(struct job_spans *j)
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

void job_spans_finish(struct job_spans *j)
{
	while (j->first)
		end_first(j, &j->first);
}
