/* SPDX-License-Identifier: MIT */
/* A sampler of our own: of a cgroup of the command's own, by BPF; without the rights for it, what
 * wait() tells. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/child.h"
#include "basic/cleanup.h"
#include "sources/children.h"
#include "basic/error.h"
#include "cgroup/group.h"
#include "cli/measure.h"
#include "cli/measurer.h"
#include "node/sampler.h"
#include "sources/sources.h"

#define SETTLE_MS 1000 /* tasks are freed within some 20 ms of their end */
#define SHORT_TRIES 3

struct own_measurer {
	struct measurer measurer;
	const struct measure_options *options;
	int root_fd;
	const struct hierarchy *hierarchy;
	struct group *group;
	struct sampler_one one;
	struct sampler *sampler; /* NULL: there is no group */
	struct error why_no_group;
};

static struct own_measurer *own_of(struct measurer *m)
{
	return (struct own_measurer *)(void *)m;
}

static void free_own(struct measurer *measurer)
{
	struct own_measurer *m = own_of(measurer);

	sampler_close(m->sampler, false);
	group_remove(m->group);
	free(m);
}

static bool uses_tasks(const struct own_measurer *m)
{
	return m->sampler && sampler_has_totals(m->sampler);
}

static int open_sampler(struct own_measurer *m, struct error *err)
{
	const struct source_list list = sources_all();
	bool has_source[SOURCES_MAX];
	struct sampler_options options = sampler_options_full(m->root_fd);

	m->one = (struct sampler_one){
		.group = m->group,
		.path = "",
		.manager = "run",
		.id = "",
		.is_own = true,
		.followed_max = m->options->followed_max,
		.map_sizes = m->options->map_sizes,
	};
	for (size_t i = 0; i < list.count; i++) /* measure.c has those of a process */
		has_source[i] = list.items[i]->is_for_jobs && !list.items[i]->sample_job;
	options.tiers = m->options->tiers;
	options.names_syscalls = m->options->names_syscalls;
	options.has_source = has_source;
	options.one = &m->one;
	return sampler_open(&options, &m->sampler, err);
}

static int begin_own(struct measurer *measurer, struct error *err)
{
	struct own_measurer *m = own_of(measurer);
	int r = 0;

	if (m->hierarchy && group_make(m->root_fd, m->hierarchy, "jobmeter-run", &m->group,
				       &m->why_no_group) >= 0) {
		measurer->number = group_number(m->group);
		r = open_sampler(m, err);
	}
	measurer->needs_children = !uses_tasks(m);
	return r;
}

static int admit_own(struct measurer *measurer, pid_t pid, struct error *err)
{
	const struct own_measurer *m = own_of(measurer);

	return m->group ? group_add_process(m->group, pid, err) : 0;
}

static void start_own(struct measurer *measurer, const struct child *child)
{
	const struct own_measurer *m = own_of(measurer);

	if (m->sampler)
		sampler_begin(m->sampler, child->start_boot_ns);
}

static ssize_t list_own(struct measurer *measurer, pid_t *pids, size_t max)
{
	const struct own_measurer *m = own_of(measurer);

	return m->group ? group_list_processes(m->group, pids, max) : -ENOSYS;
}

static int look_own(struct measurer *measurer, struct error *err)
{
	struct own_measurer *m = own_of(measurer);
	struct snapshot *snapshot;
	int r = m->sampler ? sampler_get(m->sampler, 0, &snapshot, err) : -ENOSYS;

	if (r >= 0)
		snapshot_unref(snapshot);
	return r;
}

/* As of the command's end, with all tasks that have ended by now. */
static int read_sampler(struct own_measurer *m, const struct child *child, bool *ret_is_settled,
			struct record **ret, struct error *err)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	int r;

	*ret_is_settled = sampler_settle(m->sampler, SETTLE_MS) == 0;
	r = sampler_get_end(m->sampler, child->end_boot_ns, child->end_ns, &snapshot, err);
	return r < 0 ? r : sampler_get_record(m->sampler, snapshot, &snapshot->jobs[0], ret, err);
}

