/* SPDX-License-Identifier: MIT */
/* The agent of the node measures: it makes a group for the command, and gives the record; nothing
 * is loaded here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/child.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "codec/trace_post.h"
#include "client/client.h"
#include "sources/children.h"
#include "basic/error.h"
#include "basic/file.h"
#include "cgroup/hierarchy.h"
#include "cli/measure.h"
#include "cli/measurer.h"
#include "basic/parse.h"
#include "model/record.h"

#define PROCS_MAX (1 << 20)
#define FINAL_TRIES 40 /* what has just ended is in some 200 ms later */
#define FINAL_STEP_NS 50000000

struct agent_measurer {
	struct measurer measurer;
	struct client *client;
	const struct hierarchy *hierarchy;
	int root_fd;
	struct client_group run;
	bool is_begun, follows_files, names_syscalls;
};

static struct agent_measurer *agent_of(struct measurer *m)
{
	return (struct agent_measurer *)(void *)m;
}

/* A run that was not ended, since its command could not be run, is ended here. */
static void free_agent(struct measurer *measurer)
{
	struct agent_measurer *m = agent_of(measurer);
	struct record *record = NULL;

	if (m->is_begun && client_end_run(m->client, &m->run, &record, NULL) == 0)
		record_free(record);
	client_group_clear(&m->run);
	free(m);
}

/* Should the agent go, what wait() tells is all that there is. */
static int begin_agent(struct measurer *measurer, struct error *err)
{
	(void)err;
	measurer->needs_children = true;
	return 0;
}

static int admit_agent(struct measurer *measurer, pid_t pid, struct error *err)
{
	struct agent_measurer *m = agent_of(measurer);

	int r = client_begin_run(m->client, pid, &m->run, err), number;

	m->is_begun = r == 0;
	if (r == 0 && parse_int(m->run.id, 1, INT32_MAX, &number) == 0)
		measurer->number = (unsigned int)number;
	return r;
}

/* The processes of the cgroup itself; its file is readable for all. */
static ssize_t list_agent(struct measurer *measurer, pid_t *pids, size_t max)
{
	const struct agent_measurer *m = agent_of(measurer);
	_cleanup_free_ char *dir = NULL, *path = NULL, *text = NULL;
	char *rest, *line;
	size_t count = 0;
	int pid;

	dir = m->run.path && m->hierarchy ? hierarchy_find_dir(m->hierarchy, m->run.path) : NULL;
	if (!dir || asprintf(&path, ".%s/cgroup.procs", dir) < 0) {
		path = NULL;
		return -ENOSYS;
	}
	if (file_read(m->root_fd, path, PROCS_MAX, &text, NULL) < 0)
		return -ENOSYS;
	for (rest = text; (line = parse_next_line(&rest));) {
		if (parse_int(line, 1, INT32_MAX, &pid) < 0)
			continue;
		if (count < max)
			pids[count] = pid;
		count++;
	}
	return (ssize_t)count;
}

/* Until tasks that have just ended are in, or the agent has none to add. */
static int get_final(struct agent_measurer *m, struct record **record, struct error *err)
{
	const struct timespec step = { .tv_nsec = FINAL_STEP_NS };

	for (int tries = 0; !(*record)->is_final && tries < FINAL_TRIES; tries++) {
		struct record *later = NULL;
		int r;

		nanosleep(&step, NULL);
		r = client_get_run(m->client, &m->run, &later, err);
		if (r < 0)
			return r;
		record_free(*record);
		*record = later;
	}
	return 0;
}

static int get_record(struct agent_measurer *m, struct record **ret, struct error *err)
{
	_cleanup_(record_freep) struct record *record = NULL;
	int r;

	m->is_begun = false; /* whatever comes of it */
	r = client_end_run(m->client, &m->run, &record, err);
	if (r == 0)
		r = get_final(m, &record, err);
	if (r == 0)
		*ret = TAKE_PTR(record);
	return r;
}

static int read_without(struct agent_measurer *m, const struct children_usage *usage,
			const struct error *why, struct record *record)
{
	int r;

	collect_children(m->root_fd, usage, &record->reading);
	r = measurer_note_children(m->root_fd, record);
	return r < 0 ? r
		     : strings_add(&record->coverage.missing,
				   "files by mount, wait times, total memory: %s", why->text);
}

/* The agent's numbers, and what it says of them. */
static int take_over(struct record *from, struct record *record)
{
	int r = measurer_take_over(from, record);

	if (r < 0 || from->is_final || record->survivor_count)
		return r;
	return strings_add(&record->coverage.notes, "the last work of ended tasks is missing");
}

static bool says_why(const struct strings *missing, const char *what)
{
	for (size_t i = 0; i < missing->count; i++) {
		if (strncmp(missing->items[i], what, strlen(what)) == 0)
			return true;
	}
	return false;
}

static int tell_trace_to_agent(struct measurer *measurer, const struct traced_calls *calls,
			       struct error *err)
{
	struct agent_measurer *m = agent_of(measurer);
	struct trace_post post = { .group_id = m->run.group_id,
				   .trace_id = clock_now_ns(CLOCK_BOOTTIME),
				   .is_last = true,
				   .calls = *calls };
	_cleanup_free_ char *text = NULL;
	int r;

	if (!m->run.group_id)
		return error_set(err, -ENOENT, "it does not say which group it measures");
	r = trace_post_format(&post, &text);
	return r < 0 ? error_set_errno(err, r, "cannot tell it")
		     : client_tell_trace(m->client, text, err);
}

/* What was asked for and is not there. */
static int note_missing(struct record *record, const char *what, const char *setting)
{
	struct strings *missing = &record->coverage.missing;

	if (says_why(missing, what))
		return 0;
	return strings_add(missing, "%s: the agent does not count them ('%s: on' in its settings)",
			   what, setting);
}

static int read_agent(struct measurer *measurer, const struct child *child,
		      const struct children_usage *usage, struct record *record, struct error *err)
{
	_cleanup_(record_freep) struct record *counted = NULL;
	struct agent_measurer *m = agent_of(measurer);
	struct error why = {};
	int r;

	(void)err;
	if (get_record(m, &counted, &why) < 0 || !counted) {
		fprintf(stderr,
			"jobmeter run: %s; measuring only CPU time and the largest process\n",
			why.text);
		return read_without(m, usage, &why, record);
	}
	r = take_over(counted, record);
	if (r == 0 && m->follows_files && !record->files.is_known)
		r = note_missing(record, "hot files", "files");
	if (r == 0 && m->names_syscalls && !record->syscalls.is_known)
		r = note_missing(record, "system calls by name", "syscalls");
	if (r == 0 && measurer_is_short(child, usage, record))
		r = measurer_note_short(usage, record);
	return r;
}

int measurer_new_agent(const struct measure_options *options, int root_fd,
		       const struct hierarchy *h, struct measurer **ret)
{
	struct agent_measurer *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->measurer = (struct measurer){ .begin = begin_agent,
					 .admit = admit_agent,
					 .list = list_agent,
					 .tell_trace = tell_trace_to_agent,
					 .read = read_agent,
					 .free = free_agent };
	m->client = options->agent;
	m->follows_files = options->followed_max > 0;
	m->names_syscalls = options->names_syscalls;
	m->hierarchy = h;
	m->root_fd = root_fd;
	*ret = &m->measurer;
	return 0;
}
