/* SPDX-License-Identifier: MIT */
/* A meter of our own: in a cgroup of the command's own, by BPF; without the rights for it, what
 * wait() tells. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "canary.h"
#include "child.h"
#include "cleanup.h"
#include "collectors/collectors.h"
#include "error.h"
#include "group_files.h"
#include "macro.h"
#include "measure.h"
#include "measurer.h"
#include "meter.h"

#define SETTLE_MS 1000 /* tasks are freed within some 20 ms of their end */
#define SHORT_TRIES 3

struct own_measurer {
	struct measurer measurer;
	const struct measure_options *options;
	int root_fd;
	const struct hierarchy *hierarchy;
	struct group *group;
	struct meter *meter;
	struct value looked[METRIC_JOB_COUNT]; /* the greatest that looks saw */
	uint64_t open_syscalls; /* at the end: see meter_read_syscalls() */
	struct error why_no_group, why_no_canary;
};

static struct own_measurer *own_of(struct measurer *m)
{
	return (struct own_measurer *)(void *)m;
}

static void free_own(struct measurer *measurer)
{
	struct own_measurer *m = own_of(measurer);

	meter_close(m->meter);
	group_remove(m->group);
	free(m);
}

static void make_group(struct own_measurer *m)
{
	char name[64];

	snprintf(name, sizeof(name), "jobmeter-run-%d", getpid());
	(void)group_make(m->root_fd, m->hierarchy, name, &m->group, &m->why_no_group);
}

static bool uses_tasks(const struct own_measurer *m)
{
	return m->meter && meter_has_tier(m->meter, METER_T0);
}

static int open_meter(struct own_measurer *m, struct error *err)
{
	struct meter_options options = {
		.root_fd = m->root_fd,
		.tiers = m->options->tiers,
		.has_clock = true,
		.has_histograms = true,
		.has_block = true,
		.sizes = m->options->map_sizes,
		.followed_max = m->options->followed_max,
		.names_syscalls = m->options->names_syscalls,
		.watched_id = group_id(m->group),
		.hierarchy = m->hierarchy,
	};
	int r = meter_open(&options, &m->meter);

	if (r < 0)
		return error_set_errno(err, r, "cannot start the meter");
	if (meter_has_any_tier(m->meter))
		(void)canary_sing(m->meter, m->root_fd, m->hierarchy, options.watched_id, false,
				  &m->why_no_canary);
	meter_follow_files(m->meter);
	meter_follow_syscalls(m->meter, true);
	return 0;
}

static int begin_own(struct measurer *measurer, struct error *err)
{
	struct own_measurer *m = own_of(measurer);
	int r = 0;

	if (m->hierarchy)
		make_group(m);
	if (m->group)
		r = open_meter(m, err);
	measurer->needs_children = !uses_tasks(m);
	return r;
}

static int admit_own(struct measurer *measurer, pid_t pid, struct error *err)
{
	const struct own_measurer *m = own_of(measurer);

	return m->group ? group_add_process(m->group, pid, err) : 0;
}

static ssize_t list_own(struct measurer *measurer, pid_t *pids, size_t max)
{
	const struct own_measurer *m = own_of(measurer);

	return m->group ? group_list_processes(m->group, pids, max) : -ENOSYS;
}

/* What memory was used for is gone when the command is: the greatest that looks saw are the record's. */
static void raise_looked(struct value looked[METRIC_JOB_COUNT], const struct value now[METRIC_JOB_COUNT])
{
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		if (now[i].is_known && (!looked[i].is_known || looked[i].number < now[i].number))
			looked[i] = now[i];
	}
}

static void put_looked(const struct value looked[METRIC_JOB_COUNT], struct value to[METRIC_JOB_COUNT])
{
	const struct metric_set seldom = group_files_seldom();

	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		if (metric_set_has(&seldom, (enum metric_id)i))
			to[i] = looked[i];
	}
}

static int look_own(struct measurer *measurer, struct reading *ret, struct error *err)
{
	struct own_measurer *m = own_of(measurer);
	int r = m->meter ? meter_look(m->meter, ret, err) : -ENOSYS;

	if (r >= 0) {
		group_files_collect(m->group, ret);
		raise_looked(m->looked, ret->values);
	}
	return r;
}

