/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "client/client.h"
#include "cli/commands.h"
#include "basic/error.h"
#include "cgroup/group.h"
#include "cgroup/hierarchy.h"
#include "cgroup/placement.h"
#include "basic/macro.h"
#include "cli/on_demand.h"
#include "cli/output.h"
#include "basic/parse.h"
#include "analysis/rules.h"
#include "cli/site_rules.h"
#include "cli/watch.h"
#include "cli/watch_report.h"
#include "cli/watch_target.h"

#define INTERVAL_LEAST_NS 100000000u
#define INTERVAL_MOST_NS UINT64_C(60000000000)
#define DURATION_MOST_NS (UINT64_C(10000) * 24 * 3600 * 1000000000)

struct settings {
	const char *jobs, *user, *pid, *cgroup;
	uint64_t duration_ns, interval_ns;
	bool is_live, is_standalone;
	struct on_demand demand;
};

static int parse_duration(const char *text, void *at, struct error *err)
{
	if (parse_seconds(text, at) < 0 || *(uint64_t *)at == 0 ||
	    *(uint64_t *)at > DURATION_MOST_NS)
		return error_set(err, -EINVAL, "a duration is a number of seconds, not '%s'", text);
	return 0;
}

static int parse_interval(const char *text, void *at, struct error *err)
{
	uint64_t *ns = at;

	if (parse_seconds(text, ns) < 0 || *ns < INTERVAL_LEAST_NS || *ns > INTERVAL_MOST_NS)
		return error_set(err, -EINVAL, "an interval is from 0.1 to 60 seconds, not '%s'",
				 text);
	return 0;
}

#define AT(member) offsetof(struct settings, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "job", 'j', "ID[,ID]", "watch these jobs: 123, slurm/123", AT(jobs), NULL },
	{ "user", 'u', "USER", "watch all jobs of a user, also those that begin later", AT(user), NULL },
	{ "pid", 'p', "PID", "watch the job or cgroup of a process", AT(pid), NULL },
	{ "cgroup", 'c', "PATH", "watch a cgroup, or the job it is part of", AT(cgroup), NULL },
	{ "duration", 'd', "S", "stop after S seconds (default: at the end of the jobs)", AT(duration_ns), parse_duration },
	{ "interval", 'i', "S", "sample every S seconds (default: 1)", AT(interval_ns), parse_interval },
	{ "live", 'l', NULL, "print one line for each job and interval", AT(is_live), NULL },
	{ "standalone", 0, NULL, "measure without the agent (needs root)", AT(is_standalone), NULL },
};
/* clang-format on */

/* What is to be watched, checked. */
struct request {
	struct watch_targets targets;
	pid_t pid;
	uid_t uid;
	char *name; /* of a session */
};

static void request_clear(struct request *r)
{
	watch_targets_clear(&r->targets);
	free(r->name);
}

static int find_user(const char *name, uid_t *ret, struct error *err)
{
	const struct passwd *user = getpwnam(name);
	int number;

	if (user)
		*ret = user->pw_uid;
	else if (parse_int(name, 0, INT32_MAX, &number) == 0)
		*ret = (uid_t)number;
	else
		return error_set(err, -EINVAL, "there is no user '%s'", name);
	return 0;
}

static int check_request(const struct settings *s, int argc, char **argv, struct request *ret,
			 struct error *err)
{
	int given = !!s->jobs + !!s->user + !!s->pid + !!s->cgroup, r = 0;

