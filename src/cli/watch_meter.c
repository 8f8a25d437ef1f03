/* SPDX-License-Identifier: MIT */
/* A meter of our own as a source: it counts one group from now on. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allocation.h"
#include "canary.h"
#include "cleanup.h"
#include "clock.h"
#include "cpulist.h"
#include "collectors/collectors.h"
#include "error.h"
#include "file.h"
#include "group_files.h"
#include "hardware.h"
#include "identify.h"
#include "identity.h"
#include "macro.h"
#include "measurer.h"
#include "meter.h"
#include "record.h"
#include "rights.h"
#include "thermal.h"
#include "watch_groups.h"
#include "watch_source.h"
#include "watch_target.h"

#define SETTLE_MS 1000
#define CGROUP_TEXT_MAX 65536
#define OTHER_FILES 256 /* that the watch holds beside the processor's counters */

struct meter_source {
	struct watch_source source;
	int root_fd;
	struct hierarchy hierarchy;
	char *path;
	struct group *group;
	struct meter *meter;
	struct identity identity;
	bool has_identity, was_peopled;
	struct watch_meter_options options;
	uint64_t start_ns, start_boot_ns;
	struct reading files; /* of the group, as they were when it was there last */
	struct timeline timeline; /* of all looks */
	char *cpus;
	struct error why_no_canary, why_no_hardware;
	struct hardware *hardware; /* NULL: it cannot be */
	struct thermal *thermal;   /* NULL: there is nothing of the kind */
	struct thermal_sums sums;  /* of looks after the first record */
	bool was_read;
};

static struct meter_source *source_of(struct watch_source *s)
{
	return (struct meter_source *)(void *)s;
}

static void close_meter(struct watch_source *s)
{
	struct meter_source *m = source_of(s);

	hardware_close(m->hardware);
	thermal_close(m->thermal);
	meter_close(m->meter);
	group_remove(m->group); /* one of others: it is only closed */
	hierarchy_clear(&m->hierarchy);
	reading_clear(&m->files);
	timeline_clear(&m->timeline);
	if (m->root_fd >= 0)
		close(m->root_fd);
	free(m->path);
	free(m->cpus);
	free(m);
}

/* Of what memory is used for each look sees the moment, and the greatest is wanted. */
static void keep_greatest(const struct value before[METRIC_JOB_COUNT], struct value now[METRIC_JOB_COUNT])
{
	const struct metric_set seldom = group_files_seldom();

	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		bool is_wanted = metric_set_has(&seldom, (enum metric_id)i);

		if (is_wanted && before[i].is_known && (!now[i].is_known || now[i].number < before[i].number))
			now[i] = before[i];
	}
}

/* Files of the group and what it may use, as long as it is there. */
static void look_at_group(struct meter_source *m)
{
	_cleanup_(allocation_clear) struct allocation allocation = {};
	struct reading now = {};
	pid_t pid;

	if (!group_exists(m->group))
		return;
	group_files_collect(m->group, &now);
	keep_greatest(m->files.values, now.values);
	m->was_peopled |= group_list_processes(m->group, &pid, 1) > 0;
	if (allocation_read_group(m->root_fd, &m->hierarchy, m->path, &allocation) == 0) {
		now.values[METRIC_CPU_ALLOCATED] = allocation.cores;
		now.values[METRIC_MEMORY_LIMIT] = allocation.memory;
		free(m->cpus);
		m->cpus = TAKE_PTR(allocation.cpus);
	}
	reading_clear(&m->files);
	m->files = now;
}

/* "slurm/123", "slurm/123.0", or the group's path; NULL: no memory. */
static char *make_label(const struct meter_source *m)
{
	const struct identity *identity = &m->identity;
	char *label;

	if (!m->has_identity)
		return strdup(m->path);
	if (asprintf(&label, "%s/%s%s%s", identity->manager, identity->job,
		     *identity->step ? "." : "", identity->step) < 0)
		return NULL;
	return label;
}

