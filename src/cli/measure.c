/* SPDX-License-Identifier: MIT */
#include "cli/measure.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup/allocation.h"
#include "cli/child.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "sources/children.h"
#include "cgroup/descendants.h"
#include "basic/error.h"
#include "basic/file.h"
#include "sources/machine.h"
#include "cli/identify.h"
#include "basic/macro.h"
#include "cli/measurer.h"
#include "cli/traced.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/sections/trace.h"
#include "energy/node_energy.h"
#include "sources/sources.h"

#define SURVIVORS_NAMED 16
#define WAIT_STEP_MS 50
#define LOOK_NS UINT64_C(1000000000)

/* Everything that a measurement holds, so that it is given back in one place. */
struct measurement {
	const struct measure_options *options;
	int root_fd;
	struct hierarchy hierarchy;
	bool has_hierarchy;
	struct measurer *measurer;
	struct child child;
	struct sources *sources; /* that have numbers of the command's process */
	struct source_attachments attachments;
	struct source_job job; /* as they know it */
	char *cpus; /* that it may use; NULL: not known */
	struct value values[METRIC_JOB_COUNT]; /* what they have of it so far */
	struct thermal_sums thermal;
	struct parts parts;
	struct traced_run *trace; /* NULL: nothing is traced */
	struct error why_no_trace; /* from some moment on */
	bool is_released, cannot_run; /* the command */
	struct node_energy *energy; /* for a record that has none */
	struct children_usage before;
	bool looks_inside; /* the measurer does */
	uint64_t polls, next_look_ns; /* by CLOCK_BOOTTIME */
	struct error why_no_cgroups, why_no_agent;
	struct record *record;
	bool holds_signals; /* for the caller, who has something to keep now */
};

static void measurement_clear(struct measurement *m)
{
	child_clear(&m->child);
	source_attachments_clear(&m->attachments);
	sources_free(m->sources);
	parts_clear(&m->parts);
	traced_run_close(m->trace);
	node_energy_free(m->energy);
	free(m->cpus);
	measurer_freep(&m->measurer);
	hierarchy_clear(&m->hierarchy);
	record_free(m->record);
	if (m->root_fd >= 0)
		close(m->root_fd);
	if (!m->holds_signals)
		child_end(&m->child);
}

static int choose_measurer(struct measurement *m, bool is_agent, struct error *err)
{
	const struct hierarchy *h = m->has_hierarchy ? &m->hierarchy : NULL;
	int r;

	measurer_freep(&m->measurer);
	m->measurer = NULL;
	r = is_agent
		    ? measurer_new_agent(m->options, m->root_fd, h, &m->measurer)
		    : measurer_new_own(m->options, m->root_fd, h, &m->why_no_cgroups, &m->measurer);
	if (r < 0)
		return error_set_errno(err, r, "cannot start the meter");
	assert(m->measurer);
	r = m->measurer->begin(m->measurer, err);
	/* then wait() has to tell, of all that the command leaves too: what they used, or when they
	 * end */
	if (r == 0 && (m->measurer->needs_children || m->options->is_patient))
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	return r;
}

/* The command is held back meanwhile: if the agent cannot take it, we can. */
static int admit(struct measurement *m, bool is_agent, struct error *err)
{
	int r;

	assert(m->measurer);
	r = m->measurer->admit(m->measurer, m->child.pid, is_agent ? &m->why_no_agent : err);
	if (r == 0 || !is_agent)
		return r;
	r = choose_measurer(m, false, err);
	if (r < 0)
		return r;
	assert(m->measurer);
	return m->measurer->admit(m->measurer, m->child.pid, err);
}

/* As the command begins, with each look, and as it ends. */
static int sample_sources(struct measurement *m)
{
	struct source_job_sample sample = {};
	int r = sources_sample(m->sources, clock_now_ns(CLOCK_BOOTTIME));

	if (r >= 0)
		r = sources_sample_job(m->sources, &m->attachments, &m->job, &sample);
	sources_ask(m->sources);
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		if (sample.added[id].is_known)
			m->values[id] = (struct value){
				m->values[id].number + sample.added[id].number, true
			};
	}
	if (sample.has_thermal)
		thermal_sums_add(&m->thermal, &sample.thermal);
	if (r >= 0)
		r = parts_add(&m->parts, &sample.parts);
	parts_clear(&sample.parts);
	return r;
}

/* @record: NULL: the command has not begun. */
static int take_energy(struct measurement *m, struct record *record)
{
	_cleanup_(energy_readings_clear) struct energy_readings readings = {};
	int r = sources_put_energy(m->sources, &readings);

	if (r < 0 || (record && record->reading.values[METRIC_ENERGY].is_known))
		return r; /* who measured the rest has it */
	return node_energy_take_run(m->energy, &readings,
				    record ? m->child.start_boot_ns : clock_now_ns(CLOCK_BOOTTIME),
				    m->child.end_boot_ns, record);
}

