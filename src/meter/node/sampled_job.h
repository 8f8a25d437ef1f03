/* SPDX-License-Identifier: MIT */
/*
 * sampled_job - what the sampler adds to a job of the registry from elsewhere: the numbers in its
 * cgroup's own files, what it may use, what the site's prolog left of it, its user's name, what a job without
 * a name runs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "group_files.h"
#include "notices.h"
#include "sampled_hardware.h"

struct group;
struct hierarchy;
struct thermal;
struct registry_job;
struct sampler_options;
struct users;

struct job_sources { /* stays where it is as long as jobs have something attached */
	int root_fd;
	const struct hierarchy *hierarchy; /* NULL: no cgroups */
	/* Of one group alone; NULL: groups are found by their jobs' paths. */
	const struct group *group;
	bool is_own;	/* its maker knows what it may use, and looks at the sensors */
	bool has_begun; /* sensors are looked at: what they said before is no record's */
	bool has_ended; /* what memory was used for is gone */
	struct group_files_budget budget;
	struct metric_set wanted; /* of its groups' files */
	struct users *users;
	/* Whose the run of that group is, which was announced to us; -1: none of ours.  NULL: none ever is. */
	int64_t (*find_owner)(void *context, uint64_t group_id);
	void *context;
	struct hardware_source hardware;
	uint64_t commands_until_ns; /* by CLOCK_BOOTTIME: then nobody wants to know any more what jobs run */
	unsigned int command_looks; /* how many jobs' commands were looked for at this reading: the caller sets it to 0 */
	bool has_thermal, has_ports; /* the site wants them */
	struct thermal *thermal; /* swept for this reading; NULL: the machine has nothing of the kind */
	const char *prolog_dir;	    /* below root_fd */
	uint64_t bad_prologs;	    /* files that the prolog left and that were not taken */
	struct notices prolog_news; /* and why */
};

/* The processor's counters and its sensors, of which there may be none, where they are wanted.  Descriptors for them are
 * taken off the files' budget.  -ENOMEM. */
int job_sources_open_sensors(struct job_sources *sources, const struct sampler_options *options);
/* Put into a job's record what no snapshot holds, and what they have not; of what the site does not want, nothing.  -ENOMEM,
 * -ENOSPC. */
int job_sources_describe(const struct job_sources *sources, const struct registry_job *job, struct record *record);
/* Say what no job can have of them on this node, by whose will ever.  -ENOMEM, -ENOSPC. */
int job_sources_describe_node(const struct job_sources *sources, struct record *record);

/* Ask all sources, each as often as it changes.  -ENOMEM. */
int sampled_job_read(struct job_sources *sources, struct registry_job *job, uint64_t boot_ns);