/* Read until all that ended is in, or patience is. */
static int read_counters(struct own_measurer *m, const struct child *child,
			 const struct children_usage *usage, struct record *record,
			 struct error *err)
{
	_cleanup_(record_freep) struct record *counted = NULL;
	bool is_settled;
	int r = read_sampler(m, child, &is_settled, &counted, err);

	for (int tries = 0; r >= 0 && uses_tasks(m) && measurer_is_short(child, usage, counted) &&
			    tries < SHORT_TRIES;
	     tries++) {
		record_freep(&counted);
		counted = NULL;
		r = read_sampler(m, child, &is_settled, &counted, err);
	}
	if (r >= 0)
		r = measurer_take_over(counted, record);
	if (r < 0 || !uses_tasks(m))
		return r;
	if (measurer_is_short(child, usage, record))
		return measurer_note_short(usage, record);
	if (!is_settled && !record->survivor_count)
		return strings_add(&record->coverage.notes, RECORD_NOTE_ENDING);
	return 0;
}

/* Why the group's peak is not known, where there is a group. */
static const char *why_no_peak(const struct own_measurer *m)
{
	int fd = group_fd(m->group, CONTROLLER_MEMORY);

	if (fd >= 0 && faccessat(fd, "memory.current", F_OK, 0) == 0)
		return "this kernel keeps none (memory.peak came with Linux 5.19)";
	return "its cgroup has no memory controller";
}

static int tell_no_group(const struct own_measurer *m, struct record *record)
{
	struct strings *missing = &record->coverage.missing;
	int r = 0;

	/* first what was asked for */
	if (m->options->followed_max)
		r = strings_add(missing, "hot files: they need files by mount");
	if (r >= 0 && m->options->names_syscalls)
		r = strings_add(missing, "system calls by name: they need BPF, and root");
	if (r < 0)
		return r;
	if (geteuid() != 0)
		r = strings_add(missing, "files by mount, wait times, total memory: ask your site "
					 "to run jobmeter-agent, or run as root");
	else
		r = strings_add(missing, "files by mount, wait times, total memory: %s",
				m->why_no_group.text);
	return r;
}

static int read_own(struct measurer *measurer, const struct child *child,
		    const struct children_usage *usage, struct record *record, struct error *err)
{
	struct own_measurer *m = own_of(measurer);
	int r = m->sampler ? read_counters(m, child, usage, record, err) : tell_no_group(m, record);

	if (r >= 0 && !uses_tasks(m)) {
		struct value *values = record->reading.values;
		bool counts_tasks = m->sampler && sampler_counts_tasks(m->sampler);

		/* Of who counts no tasks the group's files tell of its processes, and wait() of
		 * more. */
		for (size_t i = 0; i < METRIC_JOB_COUNT && !counts_tasks; i++) {
			if (children_know((enum metric_id)i))
				values[i] = (struct value){};
		}
		collect_children(m->root_fd, usage, &record->reading);
		r = measurer_note_children(m->root_fd, record);
	}
	if (r >= 0 && m->group && !record->reading.values[METRIC_MEMORY_PEAK].is_known)
		r = strings_add(&record->coverage.missing, "total memory: %s", why_no_peak(m));
	record->reading.values[METRIC_TASKS_LIVE] = (struct value){}; /* survivors are named */
	return r;
}

int measurer_new_own(const struct measure_options *options, int root_fd, const struct hierarchy *h,
		     const struct error *why_no_cgroups, struct measurer **ret)
{
	struct own_measurer *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->measurer = (struct measurer){ .begin = begin_own,
					 .admit = admit_own,
					 .start = start_own,
					 .list = list_own,
					 .look = look_own,
					 .read = read_own,
					 .free = free_own };
	m->options = options;
	m->root_fd = root_fd;
	m->hierarchy = h;
	m->why_no_group = *why_no_cgroups;
	*ret = &m->measurer;
	return 0;
}