/* They need neither BPF nor a cgroup; no other part reads them for us. */
static int open_sources(struct measurement *m)
{
	const struct source_options options = { .root_fd = m->root_fd,
						.hierarchy = m->has_hierarchy ? &m->hierarchy
									      : NULL,
						.hardware = m->options->hardware };
	_cleanup_(reading_clear) struct reading unused = {};
	const struct source_list list = sources_all();
	bool is_wanted[SOURCES_MAX];
	int r;

	for (size_t i = 0; i < list.count; i++)
		is_wanted[i] = list.items[i]->sample_job || list.items[i]->has_energy;
	(void)allocation_read(m->root_fd, NULL, &unused, &m->cpus);
	m->job = (struct source_job){ .pid = m->child.pid, .cpus = m->cpus };
	r = sources_open(list, is_wanted, &options, &m->sources);
	if (r >= 0)
		r = sample_sources(m);
	if (r >= 0)
		r = node_energy_new(machine_for_energy(m->root_fd), POLICY_ALLOCATED, &m->energy);
	return r < 0 ? r : take_energy(m, NULL);
}

static int start(struct measurement *m, struct error *err)
{
	int r;

	m->has_hierarchy = hierarchy_read(m->root_fd, &m->hierarchy, &m->why_no_cgroups) >= 0;
	r = choose_measurer(m, m->options->agent, err);
	children_usage_begin(m->root_fd, &m->before);
	return r;
}

/* ---- looks while it runs ---- */

/* They are aligned to the wall clock, so that each is one of a bucket's edges. */
static void plan_look(struct measurement *m)
{
	m->next_look_ns = clock_now_ns(CLOCK_BOOTTIME) + LOOK_NS -
			  clock_now_ns(CLOCK_REALTIME) % LOOK_NS;
}

/* How long until the next look; -1: there is none. */
static int time_to_look(const struct measurement *m)
{
	uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME);

	if (!m->looks_inside && !sources_are_sampled(m->sources))
		return -1;
	return now_ns < m->next_look_ns ? (int)((m->next_look_ns - now_ns + 999999) / 1000000) : 0;
}

static void look(struct measurement *m)
{
	struct error err = {};
	int r;

	if (time_to_look(m) != 0)
		return;
	plan_look(m);
	(void)sample_sources(m);
	if (!m->looks_inside)
		return;
	r = m->measurer->look(m->measurer, &err);
	m->looks_inside = r != -ENOSYS;
	m->polls += r >= 0;
}

/* Of a run that was over before the first look it is all of one time; else what is known at the end
 * alone would seem to be of its last moment, or of all of them. */
static int settle_timeline(struct measurement *m)
{
	struct value values[TIMELINE_SERIES];
	struct timeline *timeline = &m->record->timeline;
	int r;

	if (!m->measurer->look || m->polls)
		return record_settle_timeline(m->record);
	timeline_clear(timeline);
	if (!m->looks_inside)
		return 0;
	timeline_values(&m->record->reading, NULL, values);
	r = timeline_begin(timeline, m->child.start_ns, m->child.start_boot_ns);
	return r < 0 ? r : timeline_feed(timeline, m->child.end_ns, m->child.end_boot_ns, values);
}

/* ---- its end ---- */

/* The command is in its group before anything counts it, and runs nothing before it is; nor has it
 * waited there for a trace, or for sensors to be found. */
static int release(void *context, struct error *err)
{
	struct measurement *m = context;
	int r = open_sources(m);

	if (r < 0)
		return error_set_errno(err, r, "cannot start the meter");
	r = admit(m, m->options->agent, err);
	if (r < 0)
		return r;
	r = child_release(&m->child, err);
	m->is_released = r == 0;
	m->cannot_run = r < 0;
	if (r == 0) {
		m->looks_inside = m->measurer->look;
		if (m->measurer->start)
			m->measurer->start(m->measurer, &m->child);
		plan_look(m);
	}
	return r;
}

/* At most that long, or until the next look; 1: it runs. */
static int wait_awhile(void *context, int timeout_ms, struct error *err)
{
	struct measurement *m = context;
	const int look_ms = time_to_look(m);
	int r = child_wait(&m->child,
			   look_ms < 0 || (timeout_ms >= 0 && timeout_ms < look_ms) ? timeout_ms
										    : look_ms,
			   err);

	if (r > 0)
		look(m);
	return r;
}

