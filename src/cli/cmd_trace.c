/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
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
#include "export/trace_output.h"
#include "cgroup/hierarchy.h"
#include "cli/child.h"
#include "cli/trace_by_agent.h"
#include "cli/traced.h"
#include "trace/installed_sets.h"
#include "trace/tracing.h"
#include "cli/watch_target.h"

struct settings {
	const char *job, *pid, *set_names, *file;
	const char *probes[SITES_SETS_MAX];
	size_t probe_count;
	uint64_t duration_ns, slow_ns;
	int budget;
	bool is_list, is_dry_run, has_format;
	enum trace_format format;
	enum probe_level level;
};

static int parse_probe(const char *text, void *at, struct error *err)
{
	struct settings *s = (void *)((char *)at - offsetof(struct settings, probes));

	if (s->probe_count == SITES_SETS_MAX)
		return error_set(err, -EINVAL, "'--probe' can be given %d times", SITES_SETS_MAX);
	s->probes[s->probe_count++] = text;
	return 0;
}

static int parse_format(const char *text, void *at, struct error *err)
{
	struct settings *s = (void *)((char *)at - offsetof(struct settings, format));

	s->has_format = true;
	return trace_format_parse(text, at, err);
}

static int parse_level(const char *text, void *at, struct error *err)
{
	for (size_t i = 0; probe_levels[i]; i++) {
		if (strcmp(probe_levels[i], text) == 0) {
			*(enum probe_level *)at = (enum probe_level)i;
			return 0;
		}
	}
	return error_set(err, -EINVAL, "a level is default, profile or trace, not '%s'", text);
}

static const char *level_word(const void *target UNUSED, size_t i)
{
	return probe_levels[i];
}

static const char *format_word(const void *target UNUSED, size_t i)
{
	return trace_format_name(i);
}

static int parse_duration(const char *text, void *at, struct error *err)
{
	if (parse_seconds(text, at) < 0 || *(uint64_t *)at == 0)
		return error_set(err, -EINVAL, "a duration is a number of seconds, not '%s'", text);
	return 0;
}

static int parse_slow(const char *text, void *at, struct error *err)
{
	if (parse_seconds(text, at) < 0)
		return error_set(err, -EINVAL, "'--slow' takes a number of seconds, not '%s'",
				 text);
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
	{ "pid", 'p', "PID", "trace a process and its descendants", AT(pid), NULL },
	{ "set", 's', "NAME[,NAME]", "trace these sets of functions; one with a '/' is a file (default: " INSTALLED_SETS_DEFAULT ")", AT(set_names), NULL },
	{ "probe", 0, "PROBE", "trace LIB:SYMBOL, a function of a library or program, too", AT(probes), parse_probe },
	{ "level", 0, "LEVEL", "trace functions up to a level", AT(level), parse_level, level_word },
	{ "duration", 'd', "S", "stop after S seconds (default: at the end)", AT(duration_ns), parse_duration },
	{ "budget", 0, "PERCENT", "remove a probe that costs more of a CPU (default: 5; 0: never)", AT(budget), parse_budget },
	{ "format", 'f', "FORMAT", "a summary (text), or all calls", AT(format), parse_format, format_word },
	{ "slow", 0, "S", "with otlp: all calls that took S seconds, too (default: 0.001)", AT(slow_ns), parse_slow },
	{ "output", 0, "FILE", "write to a file; with otlp also to the URL of a collector", AT(file), NULL },
	{ "list", 0, NULL, "list the sets and their functions", AT(is_list), NULL },
	{ "dry-run", 0, NULL, "print where probes would go and their cost, and attach nothing", AT(is_dry_run), NULL },
};
/* clang-format on */

