/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "analysis/rules.h"
#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "basic/utf8.h"
#include "cgroup/group.h"
#include "cgroup/hierarchy.h"
#include "cgroup/placement.h"
#include "cli/commands.h"
#include "cli/on_demand.h"
#include "cli/output.h"
#include "cli/site_rules.h"
#include "cli/watch.h"
#include "cli/watch_target.h"
#include "client/client.h"
#include "codec/session.h"
#include "model/document.h"
#include "model/record.h"
#include "model/rows.h"
#include "report/mount_rows.h"
#include "report/page.h"
#include "report/reports.h"
#include "report/rows_text.h"

/* ---- what was watched, as a page or a document ---- */

struct what {
	const struct session *session;
	bool is_session, is_full;
	const struct rules *rules;
};

static void list_jobs(const struct session *session, struct page *page)
{
	static const struct rows_column columns[] = {
		{ "job" },
		{ "name", .is_left = true, .rank = 2 },
		{ "time" },
		{ "cores used" },
		{ "peak", .rank = 1 },
		{ "read" },
		{ "written" },
	};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_table *table;

	rows_gap(rows);
	table = rows_table(rows, ROWS_ALL, "jobs", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < session->jobs.count; i++) {
		const struct record *r = session->jobs.items[i];
		const struct value *peak = &r->reading.values[METRIC_MEMORY_PEAK];
		uint64_t cores = 0;
		bool has_cores = record_cores_busy(r, &cores);

		rows_row(table, ROWS_ALL);
		rows_words(table, "%s/%s", r->job.manager ? r->job.manager : "-",
			   r->job.id ? r->job.id : "-");
		rows_cell(table, cell_words(r->job.name));
		rows_cell(table, cell_number(ROWS_TIME, r->time.elapsed_ns));
		rows_cell(table, cell_words(has_cores ? humanize_cores(cores).text : NULL));
		rows_cell(table, cell_if(peak->is_known, cell_number(ROWS_SIZE, peak->number)));
		rows_cell(table, cell_total(r, METRIC_READ_BYTES));
		rows_cell(table, cell_total(r, METRIC_WRITE_BYTES));
	}
	rows_text(rows, ROWS_TEXT, page);
}

static int print_page(const struct what *what, FILE *out, struct error *err)
{
	_cleanup_(record_freep) struct record *sum = NULL;
	struct page page = page_for(out);
	int r;

	page.is_full = what->is_full;
	if (!what->is_session) {
		report_text(what->session->jobs.items[0], NULL, what->rules, &page);
		return 0;
	}
	r = session_sum(what->session, &sum);
	if (r < 0)
		return error_set_errno(err, r, "cannot sum the jobs");
	free(sum->job.name);
	sum->job.name = strdup(what->session->name);
	report_text(sum, NULL, what->rules, &page);
	list_jobs(what->session, &page);
	return 0;
}

static int write_record(const void *rules, const struct record *record, struct document *d)
{
	return analysis_format_record(rules, record, d);
}

static int write_session(const struct output *output, const struct session *session, FILE *out)
{
	const struct record_writer writer = { write_record, output->rules };
	_cleanup_(document_freep) struct document *d = output_new_document(output, out);
	_cleanup_(record_freep) struct record *sum = NULL;
	int r = d ? session_sum(session, &sum) : -ENOMEM;

	if (r == 0)
		r = session_format(session, sum, &writer, d);
	return r < 0 ? r : document_finish(d);
}

/* CSV and NDJSON have a record a line, whatever it is. */
static int write_machine(const struct output *output, const struct what *what, FILE *out)
{
	bool is_tree = output->format == OUTPUT_JSON || output->format == OUTPUT_YAML;

	return what->is_session && is_tree ? write_session(output, what->session, out)
					   : output_write(output, &what->session->jobs, out);
}

static int write_file(const struct output *output, const void *data, FILE *out, struct error *err)
{
	int r = output->format == OUTPUT_TEXT ? print_page(data, out, err)
					      : write_machine(output, data, out);

	return r < 0 && output->format != OUTPUT_TEXT
		       ? error_set_errno(err, r, "cannot write '%s'", output->file)
		       : r;
}

/* To the standard output, and the file of @output: one job's record, or @is_session.  There is one
 * job at least. */
static int watch_report(const struct output *output, const struct session *session, bool is_session,
			struct error *err)
{
	const struct what what = { session, is_session, output->is_full, output->rules };
	/* a file for machines leaves the terminal free for people */
	bool is_text_wanted = (output->format == OUTPUT_TEXT) != (output->file != NULL);
	int r = 0;

