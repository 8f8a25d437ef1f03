/* SPDX-License-Identifier: MIT */
#include "sources/hardware.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/error.h"
#include "cgroup/group_files.h"
#include "cgroup/hierarchy.h"
#include "basic/macro.h"
#include "model/metric_set.h"
#include "model/record.h"
#include "sources/source.h"

struct counter {
	int fd;
	struct hardware_event event;
	unsigned int place; /* which CPU; 0: of a process, wherever it is */
	struct hardware_counts counts;
};

struct hardware {
	bool is_user_only;
	struct counter *counters; /* by place */
	size_t count;
};

/* What is to be counted. */
struct target {
	pid_t pid; /* or the descriptor of a group */
	unsigned long flags;
	bool is_inherited, at_exec;
};

void hardware_counts_take(struct hardware_counts *t, uint64_t count, uint64_t enabled_ns,
			  uint64_t running_ns)
{
	uint64_t new_count, new_enabled, new_running;

	if (count < t->count || enabled_ns < t->enabled_ns || running_ns <= t->running_ns)
		return;
	new_count = count - t->count;
	new_enabled = enabled_ns - t->enabled_ns;
	new_running = running_ns - t->running_ns;
	if (new_enabled > new_running)
		new_count = (uint64_t)MIN((unsigned __int128)new_count * new_enabled / new_running,
					  (unsigned __int128)VALUE_MAX);
	t->scaled = MIN(t->scaled + new_count, VALUE_MAX);
	t->count = count;
	t->enabled_ns = enabled_ns;
	t->running_ns = running_ns;
}

bool hardware_counts(enum metric_id id)
{
	return id >= METRIC_CPU_CYCLES && id <= METRIC_CPU_COUNTERS_RUNNING;
}

/* ---- opening ---- */