static int read_sets(const struct settings *s, struct wanted_sets *ret, struct error *err)
{
	const char *names = s->set_names;
	int r = 0;

	if (!names && !s->probe_count && s->is_list)
		return wanted_sets_add_all(ret, err);
	if (!names && !s->probe_count)
		names = INSTALLED_SETS_DEFAULT;
	if (names)
		r = wanted_sets_add_list(ret, names, false, err);
	for (size_t i = 0; i < s->probe_count && r == 0; i++) {
		struct probe_set *set;

		r = probe_set_parse_argument(s->probes[i], &set, err);
		if (r == 0)
			r = wanted_sets_add(ret, set, err);
	}
	return r;
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

static void say_crowded(void *context UNUSED)
{
	struct error err;

	error_set(&err, 0, TRACING_CROWDED);
	cli_say(&cmd_trace, &err);
}

static void list_sets(const struct wanted_sets *sets)
{
	for (size_t i = 0; i < sets->count; i++) {
		const struct probe_set *set = sets->items[i];

		printf("%s%s: %s\n", i ? "\n" : "", set->name, set->about);
		for (size_t n = 0; n < set->probe_count; n++) {
			const struct probe *probe = set->probes[n];

			if (n && strcmp(set->probes[n - 1]->name, probe->name) == 0)
				continue; /* the same for another library */
			printf("  %-36s %-10s %s\n", probe->name, probe_kinds[probe->kind],
			       probe_levels[probe->level]);
		}
	}
}

static void print_sites(const struct sites *sites)
{
	const struct site_file *file = NULL;
	size_t missing = 0;

	for (size_t i = 0; i < sites->row_count; i++) {
		const struct site_row *row = sites->rows[i];

		if (row->file && row->file != file) {
			file = row->file;
			printf("%s%s%s\n", file->path, file->is_static ? " (static)" : "",
			       file->is_stripped ? " (stripped)" : "");
		}
		if (row->file && !row->site_count) {
			missing++;
			continue;
		}
		printf("  %-36s %s%s%s\n", row->name,
		       !row->file ? "of the kernel"
		       : row->cost == IMAGE_STEPPED
			       ? "slow: the kernel must single-step its first instruction"
			       : "fast",
		       row->withheld		      ? ", return not traced: "
		       : row->exit == PROBE_EXIT_NONE ? ""
						      : ", with its return",
		       row->withheld ? row->withheld : "");
	}
	if (!sites->row_count)
		puts("no file has any of the functions");
	trace_output_say_absent(sites);
	if (missing)
		printf("%zu functions are not in their files\n", missing);
}

/* Whether the sets have what moves bytes of files, which the kernel can say, too. */
static bool has_files(const struct wanted_sets *sets)
{
	for (size_t i = 0; i < sets->count; i++) {
		for (size_t n = 0; n < sets->items[i]->probe_count; n++) {
			enum probe_kind kind = sets->items[i]->probes[n]->kind;

			if (kind == PROBE_READ || kind == PROBE_WRITE)
				return true;
		}
	}
	return false;
}

/* A trace that is under way, and the command that it is of, if it is of one. */
struct trace {
	struct tracing_options options;
	struct trace_output output;
	char **command; /* NULL: none */
	struct child child;
	struct trace_teller *teller; /* of a job; NULL: there is no agent */
	struct traced_files *files; /* of the command; NULL: the kernel is not asked */
};

static int take_event(void *context, const struct trace_event *event)
{
	return trace_output_take(&((struct trace *)context)->output, event);
}

static int take_open(void *context, const struct trace_event *event)
{
	return trace_output_take_open(&((struct trace *)context)->output, event);
}

static void see_process(void *context, pid_t pid)
{
	trace_output_see(&((struct trace *)context)->output, pid);
}

static void tell_agent(void *context, const struct tracing_moment *moment)
{
	trace_teller_tell(((struct trace *)context)->teller, moment);
}

static int release_command(void *context, struct error *err)
{
	return child_release(&((struct trace *)context)->child, err);
}

static int wait_for_command(void *context, int timeout_ms, struct error *err)
{
	return child_wait(&((struct trace *)context)->child, timeout_ms, err);
}

static int prepare_command(struct trace *t, bool has_files, struct error *err)
{
	int r = has_files ? traced_files_begin(&t->files, err) : 0;

	if (r == 0)
		r = child_prepare(&t->child, t->command, err);
	if (r == 0 && t->files)
		r = traced_files_admit(t->files, t->child.pid, err);
	t->options.pid = t->child.pid;
	t->options.command = t->command;
	t->options.begun = release_command;
	t->options.wait = wait_for_command;
	return r;
}

/* It may run longer than the trace. */
static int end_command(struct trace *t, int r, struct error *err)
{
	while (r == 0 && t->child.pid && child_wait(&t->child, -1, NULL) > 0)
		;
	return r == 0 && t->files ? traced_files_read(t->files, &t->child, err) : r;
}

static int trace_all(struct trace *t, struct sites *sites, bool has_files, struct error *err)
{
	_cleanup_(tracer_closep) struct tracer *tracer = NULL;
	struct traced traced = {};
	int r = trace_output_open(&t->output, t->command != NULL, err);

	if (r == 0 && t->command)
		r = prepare_command(t, has_files, err);
	if (r == 0)
		r = tracing_run(&t->options, sites, &tracer, &traced, err);
	if (t->command)
		r = end_command(t, r, err);
	return r < 0 ? r
		     : trace_output_finish(&t->output, tracer, &traced,
					   traced_files_reading(t->files), err);
}

/* What the trace is of; @job outlives *ret. */
static void name_spans(const struct settings *s, const struct trace *t,
		       const struct watch_target *target, struct traced_job *job,
		       struct otlp_options *ret)
{
	const char *program = t->command ? *t->command : "processes";

	traced_job_find(target, t->options.pid ? t->options.pid : getpid(), job);
	*ret = (struct otlp_options){
		.manager = job->identity.manager,
		.id = job->identity.manager ? job->identity.job : NULL,
		.scope = job->scope,
		.name = s->job			? s->job
			: strrchr(program, '/') ? strrchr(program, '/') + 1
						: program,
		.slow_ns = s->slow_ns,
	};
}

static int trace(const struct settings *s, const struct wanted_sets *sets,
		 const struct watch_target *target, struct trace *t, int *ret_code,
		 struct error *err)
{
	_cleanup_(sites_clear) struct sites sites = {
		.level = s->level,
		.options = { .sums = s->format == TRACE_TEXT || t->options.group,
			     .sends_events = s->format != TRACE_TEXT },
	};
	struct traced_job job;
	int r;

	wanted_sets_put(sets, &sites);
	r = sites_begin(&sites, err);
	if (r == 0 && s->is_dry_run) {
		t->options.command = t->command;
		r = tracing_look(&t->options, &sites, err);
		if (r == 0)
			print_sites(&sites);
		return r;
	}
	if (r < 0)
		return r;
	t->output = (struct trace_output){
		.format = s->format, .file = s->file, .job = s->job, .sites = &sites
	};
	if (s->format == TRACE_OTLP)
		name_spans(s, t, target, &job, &t->output.spans);
	if (t->options.group && (t->teller = trace_teller_open(&sites)))
		t->options.tell = tell_agent;
	if (t->command)
		child_begin(&t->child);
	r = trace_all(t, &sites, s->format == TRACE_TEXT && has_files(sets), err);
	if (t->command) {
		*ret_code = child_exit_code(&t->child);
		child_clear(&t->child);
		child_end(&t->child);
	}
	traced_files_freep(&t->files);
	trace_output_clear(&t->output);
	t->teller = trace_teller_close(t->teller);
	return r;
}

/* Without root, by the agent. */
static int trace_own(const struct settings *s, const struct wanted_sets *sets,
		     const struct trace *t, const struct watch_targets *targets, int *ret_code,
		     struct error *err)
{
	_cleanup_(sites_clear) struct sites sites = { .level = s->level };
	struct trace_wish wish = {
		.job = targets->count ? targets->items : NULL,
		.pid = t->options.pid,
		.command = t->command,
		.sets = s->set_names ? s->set_names : INSTALLED_SETS_DEFAULT,
		.level = probe_levels[s->level],
		.format = trace_format_name(s->format),
		.duration_ns = s->duration_ns,
		.sites = &sites,
		.out = s->format == TRACE_TEXT && t->command ? stderr : stdout,
	};
	int r;

	if (s->probe_count || s->is_dry_run || s->budget != TRACING_BUDGET ||
	    s->format == TRACE_OTLP)
		return error_set(
			err, -EPERM,
			"only root may use '--probe', '--dry-run', '--budget' and '--format otlp'");
	wanted_sets_put(sets, &sites);
	r = sites_begin(&sites, err);
	if (r < 0)
		return r;
	if (s->file)
		wish.out = fopen(s->file, "we");
	if (!wish.out)
		return error_set_errno(err, errno, "cannot write '%s'", s->file);
	r = trace_by_agent(&wish, ret_code, err);
	if (s->file && fclose(wish.out) != 0 && r == 0)
		r = error_set_errno(err, errno, "cannot write '%s'", s->file);
	return r;
}

static int find_group(const struct watch_target *job, char **ret, struct error *err)
{
	_cleanup_(hierarchy_clear) struct hierarchy hierarchy = {};
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = root_fd < 0 ? error_set_errno(err, errno, "cannot trace")
			    : hierarchy_read(root_fd, &hierarchy, err);

	return r < 0 ? r : watch_groups_find(root_fd, &hierarchy, job, ret, err);
}

static int check(const struct settings *s, char **command, struct watch_targets *targets,
		 struct trace *ret, struct error *err)
{
	const int given = !!s->job + !!s->pid + !!*command;
	int r = 0;

	if (given != 1)
		return error_set(err, -EINVAL,
				 "%s of --job, --pid and a command says what to trace",
				 given ? "only one" : "one");
	if (s->job) {
		r = watch_targets_parse(s->job, targets, err);
		if (r == 0 && targets->count > 1)
			r = error_set(err, -EINVAL, "only one job can be traced");
	} else if (s->pid && parse_int(s->pid, 1, INT32_MAX, &ret->options.pid) < 0) {
		r = error_set(err, -EINVAL, "a process is a number, not '%s'", s->pid);
	} else if (*command) {
		ret->command = command;
	}
	return r;
}

/* What the file's ending says where '--format' does not. */
static void settle_format(struct settings *s)
{
	const char *ending = s->file ? strrchr(s->file, '.') : NULL;

	if (s->has_format || !s->file)
		return;
	if (trace_output_is_url(s->file))
		s->format = TRACE_OTLP;
	if (trace_output_is_url(s->file) || !ending)
		return;
	if (strcmp(ending, ".json") == 0)
		s->format = TRACE_CHROME;
	else if (strcmp(ending, ".ndjson") == 0)
		s->format = TRACE_NDJSON;
	else if (strcmp(ending, ".folded") == 0)
		s->format = TRACE_FOLDED;
}

static int run_trace(const struct cli_command *command, int argc, char **argv)
{
	struct settings settings = { .budget = TRACING_BUDGET, .slow_ns = OTLP_SLOW_NS };
	const struct cli_options groups[] = { { options, ARRAY_SIZE(options), &settings } };
	_cleanup_(watch_targets_clear) struct watch_targets targets = {};
	_cleanup_(wanted_sets_clear) struct wanted_sets sets = {};
	struct trace traced = { .options = { .read = take_event,
					     .open = take_open,
					     .drop = say_drop,
					     .crowded = say_crowded,
					     .see = see_process } };
	_cleanup_free_ char *group = NULL;
	struct error err = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err), code = CLI_WELL;

	if (r == 0)
		return CLI_WELL;
	if (r > 0)
		r = read_sets(&settings, &sets, &err);
	if (r == 0 && settings.is_list) {
		list_sets(&sets);
		return CLI_WELL;
	}
	if (r == 0)
		r = check(&settings, argv, &targets, &traced, &err);
	if (r < 0)
		return cli_misuse(command, &err);
	settle_format(&settings);
	traced.options.context = &traced;
	traced.options.duration_ns = settings.duration_ns;
	traced.options.budget = (unsigned int)settings.budget;
	if (geteuid() != 0) {
		r = trace_own(&settings, &sets, &traced, &targets, &code, &err);
		return r < 0 ? cli_fail(command, &err) : code;
	}
	if (targets.count)
		r = find_group(targets.items, &group, &err);
	traced.options.group = group;
	if (r == 0)
		r = trace(&settings, &sets, targets.count ? targets.items : NULL, &traced, &code,
			  &err);
	return r < 0 ? cli_fail(command, &err) : code;
}

const struct cli_command cmd_trace = {
	.name = "trace",
	.arguments = "(--job ID | --pid PID | [--] COMMAND [ARGUMENT...]) [OPTION...]",
	.summary = "Count and time calls of library functions, such as MPI and CUDA",
	.details =
		"Nothing is relaunched or relinked: probes are put on functions of running and of later\n"
		"processes, and removed when the trace ends.  Times are those of the calling thread.  Without\n"
		"root, the agent of the node traces your own processes, if its setting trace.users is on.\n"
		"Without --format the ending of FILE decides: .json, .ndjson, .folded; for a URL it is otlp.\n",
	.is_for_command = true,
	.run = run_trace,
};