	if (output->file) /* first: who reads what is printed may have gone */
		r = output_save_by(output, write_file, &what, err);
	else if (output->format != OUTPUT_TEXT)
		r = write_machine(output, &what, stdout);
	if (output->file && (r < 0 || !is_text_wanted || output->is_quiet))
		return r;
	if (r == 0 && is_text_wanted && !output->is_quiet) {
		r = print_page(&what, stdout, err);
		if (r < 0)
			return r;
	}
	if (fflush(stdout) != 0 || r < 0)
		return error_set_errno(err, r < 0 ? r : errno,
				       "cannot write to the standard output");
	return 0;
}

/* ---- a line for each job and interval ---- */

struct watch_live {
	struct page page;
	bool is_terminal; /* the head is repeated */
	size_t lines;
};

#define LABEL_COLUMNS 20
#define HEAD_EVERY 20 /* lines, on a terminal */

static const struct column {
	const char *head;
	unsigned int end; /* where it ends, to the right */
} columns[] = {
	{ "cores", 36 }, { "memory", 47 }, { "read/s", 58 }, { "write/s", 69 }, { "calls/s", 78 },
};

/* The text of a column, right aligned. */
static void put_cell(struct page *page, size_t column, const char *text)
{
	size_t length = utf8_columns(text), end = columns[column].end;

	page_pad(page, end > length ? end - length : 0, 1);
	page_put(page, PAGE_PLAIN, "%s", text);
}

/* What happened so often, a second; rounded. */
static uint64_t rate(uint64_t number, uint64_t elapsed_ns)
{
	return (uint64_t)(((unsigned __int128)number * 1000000000 + elapsed_ns / 2) / elapsed_ns);
}

static void put_rate(struct page *page, size_t column, const struct record *r, enum metric_id id)
{
	uint64_t total;

	if (!r->time.elapsed_ns || !record_total(r, id, &total))
		put_cell(page, column, "-");
	else
		put_cell(page, column, humanize_bytes(rate(total, r->time.elapsed_ns)).text);
}

static void print_job(const struct watched *job, const char *time_text, struct page *page)
{
	_cleanup_(record_freep) struct record *r = NULL;
	_cleanup_free_ char *label = utf8_shorten(job->label, LABEL_COLUMNS);
	uint64_t cores;
	uint64_t reads, writes, meta;
	const struct metric *usage = metric_find("memory", "usage_bytes");
	const struct value *now;
	const struct value *peak;
	char text[48] = "-";

	if (!job->before || !label || record_subtract(job->last, job->before, &r, NULL) < 0 || !r)
		return;
	page_put(page, PAGE_PLAIN, "%s  %s", time_text, label);
	put_cell(page, 0, record_cores_busy(r, &cores) ? humanize_cores(cores).text : "-");
	/* memory now, if it is known; else the peak, marked as one */
	now = usage ? &r->reading.values[metric_id_of(usage)] : NULL;
	peak = &r->reading.values[METRIC_MEMORY_PEAK];
	if (now && now->is_known)
		snprintf(text, sizeof(text), "%s", humanize_bytes(now->number).text);
	else if (peak->is_known)
		snprintf(text, sizeof(text), "<%s", humanize_bytes(peak->number).text);
	put_cell(page, 1, text);
	put_rate(page, 2, r, METRIC_READ_BYTES);
	put_rate(page, 3, r, METRIC_WRITE_BYTES);
	if (!r->time.elapsed_ns || !record_total(r, METRIC_READ_CALLS, &reads) ||
	    !record_total(r, METRIC_WRITE_CALLS, &writes) ||
	    !record_total(r, METRIC_META_CALLS, &meta))
		put_cell(page, 4, "-");
	else
		put_cell(page, 4,
			 humanize_count(rate(reads + writes + meta, r->time.elapsed_ns)).text);
	page_end_line(page);
}

/* As watch_options.look wants it. */
static void watch_live_print(void *context, const struct watched_list *list, uint64_t due_ns)
{
	struct watch_live *live = context;
	const time_t due = (time_t)(due_ns / 1000000000);
	char text[16] = "";
	struct tm tm;

	if (localtime_r(&due, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	if (live->lines == 0 || (live->is_terminal && live->lines >= HEAD_EVERY)) {
		struct page *page = &live->page;

		page_put(page, PAGE_DIM, "time      job");
		for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
			put_cell(page, i, columns[i].head);
		page_end_line(page);
		live->lines = 0;
	}
	for (size_t i = 0; i < list->count; i++) {
		if (!list->items[i]->is_live)
			continue;
		print_job(list->items[i], text, &live->page);
		live->lines++;
	}
	fflush(live->page.out);
}

/* ---- the command ---- */

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
