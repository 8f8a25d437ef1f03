/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <assert.h>
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
#include "child.h"
#include "cleanup.h"
#include "collectors/collectors.h"
#include "descendants.h"
#include "error.h"
#include "file.h"
#include "identify.h"
#include "macro.h"
#include "measurer.h"
#include "parse.h"

#define SURVIVORS_NAMED 16
#define WAIT_STEP_MS 50

/* Everything that a measurement holds, so that it is given back in one place. */
struct measurement {
	const struct measure_options *options;
	int root_fd;
	struct hierarchy hierarchy;
	bool has_hierarchy;
	struct measurer *measurer;
	struct child child;
	struct children_usage before;
	struct error why_no_cgroups, why_no_agent;
	struct record *record;
};

static void measurement_clear(struct measurement *m)
{
	child_clear(&m->child);
	measurer_freep(&m->measurer);
	hierarchy_clear(&m->hierarchy);
	record_free(m->record);
	if (m->root_fd >= 0)
		close(m->root_fd);
}

static int choose_measurer(struct measurement *m, bool is_agent, struct error *err)
{
	const struct hierarchy *h = m->has_hierarchy ? &m->hierarchy : NULL;
	int r;

	measurer_freep(&m->measurer);
	m->measurer = NULL;
	r = is_agent ? measurer_new_agent(m->options, m->root_fd, h, &m->measurer) :
		       measurer_new_own(m->options, m->root_fd, h, &m->why_no_cgroups, &m->measurer);
	if (r < 0)
		return error_set_errno(err, r, "cannot start the meter");
	assert(m->measurer);
	r = m->measurer->begin(m->measurer, err);
	if (r == 0 && m->measurer->needs_children) /* then wait() has to tell, of all that the command leaves too */
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	return r;
}

/* The command stands still meanwhile: where the agent cannot take it, we can. */
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

/* The command is in its group before anything counts it, and runs nothing before it is. */
static int start(struct measurement *m, char *const argv[], struct error *err)
{
	bool is_agent = m->options->agent != NULL;
	int r;

	m->has_hierarchy = hierarchy_read(m->root_fd, &m->hierarchy, &m->why_no_cgroups) >= 0;
	r = choose_measurer(m, is_agent, err);
	if (r < 0)
		return r;
	children_usage_begin(m->root_fd, &m->before);
	r = child_prepare(argv, &m->child, err);
	return r < 0 ? r : admit(m, is_agent, err);
}

/* Until nobody is left in the group, or without a group no child, or we are asked to end. */
static void wait_for_survivors(struct measurement *m)
{
	for (;;) {
		int r = child_wait_other(&m->child, WAIT_STEP_MS);
		ssize_t count;

		if (r == -EINTR)
			return;
		count = m->measurer->list(m->measurer, NULL, 0);
		if (count < 0 ? r == -ECHILD : count == 0)
			return;
	}
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
		return strings_add(&record->coverage.notes, "%zd more processes outlived the command",
				   count - (ssize_t)ARRAY_SIZE(pids));
	return 0;
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

static int finish(struct measurement *m, char *const argv[], struct error *err)
{
	int r;

	m->record = record_new();
	if (!m->record)
		return -ENOMEM;
	tell_end(m);
	r = name_survivors(m);
	if (r >= 0)
		r = m->measurer->read(m->measurer, &m->child, &m->before, m->record, err);
	if (r >= 0)
		r = allocation_read(m->root_fd, m->has_hierarchy ? &m->hierarchy : NULL, &m->record->reading,
				    &m->record->job.cpus_allowed);
	if (r >= 0)
		r = identify(m, argv);
	if (r >= 0 && *m->why_no_agent.text)
		r = strings_add(&m->record->coverage.notes, "the agent did not measure this run: %s",
				m->why_no_agent.text);
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
