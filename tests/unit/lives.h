/* SPDX-License-Identifier: MIT */
/* lives - lives of groups that no kernel told of, and what cgroups did, for tests of the registry.
 */
#pragma once

#include "jobs/registry.h"

#define SECOND UINT64_C(1000000000)
#define EPOCH (1700000000 * SECOND) /* what CLOCK_BOOTTIME's 0 is */

/* A registry that began at second 100, of boot "boot-a".  Never NULL. */
struct registry *lives_registry(void);

/* Born and died in seconds since boot; 0 as in struct group_life. */
struct group_life life(uint64_t id, uint64_t parent, uint64_t born, uint64_t died,
		       const char *path);

/* registry_learn() of @count lives at @second. */
void learn(struct registry *r, uint64_t second, const struct group_life *lives, size_t count);

/* A feed of tasks that used @user_ns each, and of rows; places are named "/1", "/2"... of type
 * "ext4". */
struct cgroup_tasks tasks_of(uint64_t cgroup, uint64_t user_ns, uint64_t live, uint64_t ended);
struct cgroup_row row_of(uint64_t cgroup, uint64_t place, unsigned int op, unsigned int interface,
			 uint64_t calls, uint64_t amount);
void feed(struct registry *r, const struct cgroup_tasks *tasks, size_t task_count,
	  const struct cgroup_row *rows, size_t row_count);
const struct snapshot_mount *name_by_number(void *context, uint64_t place);
/* A feed of what is named: FEED(r, .tasks = tasks, .task_count = 2, .counted = COUNTED_TASKS). */
#define FEED(registry, ...)                                                \
	ASSERT_OK(registry_feed((registry), &(const struct registry_feed){ \
						    .name_place = name_by_number, __VA_ARGS__ }))

/* registry_fold() at @second, and registry_forget(); how many. */
size_t fold(struct registry *r, uint64_t second);
size_t fold_and_forget(struct registry *r, uint64_t second);

/* What the registry shows; it stays until the fourth call after this one. */
struct snapshot *snap(struct registry *r, uint64_t second);

/* snap() after learn() and feed(), or after feed() alone. */
struct snapshot *fed(struct registry *r, uint64_t second, const struct group_life *lives,
		     size_t count, const struct cgroup_tasks *tasks, size_t task_count);
struct snapshot *fed_again(struct registry *r, uint64_t second, const struct cgroup_tasks *tasks,
			   size_t task_count, const struct cgroup_row *rows, size_t row_count);

/* A metric of a job of a snapshot; UINT64_MAX: it is not known. */
uint64_t number_of(const struct snapshot *s, const char *manager, const char *id,
		   enum metric_id metric);
/* The counts of a row of a job, all zero if there is none. */
struct op_counts counts_of(const struct snapshot *s, const char *manager, const char *id,
			   const char *mount, unsigned int op, unsigned int interface);

/* The JSON @text without a member: "steps/0/network".  The caller frees. */
char *without(const char *text, const char *member);
