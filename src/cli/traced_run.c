/* SPDX-License-Identifier: MIT */
#include "cli/traced_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "cli/commands.h"
#include "trace/installed_sets.h"
#include "trace/sites.h"
#include "trace/traced_sums.h"
#include "trace/tracing.h"

struct traced_run {
	struct wanted_sets sets;
	struct sites sites;
};

int traced_run_open(const char *names, struct traced_run **ret, struct error *err)
{
	struct traced_run *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return error_set_errno(err, ENOMEM, "cannot trace");
	r = geteuid() == 0 ? 0 : error_set(err, -EPERM, "tracing needs root");
	if (r == 0)
		r = wanted_sets_add_list(&t->sets, names, false, err);
	if (r == 0) {
		wanted_sets_put(&t->sets, &t->sites);
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
	wanted_sets_clear(&t->sets);
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

static void say_crowded(void *context UNUSED)
{
	struct error err;

	error_set(&err, 0, TRACING_CROWDED);
	cli_say(&cmd_run, &err);
}

int traced_run_trace(struct traced_run *t, const struct traced_command *command,
		     struct traced_calls *ret, struct error *err)
{
	const struct tracing_options options = {
		.pid = command->pid,
		.command = command->command,
		.budget = TRACING_BUDGET,
		.read = skip_event,
		.drop = say_nothing,
		.crowded = say_crowded,
		.begun = command->begin,
		.wait = command->wait,
		.context = command->context,
	};
	_cleanup_(tracer_closep) struct tracer *tracer = NULL;
	struct traced traced = {};
	int r = tracing_run(&options, &t->sites, &tracer, &traced, err);

	if (r < 0)
		return r;
	if (traced.files_left_out) /* a record has all calls, or says why it has none */
		return error_set(
			err, -E2BIG,
			"%zu programs and libraries have more probes than there is room for",
			traced.files_left_out);
	r = traced_sums_read(tracer, &t->sites, traced.end_ns - traced.start_ns, ret);
	return r < 0 ? error_set_errno(err, r, "cannot read what was counted") : 0;
}