static int open_event(const struct hardware_event *event, const struct target *target, int cpu,
		      bool is_user_only)
{
	struct perf_event_attr attributes = {
		.type = event->type,
		.size = sizeof(attributes),
		.config = event->config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = target->at_exec,
		.enable_on_exec = target->at_exec,
		.inherit = target->is_inherited,
		.exclude_kernel = is_user_only,
		.exclude_hv = is_user_only,
	};
	long fd = syscall(SYS_perf_event_open, &attributes, target->pid, cpu, -1,
			  target->flags | PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static bool is_refused(int error)
{
	return error == -EACCES || error == -EPERM;
}

/* In user mode only, where more is not allowed; then all are. */
static int open_counter(struct hardware *h, const struct hardware_event *event,
			const struct target *target, int cpu)
{
	int fd = open_event(event, target, cpu, h->is_user_only);

	if (is_refused(fd) && !h->is_user_only && h->count == 0) {
		h->is_user_only = true;
		fd = open_event(event, target, cpu, true);
	}
	return fd;
}

static void drop_counters(struct hardware *h, size_t from)
{
	while (h->count > from)
		close(h->counters[--h->count].fd);
}

/* A metric of which one event is missing would be too small. */
static void drop_metric(struct hardware *h, enum metric_id metric, size_t from)
{
	size_t kept = from;

	for (size_t i = from; i < h->count; i++) {
		if (h->counters[i].event.metric == metric)
			close(h->counters[i].fd);
		else
			h->counters[kept++] = h->counters[i];
	}
	h->count = kept;
}

/* All events at one place; *error: why the first that failed did. */
static int open_place(struct hardware *h, const struct hardware_events *events,
		      const struct target *target, int cpu, int *error)
{
	struct metric_set failed = {};
	const size_t from = h->count;

	for (size_t i = 0; i < events->count; i++) {
		const struct hardware_event *event = &events->items[i];
		int fd;

		if (metric_set_has(&failed, event->metric))
			continue;
		fd = open_counter(h, event, target, cpu);
		if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM || fd == -ESRCH) {
			drop_counters(h, from);
			return fd;
		}
		if (fd < 0) {
			*error = *error ? *error : fd;
			metric_set_add(&failed, event->metric);
			drop_metric(h, event->metric, from);
			continue;
		}
		h->counters[h->count++] =
			(struct counter){ fd, *event, (unsigned int)MAX(cpu, 0), {} };
	}
	return 0;
}

static struct hardware *hardware_new(size_t room)
{
	struct hardware *h = calloc(1, sizeof(*h));

	if (h)
		h->counters = calloc(MAX(room, (size_t)1), sizeof(*h->counters));
	return h && !h->counters ? hardware_close(h) : h;
}

static int explain(int r, struct error *err)
{
	if (is_refused(r))
		return error_set(err, -EACCES,
				 "this user may not use them (kernel.perf_event_paranoid)");
	if (r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ESRCH || r == -ENOSYS)
		return error_set_errno(err, r, "cannot open them");
	return error_set(err, -ENODEV, "not offered by this machine");
}

/* What was opened, or why nothing was. */
static int finish(struct hardware **h, int r, int error, struct hardware **ret, struct error *err)
{
	if (r < 0)
		return explain(r, err);
	if (!(*h)->count)
		return explain(error, err);
	*ret = TAKE_PTR(*h);
	return 0;
}

int hardware_open_process(const struct hardware_events *events, pid_t pid, bool at_exec,
			  struct hardware **ret, struct error *err)
{
	_cleanup_(hardware_closep) struct hardware *h = hardware_new(events->count);
	const struct target target = { .pid = pid, .is_inherited = true, .at_exec = at_exec };
	int error = 0, r;

	if (!h)
		return explain(-ENOMEM, err);
	r = open_place(h, events, &target, -1, &error);
	return finish(&h, r, error, ret, err);
}

int hardware_open_group(const struct hardware_events *events, int cgroup_fd,
			const struct cpulist *cpus, size_t descriptors_max, struct hardware **ret,
			struct error *err)
{
	const size_t room = events->count * cpulist_count(cpus);
	_cleanup_(hardware_closep) struct hardware *h = hardware_new(MIN(room, descriptors_max));
	const struct target target = { .pid = cgroup_fd, .flags = PERF_FLAG_PID_CGROUP };
	int error = 0, r = 0;

	if (!h)
		return explain(-ENOMEM, err);
	if (room > descriptors_max)
		return error_set(err, -E2BIG,
				 "its CPUs would take %zu descriptors, and there are %zu left",
				 room, descriptors_max);
	for (unsigned int cpu = 0; r == 0 && cpu < CPULIST_MAX; cpu++) {
		if (cpulist_contains(cpus, cpu))
			r = open_place(h, events, &target, (int)cpu, &error);
	}
	return finish(&h, r, error, ret, err);
}

static int open_dir(const struct hardware_place *place, struct error *err)
{
	const char *mount, *below;
	char dir[PATH_MAX];
	int fd;

	if (!hierarchy_find_place(place->hierarchy, CONTROLLER_PERF_EVENT, place->path, &mount,
				  &below))
		return error_set(err, -ENOENT,
				 "no hierarchy of cgroup v1 that jobs are in has perf_event");
	if ((size_t)snprintf(dir, sizeof(dir), ".%s%s", mount, below) >= sizeof(dir))
		return error_set(err, -ENAMETOOLONG, "the path of its group is too long");
	fd = openat(place->root_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? error_set_errno(err, errno, "cannot open its group of perf_event") : fd;
}

int hardware_open_path(const struct hardware_events *events, const struct hardware_place *place,
		       size_t descriptors_max, struct hardware **ret, struct error *err)
{
	_cleanup_close_ int fd = open_dir(place, err);
	struct cpulist cpus = {};
	int r;

	if (fd < 0)
		return fd;
	r = place->cpus ? cpulist_parse(place->cpus, &cpus) : -ENODATA;
	if (r < 0)
		return error_set_errno(err, r, "its CPUs are not known");
	return hardware_open_group(events, fd, &cpus, descriptors_max, ret, err);
}

struct hardware *hardware_close(struct hardware *h)
{
	if (!h)
		return NULL;
	if (h->counters)
		drop_counters(h, 0);
	free(h->counters);
	free(h);
	return NULL;
}

void hardware_closep(struct hardware **h)
{
	hardware_close(*h);
}

/* ---- reading ---- */

/* Whether it was counted at all where there was something to count. */
static bool take(struct counter *c)
{
	struct {
		uint64_t count, enabled_ns, running_ns;
	} now;

	if (read(c->fd, &now, sizeof(now)) == sizeof(now))
		hardware_counts_take(&c->counts, now.count, now.enabled_ns, now.running_ns);
	else
		return c->counts.running_ns > 0;
	return now.running_ns > 0 || now.enabled_ns == 0;
}

/* Of each place the time in which all of its counters counted, and that in which they were to;
 * summed over places. */
static void sum_times(const struct hardware *h, uint64_t *ret_enabled, uint64_t *ret_running)
{
	uint64_t least = UINT64_MAX, most = 0;

	*ret_enabled = *ret_running = 0;
	for (size_t i = 0; i < h->count; i++) {
		least = MIN(least, h->counters[i].counts.running_ns);
		most = MAX(most, h->counters[i].counts.enabled_ns);
		if (i + 1 < h->count && h->counters[i + 1].place == h->counters[i].place)
			continue;
		*ret_enabled += most;
		*ret_running += least;
		least = UINT64_MAX;
		most = 0;
	}
}

void hardware_read(struct hardware *h, struct value values[METRIC_JOB_COUNT])
{
	uint64_t sums[METRIC_JOB_COUNT] = {};
	uint64_t enabled_ns, running_ns;
	bool is_counted[METRIC_JOB_COUNT] = {}, has[METRIC_JOB_COUNT] = {};

	for (size_t i = 0; i < h->count; i++) {
		struct counter *c = &h->counters[i];
		const enum metric_id id = c->event.metric;
		uint64_t part;

		is_counted[id] |= take(c);
		has[id] = true;
		if (__builtin_mul_overflow(c->counts.scaled, c->event.weight, &part))
			part = VALUE_MAX;
		sums[id] = MIN(sums[id] + MIN(part, VALUE_MAX), VALUE_MAX);
	}
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		if (has[id] && is_counted[id])
			values[id] = (struct value){ sums[id], true };
	}
	sum_times(h, &enabled_ns, &running_ns);
	values[METRIC_CPU_COUNTERS_ENABLED] = (struct value){ enabled_ns, true };
	values[METRIC_CPU_COUNTERS_RUNNING] = (struct value){ running_ns, true };
}

/* ---- the source ---- */

#define HARDWARE_SHARE \
	4 /* one part in so many of the files' descriptors may be the processor's counters... */
#define HARDWARE_MAX \
	4096 /* ...and no more than these: 16 CPUs' for 32 jobs that may use all of them */

/*
 * The processor's own counters of the node's jobs: opened for a job's cgroup and the CPUs that it
 * may use at its first reading, so that jobs which share no CPU cost as many descriptors as one of
 * all CPUs.
 *
 * What they counted becomes part of the job at each reading, so that it never falls, whoever goes
 * on counting.  Of a run its command's process is counted from its execve() on, with all that it
 * starts, which any user may.
 */
struct source_state {
	int root_fd;
	const struct hierarchy *hierarchy;
	struct hardware_events events;
	size_t descriptors_left;
	struct error why; /* the last job could not be counted; "": all could */
	bool is_user_only; /* as the last job was counted */
};

struct source_job_state {
	struct hardware *hardware;
	bool waits; /* for its execve(): what can be counted is known only then */
	size_t descriptors; /* of those that all jobs share */
	struct value last[METRIC_JOB_COUNT];
};

static int open_source(const struct source_options *options, struct source_state *s,
		       struct error *err UNUSED)
{
	s->root_fd = options->root_fd;
	s->hierarchy = options->hierarchy;
	if (options->hardware)
		s->events = *options->hardware;
	else
		hardware_events_read(s->root_fd, &s->events);
	if (options->descriptors) {
		s->descriptors_left = MIN(options->descriptors->max / HARDWARE_SHARE,
					  (unsigned int)HARDWARE_MAX);
		options->descriptors->max -= (unsigned int)s->descriptors_left;
	}
	return 0;
}

static int describe(const struct source_state *s, struct strings *missing)
{
	return *s->why.text ? strings_add(missing, HARDWARE_LABEL "%s", s->why.text) : 0;
}

/* With room again later jobs may be counted; and a job that waits for it would have lost its
 * beginning. */
static int attach(struct source_state *s, const struct source_job *job,
		  struct source_job_state **ret)
{
	const struct hardware_place place = { s->root_fd, s->hierarchy, job->path, job->cpus };
	struct source_job_state *own;
	struct error err = {};
	int r;

	if (!job->pid && (!s->hierarchy || !job->cpus))
		return -EAGAIN;
	own = calloc(1, sizeof(*own));
	if (!own)
		r = error_set_errno(&err, ENOMEM, "cannot be counted");
	else if (job->pid)
		r = hardware_open_process(&s->events, job->pid, true, &own->hardware, &err);
	else
		r = hardware_open_path(&s->events, &place, s->descriptors_left, &own->hardware,
				       &err);
	if (r < 0 || !own) {
		s->why = err;
		free(own);
		return r;
	}
	assert(own->hardware);
	s->is_user_only = own->hardware->is_user_only;
	own->waits = job->pid;
	own->descriptors = job->pid ? 0 : own->hardware->count;
	s->descriptors_left -= own->descriptors;
	*ret = own;
	return 0;
}

static void sample_job(struct source_state *s UNUSED, struct source_job_state *own,
		       const struct source_job *job UNUSED, struct source_job_sample *to)
{
	struct value now[METRIC_JOB_COUNT] = {};

	hardware_read(own->hardware, now);
	own->waits &= now[METRIC_CPU_COUNTERS_ENABLED].number == 0;
	if (own->waits)
		return;
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		if (!now[id].is_known || now[id].number < own->last[id].number)
			continue;
		to->added[id] = (struct value){ now[id].number - own->last[id].number, true };
		own->last[id] = now[id];
	}
}

static int describe_job(const struct source_state *s, struct record *record)
{
	const char *why = *s->why.text ? s->why.text : "it began and ended between two readings";

	if (record->reading.values[METRIC_CPU_COUNTERS_ENABLED].is_known)
		return record_note_counters(record, s->is_user_only);
	return strings_add(&record->coverage.missing, HARDWARE_LABEL "%s", why);
}

static void detach(struct source_state *s, struct source_job_state *own)
{
	s->descriptors_left += own->descriptors;
	hardware_close(own->hardware);
	free(own);
}

const struct source source_hardware = {
	.name = "hardware",
	.label = HARDWARE_LABEL,
	.help = "Count cycles, instructions, cache misses and floating-point operations of jobs with hardware counters. "
		"This takes a descriptor for each job, CPU and event, and work at each switch between jobs.",
	.is_off = true,
	.size = sizeof(struct source_state),
	.open = open_source,
	.describe = describe,
	.attach = attach,
	.sample_job = sample_job,
	.describe_job = describe_job,
	.detach = detach,
};
