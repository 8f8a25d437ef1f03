/* SPDX-License-Identifier: MIT */
/* watch_target - the jobs to watch, from the words of a command line, and their cgroups. */
#pragma once

#include <stddef.h>

struct client_job;
struct error;
struct hierarchy;
struct watch_target;

#define WATCH_TARGETS_MAX 64

struct watch_target {
	char *manager; /* NULL: any */
	char *id;
};

struct watch_targets { /* owned */
	struct watch_target items[WATCH_TARGETS_MAX];
	size_t count;
};

/* "123", "slurm/123", "123,slurm/124".  All behind the first slash is the id, also slashes.
 * -EINVAL: an empty part; -E2BIG: too many. */
int watch_targets_parse(const char *text, struct watch_targets *ret, struct error *err);
void watch_targets_clear(struct watch_targets *targets);

/* "123.0" is step "0" of job "123", if no job has that id: where the step begins; NULL: there is
 * none. */
const char *watch_find_step(const char *id);

/*
 * The one of @jobs that is meant, by any of its names.  -ENOENT: none; -ENOTUNIQ: jobs of several
 * managers; @err says which there are.  *ret: its index.
 */
int watch_target_choose(const struct watch_target *target, const struct client_job *jobs,
			size_t count, size_t *ret, struct error *err);

/* The group of a job, or of a step ("123.0" where no job has that id); *ret_path is the caller's.
 * Errors as of watch_target_choose(). */
int watch_groups_find(int root_fd, const struct hierarchy *h, const struct watch_target *target,
		      char **ret_path, struct error *err);