static int trace(struct measurement *m, char *const command[], struct error *err)
{
	_cleanup_(traced_calls_clear) struct traced_calls calls = {};
	struct error why = {};
	const struct traced_command traced = { .pid = m->child.pid,
					       .command = command,
					       .begin = release,
					       .wait = wait_awhile,
					       .context = m };
	int r = traced_run_trace(m->trace, &traced, &calls, err);

	if (r == 0 && m->measurer->tell_trace &&
	    m->measurer->tell_trace(m->measurer, &calls, &why) < 0)
		fprintf(stderr, "jobmeter run: the agent's record lacks the trace: %s\n", why.text);
	return r < 0 ? r : parts_put(&m->parts, &trace_section, &calls);
}

/* Let it begin, and wait for its end. */
static int run_command(struct measurement *m, char *const command[], struct error *err)
{
	int r = m->trace ? trace(m, command, err) : release(m, err);

	if (r < 0 && m->trace && m->is_released)
		m->why_no_trace = *err; /* the command cannot help it */
	else if (r < 0)
		return r;
	while (m->child.pid && (r = wait_awhile(m, -1, err)) > 0)
		;
	return MIN(r, 0);
}

/* Until nobody is left in the group, or without a group no child, or we are asked to end.  What
 * they use is in the record, and so is their time. */
static void wait_for_survivors(struct measurement *m)
{
	bool had_members = false;
	ssize_t count;
	int r = 0;

	while ((count = m->measurer->list(m->measurer, NULL, 0)) != 0) {
		had_members |= count > 0;
		r = child_wait_other(&m->child, WAIT_STEP_MS);
		look(m);
		if (r == -EINTR || (count < 0 && r == -ECHILD))
			break;
	}
	child_extend(&m->child, had_members || r == -EINTR);
}

static int name_survivors(struct measurement *m)
{
	pid_t pids[SURVIVORS_NAMED];
	ssize_t count = m->measurer->list(m->measurer, pids, ARRAY_SIZE(pids));
	struct record *record = m->record;

	if (count < 0)
		count = descendants_list(m->root_fd, getpid(), pids, ARRAY_SIZE(pids));
	for (ssize_t i = 0; i < MIN(count, (ssize_t)ARRAY_SIZE(pids)); i++) {
		char path[64], comm[64];
		int r;

		snprintf(path, sizeof(path), "proc/%d/comm", pids[i]);
		if (file_read_small(m->root_fd, path, comm, sizeof(comm)) < 0)
			continue; /* it went meanwhile */
		comm[strcspn(comm, "\n")] = '\0';
		r = record_add_survivor(record, pids[i], comm);
		if (r < 0)
			return r;
	}
	if (count > (ssize_t)ARRAY_SIZE(pids))
		return strings_add(&record->coverage.notes,
				   "processes that outlived the command and have no name here: %zd",
				   count - (ssize_t)ARRAY_SIZE(pids));
	return 0;
}

/* What was ending with the command has ended when all was read; its last counts are not in. */
static int drop_ended_survivors(struct measurement *m)
{
	struct record *record = m->record;
	size_t left = 0;
	bool has_dropped;

	for (size_t i = 0; i < record->survivor_count; i++) {
		if (descendants_is_alive(m->root_fd, record->survivors[i].pid))
			record->survivors[left++] = record->survivors[i];
		else
			free(record->survivors[i].command);
	}
	has_dropped = left < record->survivor_count;
	record->survivor_count = left;
	return has_dropped && !strings_contain(&record->coverage.notes, RECORD_NOTE_ENDING)
		       ? strings_add(&record->coverage.notes, RECORD_NOTE_ENDING)
		       : 0;
}

static int identify(struct measurement *m, char *const argv[])
{
	struct record *record = m->record;
	const struct passwd *user = getpwuid(getuid());
	const char *slash = strrchr(argv[0], '/');

	identify_node(m->root_fd, record);
	record->is_final = true;
	record->job.manager = strdup("run");
	record->job.name = strdup(slash && slash[1] ? slash + 1 : argv[0]);
	record->job.user = user ? strdup(user->pw_name) : NULL;
	record->job.uid = getuid();
	record->job.rank = identify_rank();
	record->job.dir = getcwd(NULL, 0);
	if (asprintf(&record->job.id, "%u",
		     m->measurer->number ? m->measurer->number : (unsigned int)getpid()) < 0) {
		record->job.id = NULL;
		return -ENOMEM;
	}
	return record_set_command(record, argv);
}

static int read_sources(struct measurement *m)
{
	int r = sample_sources(m);

	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		if (m->values[id].is_known)
			m->record->reading.values[id] = m->values[id];
	}
	m->record->thermal = thermal_samples_of(&m->thermal);
	if (r >= 0)
		r = parts_copy_to(&m->parts, m->record);
	return r < 0 ? r : sources_describe_job(m->sources, m->record);
}

