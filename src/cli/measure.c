/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocation.h"
#include "canary.h"
#include "child.h"
#include "cleanup.h"
#include "collectors/collectors.h"
#include "descendants.h"
#include "error.h"
#include "file.h"
#include "group_files.h"
#include "macro.h"
#include "meter.h"
#include "parse.h"

#define SETTLE_MS 1000       /* tasks are freed within some 20 ms of their end */
#define SHORT_TRIES 3
#define CPU_SLACK_NS 10000000 /* ticks */
#define SURVIVORS_NAMED 16
#define WAIT_STEP_MS 50

/* Everything that a measurement holds, so that it is given back in one place. */
struct measurement {
	const struct measure_options *options;
	int root_fd;
	struct hierarchy hierarchy;
	bool has_hierarchy;
	struct group *group;
	struct meter *meter;
	struct child child;
	struct children_usage before;
	struct error why_no_group, why_no_canary;
	struct record *record;
};

static void measurement_clear(struct measurement *m)
{
	child_clear(&m->child);
	meter_close(m->meter);
	group_remove(m->group);
	hierarchy_clear(&m->hierarchy);
	record_free(m->record);
	if (m->root_fd >= 0)
		close(m->root_fd);
}

static void make_group(struct measurement *m)
{
	char name[64];

	if (hierarchy_read(m->root_fd, &m->hierarchy, &m->why_no_group) < 0)
		return;
	m->has_hierarchy = true;
	snprintf(name, sizeof(name), "jobmeter-run-%d", getpid());
	(void)group_make(m->root_fd, &m->hierarchy, name, &m->group, &m->why_no_group);
}

static bool uses_tasks(const struct measurement *m)
{
	return m->meter && meter_has_tier(m->meter, METER_T0);
}

static int open_meter(struct measurement *m, struct error *err)
{
	struct meter_options options = {
		.root_fd = m->root_fd,
		.tiers = m->options->tiers,
		.has_clock = true,
		.has_histograms = true,
		.sizes = m->options->map_sizes,
		.followed_max = m->options->followed_max,
		.watched_id = group_id(m->group),
		.hierarchy = &m->hierarchy,
	};
	int r = meter_open(&options, &m->meter);

	if (r < 0)
		return error_set_errno(err, r, "cannot start the meter");
	if (meter_has_tier(m->meter, METER_T0) || meter_has_tier(m->meter, METER_T2))
		(void)canary_sing(m->meter, m->root_fd, &m->hierarchy, options.watched_id,
				  false, &m->why_no_canary);
	meter_follow_files(m->meter);
	return 0;
}

/* The command is in its group before anything counts it, and runs nothing before it is. */
static int start(struct measurement *m, char *const argv[], struct error *err)
{
	int r;

	make_group(m);
	if (m->group) {
		r = open_meter(m, err);
		if (r < 0)
			return r;
	}
	if (!uses_tasks(m)) /* then wait() has to tell, of all that the command leaves too */
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	children_usage_begin(m->root_fd, &m->before);
	r = child_prepare(argv, &m->child, err);
	if (r < 0)
		return r;
	return m->group ? group_add_process(m->group, m->child.pid, err) : 0;
}

/* Until nobody is left in the group, or without a group no child, or we are asked to end. */
static void wait_for_survivors(struct measurement *m)
{
	for (;;) {
		int r = child_wait_other(&m->child, WAIT_STEP_MS);

		if (r == -EINTR)
			return;
		if (m->group ? group_list_processes(m->group, NULL, 0) == 0 : r == -ECHILD)
			return;
	}
}

static int name_survivors(struct measurement *m)
{
	pid_t pids[SURVIVORS_NAMED];
	ssize_t count = m->group ? group_list_processes(m->group, pids, ARRAY_SIZE(pids)) :
				   descendants_list(m->root_fd, getpid(), pids, ARRAY_SIZE(pids));
	struct record *record = m->record;

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
		return strings_add(&record->coverage.notes, "%zd more processes outlived the command",
				   count - (ssize_t)ARRAY_SIZE(pids));
	return 0;
}

