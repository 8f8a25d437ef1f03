/* SPDX-License-Identifier: MIT */
/*
 * The processor's own counters of the node's jobs: opened for a job's cgroup and the CPUs that it
 * may use at its first reading, so that jobs which share no CPU cost as many descriptors as one of
 * all CPUs.
 *
 * What they counted becomes part of the job at each reading, so that it never falls, whoever goes
 * on counting.  Of a run its command's process is counted from its execve() on, with all that it
 * starts, which any user may.
 */
#include <errno.h>
#include <stdlib.h>

#include "basic/error.h"
#include "cgroup/group_files.h"
#include "sources/hardware.h"
#include "basic/macro.h"
#include "model/record.h"
#include "sources/source.h"

#define HARDWARE_SHARE \
	4 /* one part in so many of the files' descriptors may be the processor's counters... */
#define HARDWARE_MAX \
	4096 /* ...and no more than these: 16 CPUs' for 32 jobs that may use all of them */

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
	s->is_user_only = hardware_is_user_only(own->hardware);
	own->waits = job->pid;
	own->descriptors = job->pid ? 0 : hardware_descriptors(own->hardware);
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
