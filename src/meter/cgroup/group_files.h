/* SPDX-License-Identifier: MIT */
/*
 * group_files - numbers from the files of any cgroup, v1 and v2.
 *
 * The files stay open, so that a reading is one pread() a file, a fifth of the cost of open, read
 * and close.  Unknown numbers are absent, which is not zero.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgroup/hierarchy.h"
#include "model/metric_set.h"
#include "model/reading.h"

struct group;
struct group_files;

/* The place of a number. On v1 each controller may have its own hierarchy, with the group at
 * the same path. */
struct group_field {
	enum controller controller;
	const char *v1_file, *v1_key; /* no file: v1 has none such; no key: the file is one number
				       */
	const char *v2_file, *v2_key;
	unsigned int v1_scale, v2_scale; /* to the metric's stored unit */
	enum metric_id metric;
	bool is_fallback; /* BPF has it as well or better */
	bool is_v1_own; /* on v1 the group alone, without its descendants; there BPF is better */
	const char *since; /* the first kernel with v2's file, or NULL */
	const char *v2_label; /* behind the key there are several numbers, and this is the label of
				 the one; or NULL */
	bool is_seldom; /* too expensive for each reading of many groups */
};

extern const struct group_field group_fields[]; /* those of one file are neighbours */
extern const size_t group_field_count;

/*
 * Descriptors that are kept open, of all groups together; each takes some 5 KiB of the kernel's
 * memory too.  A file beyond @max is opened, read and closed each time.
 */
struct group_files_budget {
	unsigned int max, used;
	uint64_t reopened; /* how often a file was opened again because no descriptor could be kept
			    */
	uint64_t refused; /* failed opens for want of descriptors: a number is missing */
};

#define GROUP_FILES_MAX 32768

/* All that RLIMIT_NOFILE allows but @others, which the rest of the process needs; at most
 * GROUP_FILES_MAX.  The soft limit is raised for it (select(2) breaks above 1,024 descriptors, poll
 * and epoll do not). */
void group_files_budget_init(struct group_files_budget *b, unsigned int others);

/* All fields; @has_tasks: without those that tasks' counters and ends of groups have as well or
 * better. */
struct metric_set group_files_metrics(bool is_v2, bool has_tasks);

/* Those that need not be read each time. */
struct metric_set group_files_seldom(void);

/*
 * The group of that path in the key hierarchy. @id is its kernel id (0: the current one); a later
 * group at the same path is never mistaken for it.  @h, @root_fd
 * and @budget must outlive it. -ENODEV: there is no such group.
 */
int group_files_open(int root_fd, const struct hierarchy *h, const char *path, uint64_t id,
		     struct group_files_budget *budget, struct group_files **ret);

/* The same of one of ours, or that group_open() found, which outlives it. */
int group_files_open_group(const struct group *group, struct group_files_budget *budget,
			   struct group_files **ret);

/*
 * Set the metrics of @wanted (NULL: all) in @values from the files, and leave the rest alone; files
 * without a wanted metric are neither opened nor read. A file that is read seldom is not kept open.
 * An absent one is tried again ever more rarely, at least each 64th time. Throttled time of a group
 * that never had a limit to its CPU time is read each 16th time only, after the first 16. -ENODEV:
 * the group is gone for good; of a group that has lost only some of its files the others are still
 * read. After other errors a later call may succeed.
 */
int group_files_read(struct group_files *g, const struct metric_set *wanted,
		     struct value values[METRIC_JOB_COUNT]);

/* NULL is fine; returns NULL. */
struct group_files *group_files_close(struct group_files *g);
void group_files_closep(struct group_files **g);