/* Read until all that ended is in, or patience is. */
static int read_meter(struct own_measurer *m, const struct child *child,
		      const struct children_usage *usage, struct record *record, struct error *err)
{
	struct reading *reading = &record->reading;
	struct strings *notes = &record->coverage.notes;
	bool is_settled = meter_settle(m->meter, SETTLE_MS) == 0;
	int r = meter_read(m->meter, reading, err);

	if (r < 0 || !uses_tasks(m))
		return r;
	for (int tries = 0; measurer_is_short(child, usage, record) && tries < SHORT_TRIES;
	     tries++) {
		reading_clear(reading);
		is_settled = meter_settle(m->meter, SETTLE_MS) == 0;
		r = meter_read(m->meter, reading, err);
		if (r < 0)
			return r;
	}
	if (measurer_is_short(child, usage, record)) {
		raise_to_children(usage, reading);
		return strings_add(notes, "CPU time is what wait() says: the kernel side saw less");
	}
	if (!is_settled && !record->survivor_count)
		return strings_add(notes, "the last of the CPU time of tasks that ended is not in");
	return 0;
}

/* On cgroup v1 the group's file does not count those of groups that the command made below it. */
static int count_killed(const struct own_measurer *m, struct reading *reading)
{
	struct value *kills = &reading->values[METRIC_MEMORY_OOM_KILLS];
	uint64_t count;
	int r = meter_count_victims(m->meter, &count);

	if (r >= 0 && kills->is_known)
		kills->number = MAX(kills->number, count);
	return r;
}

static int read_counters(struct own_measurer *m, const struct child *child,
			 const struct children_usage *usage, struct record *record,
			 struct error *err)
{
	int r = m->meter ? read_meter(m, child, usage, record, err) : 0;

	if (r >= 0 && m->meter)
		r = meter_read_files(m->meter, &record->reading, &record->files, err);
	if (r >= 0 && m->meter)
		r = meter_read_syscalls(m->meter, &record->syscalls, &m->open_syscalls, err);
	if (r >= 0 && m->meter)
		r = meter_read_cores(m->meter, record->time.elapsed_ns, &record->cores);
	if (r >= 0 && m->meter)
		record->threads = meter_threads(m->meter);
	if (r >= 0 && m->meter)
		r = meter_read_victims(m->meter, &record->victims);
	if (r >= 0 && !uses_tasks(m))
		collect_children(m->root_fd, usage, &record->reading);
	if (r >= 0 && m->group) {
		group_files_collect(m->group, &record->reading);
		put_looked(m->looked, record->reading.values);
	}
	if (r >= 0 && m->meter)
		r = count_killed(m, &record->reading);
	return r;
}

/* Why the group's peak is not known, where there is a group. */
static const char *why_no_peak(const struct own_measurer *m)
{
	int fd = group_fd(m->group, CONTROLLER_MEMORY);

	if (fd >= 0 && faccessat(fd, "memory.current", F_OK, 0) == 0)
		return "this kernel keeps none (memory.peak came with Linux 5.19)";
	return "its cgroup has no memory controller";
}

static int tell_no_meter(const struct own_measurer *m, struct record *record)
{
	struct strings *missing = &record->coverage.missing;

	if (geteuid() != 0)
		return strings_add(missing,
				   "files by mount, waiting for a CPU and memory of the whole "
				   "command: run as root to see them");
	return strings_add(missing,
			   "files by mount, waiting for a CPU and memory of the whole command: %s",
			   m->why_no_group.text);
}

/* In words: what is absent from this record, and what weakens its numbers. */
static int tell_not_seen(const struct own_measurer *m, struct record *record)
{
	int r = m->meter ? meter_describe(m->meter, NULL, record) : tell_no_meter(m, record);

	if (r >= 0 && *m->why_no_canary.text)
		r = strings_add(&record->coverage.notes, "hooks were not checked: %s",
				m->why_no_canary.text);
	if (r >= 0 && m->options->followed_max)
		r = record->files.is_known ? strings_add(&record->coverage.tiers, "T3")
					   : strings_add(&record->coverage.missing,
							 "hot files: they take T2, files by mount");
	if (r >= 0 && m->options->names_syscalls && m->meter)
		r = measurer_note_syscalls(m->open_syscalls, record);
	if (r >= 0 && m->options->names_syscalls && !m->meter)
		r = strings_add(&record->coverage.missing, "system calls by name: they take BPF, and root");
	if (r >= 0 && !uses_tasks(m))
		r = measurer_note_children(record);
	if (r >= 0 && m->group && !record->reading.values[METRIC_MEMORY_PEAK].is_known)
		r = strings_add(&record->coverage.missing, "memory of the whole command: %s",
				why_no_peak(m));
	return r;
}

static int read_own(struct measurer *measurer, const struct child *child,
		    const struct children_usage *usage, struct record *record, struct error *err)
{
	struct own_measurer *m = own_of(measurer);
	int r = read_counters(m, child, usage, record, err);

	return r < 0 ? r : tell_not_seen(m, record);
}

int measurer_new_own(const struct measure_options *options, int root_fd, const struct hierarchy *h,
		     const struct error *why_no_cgroups, struct measurer **ret)
{
	struct own_measurer *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->measurer = (struct measurer){ .begin = begin_own,
					 .admit = admit_own,
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
