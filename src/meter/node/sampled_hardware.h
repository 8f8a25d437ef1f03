/* SPDX-License-Identifier: MIT */
/*
 * sampled_hardware - the processor's own counters of the node's jobs: opened for a job's group and the CPUs that it may
 * use at its first reading, so that jobs which share no CPU cost as many descriptors as one of all CPUs.
 *
 * What they counted becomes part of the job at each reading, so that it never falls, whoever goes on counting.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "hardware_events.h"
#include "reading.h"

struct hardware;
struct hierarchy;
struct record;
struct registry_job;

struct hardware_source { /* stays where it is as long as a job has something of it */
	bool is_on;      /* the site wants it */
	int root_fd;     /* the caller's, as the hierarchy */
	const struct hierarchy *hierarchy;
	struct hardware_events events;
	size_t descriptors_left;
	struct error why; /* the last job could not be counted; "": all could */
};

struct sampled_hardware { /* begins as {} */
	struct hardware_source *source;
	struct hardware *hardware;
	bool is_refused; /* for good */
	struct value *last; /* METRIC_JOB_COUNT of them, while there is hardware */
};

/* Add to the job what was counted since the last time. @path: of its group in the key hierarchy; NULL: it is gone, and this
 * is the last time.  @cpus: a CPU list; NULL: not known, and nothing is begun. */
void sampled_hardware_read(struct hardware_source *source, struct sampled_hardware *own, struct registry_job *job,
			   const char *path, const char *cpus);
/* Its group is another one from now on, or none. */
void sampled_hardware_clear(struct sampled_hardware *own);

/* Say in a job's record, where they are wanted, what is missing or weakens the numbers.  -ENOMEM, -ENOSPC. */
int hardware_source_describe(const struct hardware_source *source, struct record *record);
