/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "cli/commands.h"
#include "cli/tracing.h"
#include "cli/watch_target.h"

#define BUDGET 5

struct settings {
	const char *job, *pid, *format, *file;
	struct probe_set *sets[SITES_SETS_MAX];
	size_t set_count;
	uint64_t duration_ns;
	int budget;
	bool is_list, is_dry_run;
	enum probe_level level;
};

static int parse_probe(const char *text, void *at, struct error *err)
{
	struct settings *s = (void *)((char *)at - offsetof(struct settings, sets));

	if (s->set_count == SITES_SETS_MAX)
		return error_set(err, -EINVAL, "at most %d sets and probes can be traced at once",
				 SITES_SETS_MAX);
	if (probe_set_parse_argument(text, &s->sets[s->set_count], err) < 0)
		return -EINVAL;
	s->set_count++;
	return 0;
}

static int parse_duration(const char *text, void *at, struct error *err)
{
	if (parse_seconds(text, at) < 0 || *(uint64_t *)at == 0)
		return error_set(err, -EINVAL, "a duration is a number of seconds, not '%s'", text);
	return 0;
}

static int parse_budget(const char *text, void *at, struct error *err)
{
	if (parse_int(text, 0, 100, at) < 0)
		return error_set(err, -EINVAL, "a budget is from 0 to 100 percent, not '%s'", text);
	return 0;
}

#define AT(member) offsetof(struct settings, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "job", 'j', "ID", "trace a job: 123, slurm/123", AT(job), NULL },
	{ "pid", 'p', "PID", "trace a process and its children", AT(pid), NULL },
	{ "probe", 0, "LIB:SYMBOL[(NAME=VALUE,...)]", "probe a function of a library or program", AT(sets), parse_probe },
	{ "duration", 'd', "S", "stop after S seconds (default: at the end)", AT(duration_ns), parse_duration },
	{ "budget", 0, "PERCENT", "what a probe may cost of a core for each process (default: 5; 0: any)", AT(budget), parse_budget },
	{ "dry-run", 0, NULL, "say where the probes would go, and attach nothing", AT(is_dry_run), NULL },
};
/* clang-format on */

static void settings_clear(struct settings *s)
{
	for (size_t i = 0; i < s->set_count; i++)
		probe_set_free(s->sets[i]);
}

static int take_event(void *context UNUSED, const struct trace_event *event UNUSED)
{
	return 0;
}

static void say_drop(void *context UNUSED, const struct site_row *row, uint64_t cost_ns)
{
	struct error err;

	error_set(
		&err, 0,
		"'%s' costs more than the budget (%.1f ms in a second): it is not probed any more",
		row->name, (double)cost_ns / 1e6);
	cli_say(&cmd_trace, &err);
}

static void print_sites(const struct sites *sites, FILE *out)
{
	for (size_t i = 0; i < sites->row_count; i++) {
		const struct site_row *row = sites->rows[i];

		fprintf(out, "%-32s %3zu %-8s %s\n", row->name, row->site_count,
			row->cost == IMAGE_STEPPED ? "stepped" : "emulated",
			row->file ? row->file->path : "(kernel)");
	}
}

struct total {
	unsigned long long calls, bytes, ns;
};

static int add_sums(void *context, const struct trace_sums_key *key, const struct trace_sums *sums)
{
	struct total *total = (struct total *)context + key->row;

	total->calls += sums->calls;
	total->bytes += sums->bytes;
	total->ns += sums->ns;
	return 0;
}

static void print_counts(const struct tracer *t, const struct sites *sites, FILE *out)
{
	const struct attach_costs *costs = tracer_costs(t);
	_cleanup_free_ struct total *totals = calloc(TRACE_ROWS_MAX, sizeof(*totals));

	tracer_visit_sums(t, add_sums, totals);
	fprintf(out, "an empty probe: %lu ns, stepped over %lu ns, return %lu ns\n",
		(unsigned long)costs->emulated_ns, (unsigned long)costs->stepped_ns,
		(unsigned long)costs->return_ns);
	for (size_t i = 0; i < sites->row_count; i++) {
		struct trace_counts c = {};

		tracer_get_counts(t, i, &c);
		fprintf(out,
			"%s calls %llu bytes %llu ns %llu made %llu outside %llu skipped %llu dropped %llu deep %llu left %llu hits %llu\n",
			sites->rows[i]->name, totals[i].calls, totals[i].bytes, totals[i].ns,
			c.made, c.outside, c.skipped, c.dropped, c.too_deep, c.left, c.hits);
	}
}

static int trace(const struct settings *s, const struct tracing_options *tracing, int *ret_code,
		 struct error *err)
{
	_cleanup_(sites_clear) struct sites sites = { .set_count = s->set_count,
						      .level = PROBE_LEVEL_TRACE,
						      .options = { .sums = true } };
	_cleanup_(tracer_closep) struct tracer *tracer = NULL;
	struct traced traced = {};
	int r;

	memcpy(sites.sets, s->sets, sizeof(s->sets));
	r = sites_begin(&sites, err);
	if (r < 0)
		return r;
	if (s->is_dry_run) {
		r = tracing_look(tracing, &sites, err);
		print_sites(&sites, stdout);
		return r;
	}
	r = tracing_run(tracing, &sites, &tracer, &traced, err);
	if (r < 0)
		return r;
	*ret_code = traced.exit_code;
	print_counts(tracer, &sites, stderr);
	return 0;
}

static int check(const struct settings *s, char **command, struct watch_targets *targets,
		 struct tracing_options *ret, struct error *err)
{
	const int given = !!s->job + !!s->pid + !!*command;
	int r = 0;

	if (given != 1)
		return error_set(err, -EINVAL,
				 "%s of --job, --pid and a command says what to trace",
				 given ? "only one" : "one");
	if (!s->set_count)
		return error_set(err, -EINVAL, "--set or --probe says which functions to trace");
	if (s->job) {
		r = watch_targets_parse(s->job, targets, err);
		if (r == 0 && targets->count > 1)
			r = error_set(err, -EINVAL, "only one job can be traced");
		ret->job = &targets->items[0];
	} else if (s->pid && parse_int(s->pid, 1, INT32_MAX, &ret->pid) < 0) {
		r = error_set(err, -EINVAL, "a process is a number, not '%s'", s->pid);
	} else if (*command) {
		ret->command = command;
	}
	return r;
}

static int run_trace(const struct cli_command *command, int argc, char **argv)
{
	_cleanup_(settings_clear) struct settings settings = { .budget = BUDGET };
	const struct cli_options groups[] = { { options, ARRAY_SIZE(options), &settings } };
	_cleanup_(watch_targets_clear) struct watch_targets targets = {};
	struct tracing_options tracing = { .read = take_event, .drop = say_drop };
	struct error err = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err), code = CLI_WELL;

	if (r == 0)
		return CLI_WELL;
	if (r > 0)
		r = check(&settings, argv, &targets, &tracing, &err);
	if (r < 0)
		return cli_misuse(command, &err);
	tracing.duration_ns = settings.duration_ns;
	tracing.budget = (unsigned int)settings.budget;
	if (geteuid() != 0)
		r = error_set(&err, -EPERM, "tracing needs root");
	if (r == 0)
		r = trace(&settings, &tracing, &code, &err);
	return r < 0 ? cli_fail(command, &err) : code;
}

const struct cli_command cmd_trace = {
	.name = "trace",
	.arguments = "(--job ID | --pid PID | [--] COMMAND [ARGUMENT...]) [OPTION...]",
	.summary = "Trace calls of library functions, of a job or command",
	.details = "",
	.is_for_command = true,
	.run = run_trace,
};
