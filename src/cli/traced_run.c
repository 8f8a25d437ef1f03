/* SPDX-License-Identifier: MIT */
#include "cli/traced_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "trace/installed_sets.h"
#include "trace/sites.h"
#include "trace/traced_sums.h"
#include "trace/tracing.h"

#define BUDGET 5 /* percent of a core for each process, as `trace` has it */

struct traced_run {
	struct probe_set *sets[SITES_SETS_MAX];
	struct sites sites;
};

static int read_sets(struct traced_run *t, const char *names, struct error *err)
{
	_cleanup_free_ char *list = strdup(names);
	char *rest = list, *name;
	int r = list ? 0 : error_set_errno(err, ENOMEM, "cannot trace");

	while (r == 0 && (name = strsep(&rest, ","))) {
		if (t->sites.set_count == SITES_SETS_MAX)
			return error_set(err, -E2BIG, "at most %d sets can be traced at once",
					 SITES_SETS_MAX);
		r = installed_sets_read(name, &t->sets[t->sites.set_count], err);
		if (r == 0) {
			t->sites.sets[t->sites.set_count] = t->sets[t->sites.set_count];
			t->sites.set_count++;
		}
	}
	return r;
}

int traced_run_open(const char *names, struct traced_run **ret, struct error *err)
{
	struct traced_run *t = calloc(1, sizeof(*t));
	int r = t ? 0 : error_set_errno(err, ENOMEM, "cannot trace");

	if (r == 0 && geteuid() != 0)
		r = error_set(err, -EPERM, "tracing needs root");
	if (r == 0)
		r = read_sets(t, names, err);
	if (r == 0) {
		t->sites.options.sums = true;
		r = sites_begin(&t->sites, err);
	}
	if (r < 0) {
		traced_run_close(t);
		return r;
	}
	*ret = t;
	return 0;
}

struct traced_run *traced_run_close(struct traced_run *t)
{
	if (!t)
		return NULL;
	sites_clear(&t->sites);
	for (size_t i = 0; i < SITES_SETS_MAX; i++)
		probe_set_free(t->sets[i]);
	free(t);
	return NULL;
}

/* Calls one by one are for `trace`. */
static int skip_event(void *context UNUSED, const struct trace_event *event UNUSED)
{
	return 0;
}

/* The record says it. */
static void say_nothing(void *context UNUSED, const struct site_row *row UNUSED,
			uint64_t cost_ns UNUSED)
{
}

int traced_run_trace(struct traced_run *t, const struct traced_command *command,
		     struct traced_calls *ret, struct error *err)
{
	const struct tracing_options options = {
		.pid = command->pid,
		.program = command->program,
		.budget = BUDGET,
		.read = skip_event,
		.drop = say_nothing,
		.begun = command->begin,
		.wait = command->wait,
		.context = command->context,
	};
	_cleanup_(tracer_closep) struct tracer *tracer = NULL;
	struct traced traced = {};
	int r = tracing_run(&options, &t->sites, &tracer, &traced, err);

	if (r < 0)
		return r;
	r = traced_sums_read(tracer, &t->sites, traced.end_ns - traced.start_ns, ret);
	return r < 0 ? error_set_errno(err, r, "cannot read what was counted") : 0;
}