/* What wait() says of the command and those that it waited for is part of the whole. */
static bool is_short_of_wait(const struct measurement *m)
{
	const struct value *values = m->record->reading.values;
	uint64_t counted = values[METRIC_CPU_USER].number + values[METRIC_CPU_SYSTEM].number;
	uint64_t waited = children_cpu_ns(&m->before);

	return counted + m->child.overhead_ns + waited / 100 + CPU_SLACK_NS < waited;
}

/* Read until all that ended is in, or patience is. */
static int read_meter(struct measurement *m, struct error *err)
{
	struct reading *reading = &m->record->reading;
	struct strings *notes = &m->record->coverage.notes;
	bool is_settled = meter_settle(m->meter, SETTLE_MS) == 0;
	int r = meter_read(m->meter, reading, err);

	if (r < 0 || !uses_tasks(m))
		return r;
	for (int tries = 0; is_short_of_wait(m) && tries < SHORT_TRIES; tries++) {
		reading_clear(reading);
		is_settled = meter_settle(m->meter, SETTLE_MS) == 0;
		r = meter_read(m->meter, reading, err);
		if (r < 0)
			return r;
	}
	if (is_short_of_wait(m)) {
		raise_to_children(&m->before, reading);
		return strings_add(notes, "CPU time is what wait() says: the kernel side saw less");
	}
	if (!is_settled && !m->record->survivor_count)
		return strings_add(notes, "the last of the CPU time of tasks that ended is not in");
	return 0;
}

static int read_counters(struct measurement *m, struct error *err)
{
	struct reading *reading = &m->record->reading;
	int r = m->meter ? read_meter(m, err) : 0;

	if (r >= 0 && m->meter)
		r = meter_read_files(m->meter, reading, &m->record->files, err);
	if (r < 0)
		return r;
	if (!uses_tasks(m))
		collect_children(m->root_fd, &m->before, reading);
	if (m->group)
		group_files_collect(m->group, reading);
	return allocation_read(m->root_fd, m->has_hierarchy ? &m->hierarchy : NULL, reading,
			       &m->record->job.cpus_allowed);
}

/* A label of the environment; it never decides whose the job is. */
static int read_rank(void)
{
	static const char *const names[] = { "SLURM_PROCID", "PMIX_RANK", "PMI_RANK",
					     "OMPI_COMM_WORLD_RANK", "FLUX_TASK_RANK" };
	int rank;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *text = getenv(names[i]);

		if (text && parse_int(text, 0, INT32_MAX, &rank) == 0)
			return rank;
	}
	return -1;
}

static char *read_word(int root_fd, const char *path)
{
	char text[256];

	if (file_read_small(root_fd, path, text, sizeof(text)) < 0)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return strdup(text);
}

static int identify(struct measurement *m, char *const argv[])
{
	struct record *record = m->record;
	const struct passwd *user = getpwuid(getuid());
	const char *slash = strrchr(argv[0], '/');

	record->node = read_word(m->root_fd, "proc/sys/kernel/hostname");
	record->boot_id = read_word(m->root_fd, "proc/sys/kernel/random/boot_id");
	record->agent_version = strdup(JOBMETER_VERSION);
	record->is_final = true;
	record->job.manager = strdup("run");
	record->job.name = strdup(slash && slash[1] ? slash + 1 : argv[0]);
	record->job.user = user ? strdup(user->pw_name) : NULL;
	record->job.uid = getuid();
	record->job.rank = read_rank();
	record->job.folder = getcwd(NULL, 0);
	if (asprintf(&record->job.id, "%d", getpid()) < 0) {
		record->job.id = NULL;
		return -ENOMEM;
	}
	return record_set_command(record, argv);
}