	if (argc > 0)
		return error_set(err, -EINVAL,
				 "there is nothing to do with '%s'; did you mean '--job %s'?",
				 argv[0], argv[0]);
	if (given != 1)
		return error_set(err, -EINVAL, "give %s of --job, --user, --pid and --cgroup",
				 given ? "only one" : "one");
	if (s->jobs)
		r = watch_targets_parse(s->jobs, &ret->targets, err);
	else if (s->user)
		r = find_user(s->user, &ret->uid, err);
	else if (s->pid && parse_int(s->pid, 1, INT32_MAX, &ret->pid) < 0)
		r = error_set(err, -EINVAL, "a process is a number, not '%s'", s->pid);
	else if (s->cgroup && *s->cgroup != '/')
		r = error_set(err, -EINVAL, "a cgroup is a path that begins with '/', not '%s'",
			      s->cgroup);
	if (r < 0)
		return -EINVAL;
	if (asprintf(&ret->name, "%s%s", s->user ? "user " : "",
		     s->user   ? s->user
		     : s->jobs ? s->jobs
			       : "") < 0) {
		ret->name = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* The path that the agent knows a group by, where a directory was named. */
static char *path_of(const char *cgroup)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root_fd < 0 || hierarchy_read(root_fd, &h, NULL) < 0)
		return strdup(cgroup);
	return hierarchy_path_of(&h, cgroup);
}

static int open_with_agent(const struct settings *s, const struct request *request,
			   struct client *client, struct watch_source **ret, struct error *err)
{
	_cleanup_free_ char *path = s->cgroup ? path_of(s->cgroup) : NULL;
	const struct watch_backend agent = watch_backend_of(client);
	int r;

	if (s->jobs)
		return watch_jobs_open(&agent, &request->targets, ret, err);
	if (s->user)
		return watch_jobs_open_user(&agent, request->uid, ret, err);
	if (s->cgroup && !path)
		return error_set_errno(err, ENOMEM, "cannot watch");
	r = watch_agent_open_group(client, request->pid, path, ret, err);
	if (r == -ENOENT) /* what is no job can still be metered here */
		return error_prefix(err, r, "%s %s", s->pid ? "process" : "group",
				    s->pid ? s->pid : s->cgroup);
	return r;
}

/* By a sampler that knows all jobs. */
static int open_several(const struct settings *s, const struct request *request,
			struct watch_source **ret, struct error *err)
{
	struct watch_backend node;
	int r;

	r = watch_node_open(&s->demand, &node, err);
	if (r < 0)
		return r;
	r = s->user ? watch_jobs_open_user(&node, request->uid, ret, err)
		    : watch_jobs_open(&node, &request->targets, ret, err);
	if (r < 0)
		node.close(node.context);
	return r;
}

static int open_standalone(const struct settings *s, const struct request *request,
			   struct watch_source **ret, struct error *err)
{
	const struct watch_meter_options metering = { .job = s->jobs ? request->targets.items
								     : NULL,
						      .pid = s->pid ? request->pid : 0,
						      .group = s->cgroup,
						      .followed_max = on_demand_files(&s->demand),
						      .names_syscalls = s->demand.names_syscalls };

	if (s->user || request->targets.count > 1)
		return open_several(s, request, ret, err);
	return watch_meter_open(&metering, ret, err);
}

/* The agent where one lives; a group that is no job, and all where none lives, by ourselves. */
static int open_source(const struct settings *s, const struct request *request,
		       struct watch_source **ret, struct error *err)
{
	_cleanup_(client_closep) struct client *client = NULL;
	bool is_on_demand = s->demand.follows_files || s->demand.names_syscalls;
	bool is_root = geteuid() == 0;
	int r;

	if (s->is_standalone && !is_root)
		return error_set(err, -EPERM, "'--standalone' needs root");
	if (s->is_standalone)
		return open_standalone(s, request, ret, err);
	r = client_open(NULL, &client, err);
	if (is_on_demand && (r < 0 || !on_demand_is_counted(&s->demand, client)))
		return is_root ? open_standalone(s, request, ret, err)
			       : error_set(err, -EPERM,
					   "'--%s' needs root: the agent does not count them",
					   s->demand.follows_files ? "files" : "syscalls");
	if (r < 0 && !is_root)
		return error_prefix(err, r, "watching needs a running agent, or root");
	if (r < 0) {
		if (r != -ENOENT && r != -ECONNREFUSED) { /* there is one, but */
			error_prefix(err, r, "measuring without the agent");
			cli_say(&cmd_watch, err);
		}
		return open_standalone(s, request, ret, err);
	}
	r = open_with_agent(s, request, client, ret, err);
	if (r == 0)
		TAKE_PTR(client);
	if (r == -ENOENT && is_root && (s->pid || s->cgroup))
		return open_standalone(s, request, ret, err);
	return r;
}