static int finish(struct measurement *m, char *const argv[], struct error *err)
{
	int r;
	bool is_oom;
	uint64_t work_ns;
	struct record *record;
	const struct child *child;

	m->record = record_new();
	if (!m->record)
		return -ENOMEM;
	record = m->record;
	child = &m->child;
	record->time.start_ns = record->time.measured_from_ns = child->start_ns;
	record->time.end_ns = child->end_ns;
	record->time.elapsed_ns = child->end_boot_ns - child->start_boot_ns;
	if (WIFSIGNALED(child->status)) {
		record->job.signal = WTERMSIG(child->status);
		record->job.exit_code = -1;
	} else {
		record->job.exit_code = WEXITSTATUS(child->status);
		if (child->ended_by_sigterm && record->job.exit_code) /* as mpirun ends by one */
			record->job.signal = SIGTERM;
	}
	r = name_survivors(m);
	if (r >= 0)
		r = m->measurer->read(m->measurer, &m->child, &m->before, m->record, err);
	if (r >= 0)
		r = read_sources(m);
	/* As sacct(1) calls it, by what the counters say. */
	is_oom = m->record->reading.values[METRIC_MEMORY_OOM_KILLS].number > 0;
	m->record->job.state = strdup(m->child.status == 0 ? "COMPLETED"
				      : is_oom		   ? "OUT_OF_MEMORY"
							   : "FAILED");
	if (r >= 0)
		r = allocation_read(m->root_fd, m->has_hierarchy ? &m->hierarchy : NULL,
				    &m->record->reading, &m->record->job.cpus_allowed);
	if (r >= 0)
		r = machine_describe_numa(m->root_fd, m->record);
	if (r >= 0)
		r = take_energy(m, m->record);
	if (r >= 0)
		r = identify(m, argv);
	if (r >= 0 && record->job.rank >= 0 && rank_work(record->reading.values, true, &work_ns))
		r = rank_times_add(section_of(record, &rank_work_section), record->node, "",
				   (uint64_t)record->job.rank, work_ns);
	if (r >= 0 && *m->why_no_trace.text)
		r = strings_add(&m->record->coverage.missing, "traced functions: %s",
				m->why_no_trace.text);
	if (r >= 0 && *m->why_no_agent.text)
		r = strings_add(&m->record->coverage.notes,
				"the agent did not measure this run: %s", m->why_no_agent.text);
	if (r < 0)
		return r;
	record_close_accounting(m->record);
	r = record_note_cpu_excess(m->record);
	if (r >= 0)
		r = drop_ended_survivors(m);
	return r < 0 ? r : settle_timeline(m);
}

/* A suggestion for a program that does not exist. */
static const char *hint_of(const char *name)
{
	if (strpbrk(name, " |<>&;"))
		return "; a line for a shell is run by: sh -c 'LINE'";
	if (strchr(name, '=') && !strchr(name, '/'))
		return "; a variable is set by: env NAME=VALUE COMMAND";
	return strcmp(name, "cd") == 0 ? "; it is a shell's own command" : "";
}

int measure_command(const struct measure_options *options, char *const argv[], struct record **ret,
		    int *ret_code, struct error *err)
{
	_cleanup_(measurement_clear) struct measurement m = {
		.options = options,
		.root_fd = open(options->root, O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	int r;

	child_begin(&m.child);
	*ret_code = -1;
	if (m.root_fd < 0)
		return error_set_errno(err, errno, "cannot open '%s'", options->root);
	/* first: what this process has in memory by then the kernel takes for the command's */
	malloc_trim(0);
	r = child_prepare(&m.child, argv, err);
	if (r == 0 && options->traced)
		r = traced_run_open(options->traced, &m.trace, err);
	if (r == 0)
		r = start(&m, err);
	if (r < 0)
		return r;
	r = run_command(&m, argv, err);
	if (r < 0 && m.cannot_run) {
		*ret_code = r == -ENOENT ? 127 : 126;
		return error_set(err, r, "cannot run '%s': %s%s", argv[0], strerror(-r),
				 r == -ENOENT ? hint_of(argv[0]) : "");
	}
	if (r < 0) {
		*ret_code = m.is_released ? 1 : -1;
		return r;
	}
	*ret_code = child_exit_code(&m.child);
	if (options->is_patient)
		wait_for_survivors(&m);
	r = finish(&m, argv, err);
	if (r < 0)
		return r;
	m.holds_signals = options->mask;
	if (options->mask)
		*options->mask = m.child.mask;
	*ret = TAKE_PTR(m.record);
	return 0;
}