static void tell_end(struct measurement *m)
{
	struct record *record = m->record;
	const struct child *child = &m->child;

	record->time.start_ns = record->time.measured_from_ns = child->start_ns;
	record->time.end_ns = child->end_ns;
	record->time.elapsed_ns = child->end_boot_ns - child->start_boot_ns;
	if (WIFSIGNALED(child->status)) {
		record->job.signal = WTERMSIG(child->status);
		record->job.exit_code = -1;
	} else {
		record->job.exit_code = WEXITSTATUS(child->status);
	}
	record->job.state = strdup(child->status == 0 ? "COMPLETED" : "FAILED");
}

/* Why the group's peak is not known, where there is a group. */
static const char *why_no_peak(const struct measurement *m)
{
	int fd = group_fd(m->group, CONTROLLER_MEMORY);

	if (fd >= 0 && faccessat(fd, "memory.current", F_OK, 0) == 0)
		return "this kernel keeps none (memory.peak came with Linux 5.19)";
	return "its cgroup has no memory controller";
}

static int tell_no_meter(struct measurement *m)
{
	struct strings *missing = &m->record->coverage.missing;

	if (geteuid() != 0)
		return strings_add(missing, "files by mount, waiting for a CPU and memory of the whole "
					    "command: run as root to see them");
	return strings_add(missing, "files by mount, waiting for a CPU and memory of the whole command: %s",
			   m->why_no_group.text);
}

/* In words: what is absent from this record, and what weakens its numbers. */
static int tell_not_seen(struct measurement *m)
{
	struct record *record = m->record;
	int r = m->meter ? meter_describe(m->meter, record) : tell_no_meter(m);

	if (r >= 0 && *m->why_no_canary.text)
		r = strings_add(&record->coverage.notes, "hooks were not checked: %s",
				m->why_no_canary.text);
	if (r >= 0 && m->options->followed_max)
		r = record->files.is_known ?
			    strings_add(&record->coverage.tiers, "T3") :
			    strings_add(&record->coverage.missing, "hot files: they take T2, files by mount");
	if (r >= 0 && !uses_tasks(m)) {
		r = strings_add(&record->coverage.tiers, "children");
		if (r >= 0)
			r = strings_add(&record->coverage.notes,
					"lower bound: processes that nobody waited for, if there were "
					"any, are not in CPU time and I/O");
	}
	if (r >= 0 && m->group && !record->reading.values[METRIC_MEMORY_PEAK].is_known)
		r = strings_add(&record->coverage.missing, "memory of the whole command: %s",
				why_no_peak(m));
	return r;
}

static int finish(struct measurement *m, char *const argv[], struct error *err)
{
	int r;

	m->record = record_new();
	if (!m->record)
		return -ENOMEM;
	tell_end(m);
	r = name_survivors(m);
	if (r >= 0)
		r = read_counters(m, err);
	if (r >= 0)
		r = identify(m, argv);
	if (r >= 0)
		r = tell_not_seen(m);
	if (r < 0)
		return r;
	record_close_books(m->record);
	return 0;
}

int measure_command(const struct measure_options *options, char *const argv[], struct record **ret,
		    int *ret_code, struct error *err)
{
	_cleanup_(measurement_clear) struct measurement m = {
		.options = options,
		.root_fd = open(options->root, O_PATH | O_DIRECTORY | O_CLOEXEC),
		.child = { .release_fd = -EBADF, .signal_fd = -EBADF },
	};
	int r;

	*ret_code = 1;
	if (m.root_fd < 0)
		return error_set_errno(err, errno, "cannot open '%s'", options->root);
	r = start(&m, argv, err);
	if (r < 0)
		return r;
	r = child_release(&m.child, err);
	if (r < 0) {
		*ret_code = r == -ENOENT ? 127 : 126;
		return error_set_errno(err, r, "cannot run '%s'", argv[0]);
	}
	r = child_wait(&m.child, err);
	if (r < 0)
		return r;
	*ret_code = child_exit_code(&m.child);
	if (options->is_patient)
		wait_for_survivors(&m);
	r = finish(&m, argv, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(m.record);
	return 0;
}