/* What files of the group said last, where nothing else says it.  Returns whether any does. */
static bool put_files(const struct meter_source *m, struct reading *to)
{
	bool has_any = false;

	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		const struct value *value = &m->files.values[i];

		if (!value->is_known || to->values[i].is_known)
			continue;
		reading_set(to, (enum metric_id)i, value->number);
		has_any |= metric_get((enum metric_id)i)->kind != KIND_LIMIT;
	}
	return has_any;
}

static int feed_timeline(struct meter_source *m, const struct reading *reading)
{
	struct value values[TIMELINE_SERIES];

	timeline_values(reading, values);
	return timeline_feed(&m->timeline, clock_now_ns(CLOCK_REALTIME), clock_now_ns(CLOCK_BOOTTIME), values);
}

/* For the timeline only: records are read less often. */
static int look_at_counters(struct meter_source *m, struct error *err)
{
	_cleanup_(reading_clear) struct reading now = {};
	int r = meter_look(m->meter, &now, err);

	if (r < 0)
		return r;
	put_files(m, &now);
	r = feed_timeline(m, &now);
	return r < 0 ? error_set_errno(err, r, "cannot watch") : 0;
}

/* Of the time from the first record on, so that all of it is what came since. */
static void sample_thermal(struct meter_source *m)
{
	struct thermal_moment moment;
	struct cpulist cpus;

	if (!m->thermal || !m->was_read || !m->cpus || cpulist_parse(m->cpus, &cpus) < 0)
		return;
	thermal_sweep(m->thermal);
	thermal_get(m->thermal, &cpus, &moment);
	thermal_sums_add(&m->sums, &moment);
}

/* It ends when nobody is in it any more.  One that nobody was in yet is waited for. */
static int refresh_meter(struct watch_source *s, struct watched_list *list, struct error *err)
{
	struct meter_source *m = source_of(s);
	struct watched *job = list->count ? list->items[0] : watched_add(list);

	if (!job)
		return error_set_errno(err, ENOMEM, "cannot watch");
	if (!job->label && !(job->label = make_label(m)))
		return error_set_errno(err, ENOMEM, "cannot watch");
	look_at_group(m);
	job->is_live = group_exists(m->group) &&
		       (!m->was_peopled || group_list_processes(m->group, NULL, 0) > 0);
	sample_thermal(m);
	return look_at_counters(m, err);
}

static int identify_job(const struct meter_source *m, struct record *record)
{
	const struct identity *identity = &m->identity;

	identify_node(m->root_fd, record);
	record->job.cpus_allowed = m->cpus ? strdup(m->cpus) : NULL;
	record->job.name = make_label(m);
	if (!m->has_identity)
		return record->job.name ? 0 : -ENOMEM;
	record->job.manager = strdup(identity->manager);
	record->job.id = strdup(identity->job);
	return record->job.manager && record->job.id && record->job.name ? 0 : -ENOMEM;
}

static void add_owner(const struct meter_source *m, struct record *record)
{
	char path[64], text[8192];
	struct rights rights = {};
	const struct passwd *user;
	pid_t pid;

	if (group_list_processes(m->group, &pid, 1) < 1)
		return;
	snprintf(path, sizeof(path), "proc/%d/status", pid);
	if (file_read_small(m->root_fd, path, text, sizeof(text)) < 0 ||
	    rights_parse_status(text, &rights) < 0)
		return;
	record->job.uid = rights.uid;
	user = getpwuid(rights.uid);
	record->job.user = user ? strdup(user->pw_name) : NULL;
}

static int add_files(const struct meter_source *m, struct record *record)
{
	bool is_gone = !group_exists(m->group);

	if (!put_files(m, &record->reading) || !is_gone)
		return 0;
	return strings_add(&record->coverage.notes, "what the group's own files say (memory, "
						    "throttling) is as of the last look at them");
}

