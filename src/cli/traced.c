/* SPDX-License-Identifier: MIT */
#include "cli/traced.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "cgroup/hierarchy.h"
#include "cli/measure.h"
#include "cli/measurer.h"
#include "client/client.h"
#include "load/tiers.h"
#include "sources/children.h"
#include "cgroup/identity.h"
#include "basic/file.h"
#include "cgroup/placement.h"
#include "cli/watch_target.h"
#include "basic/cli.h"
#include "basic/clock.h"
#include "cli/commands.h"
#include "codec/trace_post.h"
#include "trace/installed_sets.h"
#include "trace/sites.h"
#include "trace/traced_sums.h"
#include "trace/tracing.h"

struct traced_files {
	struct measure_options options;
	struct client *agent; /* NULL: there is none */
	int root_fd;
	struct hierarchy hierarchy;
	struct measurer *measurer;
	struct children_usage before;
	struct record *record; /* NULL: not read */
};

int traced_files_begin(struct traced_files **ret, struct error *err)
{
	_cleanup_(traced_files_freep) struct traced_files *f = calloc(1, sizeof(*f));
	const struct error none = {};
	int r;

	if (!f)
		return -ENOMEM;
	f->options = (struct measure_options){ .root = "/", .tiers = METER_T0 | METER_T2 };
	f->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f->root_fd < 0)
		return error_set_errno(err, errno, "cannot open '/'");
	r = hierarchy_read(f->root_fd, &f->hierarchy, err);
	if (r < 0)
		return r;
	(void)client_open(NULL, &f->agent, NULL);
	f->options.agent = f->agent;
	r = f->agent
		    ? measurer_new_agent(&f->options, f->root_fd, &f->hierarchy, &f->measurer)
		    : measurer_new_own(&f->options, f->root_fd, &f->hierarchy, &none, &f->measurer);
	if (r < 0)
		return error_set_errno(err, r, "cannot start the meter");
	r = f->measurer->begin(f->measurer, err);
	children_usage_begin(f->root_fd, &f->before);
	if (r == 0)
		*ret = TAKE_PTR(f);
	return r;
}

int traced_files_admit(struct traced_files *f, pid_t pid, struct error *err)
{
	return f->measurer->admit(f->measurer, pid, err);
}

int traced_files_read(struct traced_files *f, const struct child *child, struct error *err)
{
	_cleanup_(record_freep) struct record *record = record_new();
	int r;

	if (!record)
		return -ENOMEM;
	r = f->measurer->read(f->measurer, child, &f->before, record, err);
	if (r >= 0)
		f->record = TAKE_PTR(record);
	return r;
}

const struct reading *traced_files_reading(const struct traced_files *f)
{
	return f && f->record && f->record->reading.has_mounts ? &f->record->reading : NULL;
}

struct traced_files *traced_files_free(struct traced_files *f)
{
	if (!f)
		return NULL;
	measurer_freep(&f->measurer);
	hierarchy_clear(&f->hierarchy);
	client_close(f->agent);
	record_free(f->record);
	if (f->root_fd >= 0)
		close(f->root_fd);
	free(f);
	return NULL;
}

void traced_files_freep(struct traced_files **f)
{
	*f = traced_files_free(*f);
}

static bool find_target(int root_fd, const struct hierarchy *h, const struct watch_target *target,
			struct identity *ret)
{
	_cleanup_free_ char *path = NULL;

	return watch_groups_find(root_fd, h, target, &path, NULL) == 0 &&
	       identity_of(NULL, path, ret);
}

static bool find_process(int root_fd, const struct hierarchy *h, pid_t pid, struct identity *ret)
{
	struct placement p = {};
	bool is_found = false;

	if (placement_read(root_fd, h, pid, &p, NULL) == 0) {
		is_found = p.has_identity;
		*ret = p.has_outer ? p.outer : p.identity;
	}
	placement_clear(&p);
	return is_found;
}

void traced_job_find(const struct watch_target *target, pid_t pid, struct traced_job *ret)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct identity found = {};
	bool is_found;

	*ret = (struct traced_job){};
	if (root_fd < 0 || hierarchy_read(root_fd, &h, NULL) < 0)
		return;
	is_found = target ? find_target(root_fd, &h, target, &found)
			  : find_process(root_fd, &h, pid, &found);
	if (!is_found)
		return;
	ret->identity = found;
	if (strcmp(found.manager, "run") != 0 ||
	    file_read_small(root_fd, "proc/sys/kernel/random/boot_id", ret->scope,
			    sizeof(ret->scope)) < 0)
		ret->scope[0] = '\0';
	ret->scope[strcspn(ret->scope, "\n")] = '\0';
}

struct trace_teller {
	const struct sites *sites;
	struct client *client;
	struct trace_post post; /* what was told last */
};

struct trace_teller *trace_teller_open(const struct sites *sites)
{
	struct trace_teller *t = calloc(1, sizeof(*t));
	struct error err = {};

	if (t && client_open(NULL, &t->client, &err) < 0) {
		free(t);
		return NULL;
	}
	if (t) {
		t->sites = sites;
		t->post.trace_id = clock_now_ns(CLOCK_BOOTTIME);
	}
	return t;
}

struct trace_teller *trace_teller_close(struct trace_teller *t)
{
	if (!t)
		return NULL;
	client_close(t->client);
	trace_post_clear(&t->post);
	free(t);
	return NULL;
}

static int tell(struct trace_teller *t, const struct tracing_moment *moment, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	int r = traced_sums_read(moment->tracer, t->sites, moment->traced_ns, &t->post.calls);

	t->post.group_id = moment->group_id;
	t->post.is_last = moment->is_last;
	if (r == 0)
		r = trace_post_format(&t->post, &text);
	if (r < 0)
		return error_set_errno(err, r, "cannot read what was counted");
	return client_tell_trace(t->client, text, err);
}

void trace_teller_tell(struct trace_teller *t, const struct tracing_moment *moment)
{
	struct error err = {};

	if (tell(t, moment, &err) == 0 || !moment->is_last)
		return;
	error_prefix(&err, 0, "the job's record lacks what was traced last");
	cli_say(&cmd_trace, &err);
}

/* ---- the command of `run` ---- */

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
