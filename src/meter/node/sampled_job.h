/* SPDX-License-Identifier: MIT */
/*
 * sampled_job - adds to a job of the registry what the sampler reads elsewhere: numbers of its
 * cgroup's files, its allocation, the prolog's file, its user's name, the command of a job without
 * a name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cgroup/group_files.h"
#include "node/notices.h"
#include "sources/sources.h"

struct group;
struct hierarchy;
struct registry_job;
struct sampler_options;
struct users;

struct job_sources { /* stays where it is as long as jobs have something attached */
	int root_fd;
	const struct hierarchy *hierarchy; /* NULL: no cgroups */
	/* Of one group alone; NULL: groups are found by their jobs' paths. */
	const struct group *group;
	bool is_own; /* the caller knows its allocation and reads the sensors */
	bool has_begun; /* sensors are read: earlier values are in no record */
	bool has_ended; /* what memory was used for is gone */
	struct group_files_budget budget;
	struct metric_set wanted; /* of its groups' files */
	struct users *users;
	/* Whose the run of that group is, which was announced to us; -1: none of ours.  NULL: none
	 * ever is. */
	int64_t (*find_owner)(void *context, uint64_t group_id);
	void *context;
	struct sources *sources; /* sampled for this reading */
	uint64_t commands_until_ns; /* by CLOCK_BOOTTIME: until then commands of jobs are wanted */
	bool wants_names; /* of job_command_names(): for records that are sent elsewhere */
	unsigned int command_lookups; /* jobs whose command was searched for at this reading; reset
					 by the caller */
	const char *prolog_dir; /* below root_fd */
	uint64_t bad_prologs; /* files that the prolog left and that were not taken */
	struct notices prolog_news; /* and why */
};

/* Add to a job's record the traffic of the node's ports and what its sources lack, but not of
 * sources that are switched off. -ENOMEM, -ENOSPC. */
int job_sources_describe(const struct job_sources *sources, const struct registry_job *job,
			 struct record *record);

/* Ask all sources, each as often as it changes.  -ENOMEM. */
int sampled_job_read(struct job_sources *sources, struct registry_job *job, uint64_t boot_ns);