static int describe(const struct meter_source *m, struct record *record)
{
	int r = meter_describe(m->meter, NULL, record);

	if (r == 0 && *m->why_no_canary.text)
		r = strings_add(&record->coverage.notes, "hooks were not checked: %s",
				m->why_no_canary.text);
	return r;
}

static int read_hardware(struct meter_source *m, struct record *record)
{
	if (!m->hardware)
		return strings_add(&record->coverage.missing, HARDWARE_LABEL "%s", m->why_no_hardware.text);
	hardware_read(m->hardware, record->reading.values);
	return record_note_counters(record, hardware_is_user_only(m->hardware));
}

static int read_thermal(struct meter_source *m, struct record *record)
{
	m->was_read = true;
	record->thermal = thermal_samples_of(&m->sums);
	if (m->thermal)
		return 0;
	return strings_add(&record->coverage.missing, THERMAL_ABSENT);
}

static int read_meter(struct watch_source *s, const struct watched *job, struct record **ret,
		      struct error *err)
{
	struct meter_source *m = source_of(s);
	_cleanup_(record_freep) struct record *record = record_new();
	uint64_t open_syscalls = 0;
	int r;

	if (!record)
		return error_set_errno(err, ENOMEM, "cannot watch");
	if (!job->is_live)
		(void)meter_settle(m->meter, SETTLE_MS);
	r = meter_read(m->meter, &record->reading, err);
	if (r == 0)
		r = meter_read_syscalls(m->meter, &record->syscalls, &open_syscalls, err);
	if (r < 0)
		return r;
	record->is_final = !job->is_live;
	record->time.measured_from_ns = m->start_ns;
	record->time.elapsed_ns = clock_now_ns(CLOCK_BOOTTIME) - m->start_boot_ns;
	if (!job->is_live) {
		record->time.end_ns = m->start_ns + record->time.elapsed_ns;
		record->job.state = strdup("ENDED");
	}
	look_at_group(m);
	add_owner(m, record);
	r = add_files(m, record);
	if (r == 0)
		r = feed_timeline(m, &record->reading);
	if (r == 0)
		r = timeline_copy(&record->timeline, &m->timeline);
	if (r == 0)
		r = identify_job(m, record);
	if (r == 0)
		r = describe(m, record);
	if (r == 0)
		r = read_hardware(m, record);
	if (r == 0)
		r = read_thermal(m, record);
	if (r == 0 && m->options.names_syscalls)
		r = measurer_note_syscalls(open_syscalls, record);
	if (r < 0)
		return error_set_errno(err, r, "cannot read the counters");
	reading_sort_mounts(&record->reading);
	record_close_books(record);
	*ret = TAKE_PTR(record);
	return 0;
}

/* As the agent does for a job: by its group, on the CPUs that it may use. */
static void open_hardware(struct meter_source *m)
{
	const struct hardware_place place = { m->root_fd, &m->hierarchy, m->path, m->cpus };
	struct group_files_budget budget;
	struct hardware_events events;

	if (m->options.hardware)
		events = *m->options.hardware;
	else
		hardware_events_read(m->root_fd, &events);
	group_files_budget_init(&budget, OTHER_FILES);
	(void)hardware_open_path(&events, &place, budget.max, &m->hardware, &m->why_no_hardware);
}

static void open_thermal(struct meter_source *m)
{
	if (thermal_open(m->root_fd, &m->thermal) == 0 && !thermal_has_any(m->thermal))
		m->thermal = thermal_close(m->thermal);
}

/* NULL: err says why. */
static struct meter_source *new_source(const struct watch_meter_options *options, struct error *err)
{
	struct meter_source *m = calloc(1, sizeof(*m));

