/* SPDX-License-Identifier: MIT */
/*
 * sampled_job - what the sampler adds to a job of the registry from elsewhere: the numbers in its
 * cgroup's own files, what it may use, what the site's prolog left of it, its user's name, what a
 * job without a name runs.
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
	bool is_own; /* its maker knows what it may use, and looks at the sensors */
	bool has_begun; /* sensors are looked at: what they said before is no record's */
	bool has_ended; /* what memory was used for is gone */
	struct group_files_budget budget;
	struct metric_set wanted; /* of its groups' files */
	struct users *users;
	/* Whose the run of that group is, which was announced to us; -1: none of ours.  NULL: none
	 * ever is. */
	int64_t (*find_owner)(void *context, uint64_t group_id);
	void *context;
	struct sources *sources; /* sampled for this reading */
	uint64_t commands_until_ns; /* by CLOCK_BOOTTIME: then nobody wants to know any more what
				       jobs run */
	bool wants_names; /* of what job_command_names(): for records that go elsewhere */
	unsigned int command_lookups; /* how many jobs' commands were looked for at this reading:
					 the caller sets it to 0 */
	const char *prolog_dir; /* below root_fd */
	uint64_t bad_prologs; /* files that the prolog left and that were not taken */
	struct notices prolog_news; /* and why */
};

/* Put into a job's record what went through the node's ports, and what its sources have not; of
 * what the site does not want, nothing.  -ENOMEM, -ENOSPC. */
int job_sources_describe(const struct job_sources *sources, const struct registry_job *job,
			 struct record *record);

/* Ask all sources, each as often as it changes.  -ENOMEM. */
int sampled_job_read(struct job_sources *sources, struct registry_job *job, uint64_t boot_ns);