/* A process outside any job: its cgroup is watched, with all that is in it. */
static void say_others(pid_t pid)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	_cleanup_(placement_clear) struct placement p = {};
	_cleanup_(group_removep) struct group *group = NULL;
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct error message;
	ssize_t count;

	if (root_fd < 0 || hierarchy_read(root_fd, &h, NULL) < 0 ||
	    placement_read(root_fd, &h, pid, &p, NULL) < 0 || p.has_identity ||
	    group_open(root_fd, &h, p.path, &group, NULL) < 0)
		return;
	count = group_list_processes(group, NULL, 0) - 1;
	if (count < 1)
		return;
	error_set(&message, 0,
		  "process %d is in %s, with %zd other%s: the report is of all of them", pid,
		  p.path, count, count == 1 ? "" : "s");
	cli_say(&cmd_watch, &message);
}

static int watch(const struct settings *s, struct output *output, struct request *request,
		 struct error *err)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	_cleanup_(watch_source_closep) struct watch_source *source = NULL;
	_cleanup_(session_clear) struct session session = {};
	/* lines go where the report for people goes */
	FILE *lines = output->format == OUTPUT_TEXT || output->file ? stdout : stderr;
	struct watch_live live = { .page = page_for(lines),
				   .is_terminal = isatty(fileno(lines)) == 1 };
	struct watch_options watch_options = { .duration_ns = s->duration_ns,
					       .interval_ns = s->interval_ns,
					       .look = s->is_live ? watch_live_print : NULL,
					       .context = &live };
	bool is_session = s->user || request->targets.count > 1;
	int r = site_rules_load(&cmd_watch, NULL, &rules, err), watched;

	output->rules = rules;
	if (r == 0)
		r = open_source(s, request, &source, err);
	if (r < 0)
		return r;
	if (request->pid)
		say_others(request->pid);
	watched = watch_jobs(source, &watch_options, &session, err);
	if (watched < 0 && watched != -EPIPE)
		return watched;
	session.name = request->name;
	if (!session.jobs.count)
		return watched < 0 ? watched
				   : error_set(err, -ENOENT, "user '%s' has no job here", s->user);
	if (s->is_live)
		fputc('\n', live.page.out);
	r = watch_report(output, &session, is_session, watched < 0 ? NULL : err);
	return watched < 0 ? watched : r;
}

static int run_watch(const struct cli_command *command, int argc, char **argv)
{
	struct settings settings = { .interval_ns = 1000000000, .demand = ON_DEMAND_NONE };
	struct output output = {};
	const struct cli_options groups[] = {
		{ options, ARRAY_SIZE(options), &settings },
		{ on_demand_options, on_demand_option_count, &settings.demand },
		{ output_options, output_option_count, &output },
	};
	_cleanup_(request_clear) struct request request = {};
	struct error err = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r > 0)
		r = check_request(&settings, argc, argv, &request, &err);
	if (r == 0)
		r = output_settle(&output, &err);
	if (r < 0)
		return cli_misuse(command, &err);
	if (output.file) /* it is written even if the reader of the lines is gone */
		signal(SIGPIPE, SIG_IGN);
	else if (settings.is_live && output.format != OUTPUT_TEXT)
		setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* a line a write */
	r = output_check(&output, &err);
	if (r == 0)
		r = watch(&settings, &output, &request, &err);
	return r < 0 ? cli_fail(command, &err) : CLI_WELL;
}

const struct cli_command cmd_watch = {
	.name = "watch",
	.arguments = "(--job ID[,ID] | --user USER | --pid PID | --cgroup PATH) [OPTION...]",
	.summary = "Watch running jobs from now on, and print a report on that time",
	.details =
		"Watches until the jobs end, the duration is over, or Ctrl-C.  With an agent on the node users\n"
		"see their own jobs; without one, watching needs root, as do --files and --syscalls where the\n"
		"agent's settings do not have 'files: on' and 'syscalls: on'.\n",
	.run = run_watch,
};