	if (!m) {
		error_set_errno(err, ENOMEM, "cannot watch");
		return NULL;
	}
	m->source = (struct watch_source){ refresh_meter, read_meter, close_meter };
	m->options = *options;
	m->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (m->root_fd < 0)
		error_set_errno(err, errno, "cannot open '/'");
	else if (hierarchy_read(m->root_fd, &m->hierarchy, err) == 0)
		return m;
	close_meter(&m->source);
	return NULL;
}

static int start_meter(struct meter_source *m, struct error *err)
{
	struct meter_options options = { .root_fd = m->root_fd,
					 .tiers = METER_ALL,
					 .has_clock = true,
					 .has_histograms = true,
					 .names_syscalls = m->options.names_syscalls,
					 .has_block = true,
					 .hierarchy = &m->hierarchy };
	int r = group_open(m->root_fd, &m->hierarchy, m->path, &m->group, err);

	if (r < 0)
		return r;
	options.watched_id = group_id(m->group);
	r = meter_open(&options, &m->meter);
	if (r < 0)
		return error_set_errno(err, r, "cannot start the meter");
	if (meter_has_any_tier(m->meter))
		(void)canary_sing(m->meter, m->root_fd, &m->hierarchy, options.watched_id, false,
				  &m->why_no_canary);
	meter_follow_syscalls(m->meter, false);
	look_at_group(m); /* it says which CPUs */
	open_hardware(m);
	open_thermal(m);
	m->has_identity = identity_of(NULL, m->path, &m->identity);
	m->start_ns = clock_now_ns(CLOCK_REALTIME);
	m->start_boot_ns = clock_now_ns(CLOCK_BOOTTIME);
	return 0;
}

/* Takes @path over.  NULL: no memory for it. */
static int start_at(struct meter_source *m, char *path, struct watch_source **ret,
		    struct error *err)
{
	int r = path ? 0 : error_set_errno(err, ENOMEM, "cannot watch");

	m->path = path;
	if (r == 0)
		r = start_meter(m, err);
	if (r < 0)
		close_meter(&m->source);
	else
		*ret = &m->source;
	return r;
}

static int find_path(const struct meter_source *m, pid_t pid, char **ret, struct error *err)
{
	_cleanup_free_ char *cgroups = NULL;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "proc/%d/cgroup", pid);
	r = file_read(m->root_fd, path, CGROUP_TEXT_MAX, &cgroups, NULL);
	if (r == -ENOENT)
		return error_set(err, r, "there is no process %d", pid);
	if (r == 0)
		r = hierarchy_find_path(&m->hierarchy, cgroups, ret);
	return r < 0 ? error_set_errno(err, r, "cannot find the group of process %d", pid) : 0;
}

int watch_meter_open_process(pid_t pid, const struct watch_meter_options *options, struct watch_source **ret,
			     struct error *err)
{
	struct meter_source *m = new_source(options, err);
	char *path = NULL;
	int r;

	if (!m)
		return -EIO;
	r = find_path(m, pid, &path, err);
	if (r < 0) {
		close_meter(&m->source);
		return r;
	}
	return start_at(m, path, ret, err);
}

int watch_meter_open_group(const char *path, const struct watch_meter_options *options, struct watch_source **ret,
			   struct error *err)
{
	struct meter_source *m = new_source(options, err);

	return m ? start_at(m, hierarchy_path_of(&m->hierarchy, path), ret, err) : -EIO;
}

int watch_meter_open_job(const struct watch_targets *targets, const struct watch_meter_options *options,
			 struct watch_source **ret, struct error *err)
{
	struct meter_source *m;
	char *path = NULL;
	int r;

	if (targets->count != 1)
		return error_set(err, -EINVAL,
				 "without an agent one job can be watched, and not %zu",
				 targets->count);
	m = new_source(options, err);
	if (!m)
		return -EIO;
	r = watch_groups_find(m->root_fd, &m->hierarchy, &targets->items[0], &path, err);
	if (r < 0) {
		close_meter(&m->source);
		return r;
	}
	return start_at(m, path, ret, err);
}
