/* SPDX-License-Identifier: MIT */
/*
 * sampled_job - what the sampler adds to a job of the registry from elsewhere: the numbers in its
 * cgroup's own files, what it may use, what the site's prolog left of it, its user's name.
 */
#pragma once

#include <stdint.h>

#include "group_files.h"

struct hierarchy;
struct registry_job;
struct users;

struct job_sources { /* stays where it is as long as jobs have something attached */
	int root_fd;
	const struct hierarchy *hierarchy; /* NULL: no cgroups */
	struct group_files_budget budget;
	uint64_t wanted; /* GROUP_FILES_BIT of metrics */
	struct users *users;
	/* Whose a run is that was announced to us; -1: not known.  NULL: none ever is. */
	int64_t (*find_owner)(void *context, const char *id);
	void *context;
	const char *prolog_dir; /* below root_fd */
	uint64_t bad_prologs;	/* files that the prolog left and that were not taken */
};

/* Ask all sources, each as often as it changes.  -ENOMEM. */
int sampled_job_read(struct job_sources *sources, struct registry_job *job, uint64_t boot_ns);
