/* SPDX-License-Identifier: MIT */
/* Ranks of jobs: the tasks of their steps. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "lives.h"
#include "basic/macro.h"
#include "model/sections.h"
#include "test.h"

#define JOB "/slurm/uid_7/job_8"
#define ENDED 4

/* A job whose step 0 has three tasks, of which one ended, and that did less before, in step 1, and
 * in a script. */
static void learn_all(struct registry *r, bool has_ended)
{
	const struct group_life lives[] = {
		life(1, 0, 110, 0, JOB),
		life(2, 1, 110, 0, JOB "/step_batch/task_0"),
		life(3, 1, 111, 0, JOB "/step_0/task_0"),
		life(5, 1, 111, 0, JOB "/step_0/task_2"),
		life(6, 5, 111, 0, JOB "/step_0/task_2/inner"),
		life(7, 1, 111, 0, JOB "/step_1/task_0"),
		life(8, 1, 111, 0, JOB "/step_0/task_special"),
		life(ENDED, 1, 111, 120, JOB "/step_0/task_1"),
	};

	learn(r, 121, lives, ARRAY_SIZE(lives) - !has_ended);
}

static void feed_all(struct registry *r, bool has_ended)
{
	struct cgroup_tasks tasks[] = {
		tasks_of(2, 900, 1, 0),	   tasks_of(3, 100, 1, 0), tasks_of(5, 20, 1, 0),
		tasks_of(6, 30, 1, 0),	   tasks_of(7, 150, 1, 0), tasks_of(8, 7, 1, 0),
		tasks_of(ENDED, 60, 0, 1),
	};

	tasks[ARRAY_SIZE(tasks) - 1].polls.ns = 30; /* for half of its time it waited for the others
						     */
	feed(r, tasks, ARRAY_SIZE(tasks) - !has_ended, NULL, 0);
}

static struct registry *made(void)
{
	struct registry *r = lives_registry();

	learn_all(r, true);
	feed_all(r, true);
	return r;
}

static struct balance ranks_of(struct registry *r)
{
	struct snapshot *s = snap(r, 131);

	return snapshot_find(s, "slurm", "8")->ranks;
}

/* 100, 30 and 20 + 30: in the mean 60. */
static void check(struct registry *r)
{
	const struct snapshot_job *j = snapshot_find(snap(r, 131), "slurm", "8");
	const struct rank_times *times = parts_get(&j->parts, &rank_work_section);

	ASSERT_EQ(j->ranks.count.number, 3);
	ASSERT_EQ(j->ranks.balance.number, 6000);
	ASSERT_EQ(times->count, (size_t)3);
	ASSERT_STREQ(times->items[2].step, "0");
}

TEST(the_tasks_of_the_step_that_did_most_are_a_jobs_ranks)
{
	_cleanup_(registry_freep) struct registry *r = made();

	check(r);
}

TEST(ranks_that_ended_stay)
{
	_cleanup_(registry_freep) struct registry *r = made();

	ASSERT_EQ(fold_and_forget(r, 130), (size_t)1);
	feed_all(r, false);
	check(r);
}

/* The job as it was written down, in another registry, with what still lives. */
static struct registry *come_back(const char *text)
{
	struct registry *r = lives_registry();
	struct error err = {};

	ASSERT_OK(registry_parse_job(r, text, strlen(text), &err));
	learn_all(r, false);
	feed_all(r, false);
	return r;
}

TEST(ranks_that_ended_come_back_from_a_state)
{
	_cleanup_(registry_freep) struct registry *before = made(), *after = NULL;
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(fold_and_forget(before, 130), (size_t)1);
	ASSERT_OK(registry_format_job(registry_find(before, "slurm", "8"), &text));
	after = come_back(text);
	check(after);
}

TEST(of_a_state_without_ranks_they_are_not_known)
{
	_cleanup_(registry_freep) struct registry *before = made(), *after = NULL;
	_cleanup_free_ char *text = NULL;
	char *ranks, *end;

	ASSERT_EQ(fold_and_forget(before, 130), (size_t)1);
	ASSERT_OK(registry_format_job(registry_find(before, "slurm", "8"), &text));
	while ((ranks = strstr(text, ", \"ranks\": ["))) {
		end = strchr(ranks, ']') + 1;
		memmove(ranks, end, strlen(end) + 1);
	}
	ASSERT_LACKS(text, "ranks");
	after = come_back(text);
	ASSERT(!ranks_of(after).count.is_known);
}

TEST(a_job_without_numbered_steps_has_no_ranks)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct group_life lives[] = { life(1, 0, 110, 0, JOB),
					    life(2, 1, 110, 0, JOB "/step_batch/task_0") };
	const struct cgroup_tasks tasks[] = { tasks_of(2, 900, 1, 0) };

	learn(r, 121, lives, 2);
	feed(r, tasks, 1, NULL, 0);
	ASSERT(!ranks_of(r).count.is_known);
}

#define TASKS 1024

/* A job of this many steps of TASKS tasks each, which all ended. */
static struct registry *made_of_steps(unsigned int steps)
{
	struct registry *r = lives_registry();
	struct group_life *lives = calloc(TASKS + 1, sizeof(*lives));
	struct cgroup_tasks *tasks = calloc(TASKS + 1, sizeof(*tasks));
	uint64_t id = 2;

	ASSERT(lives && tasks);
	for (unsigned int step = 0; step < steps; step++) {
		lives[0] = life(1, 0, 110, 0, JOB);
		tasks[0] = tasks_of(1, 7, 1, 0);
		for (unsigned int i = 1; i <= TASKS; i++, id++) {
			char path[64];

			snprintf(path, sizeof(path), JOB "/step_%u/task_%u", step, i - 1);
			lives[i] = life(id, 1, 111 + step, 112 + step, path);
			tasks[i] = tasks_of(id, 10, 0, 1);
		}
		learn(r, 113 + step, lives, TASKS + 1);
		feed(r, tasks, TASKS + 1, NULL, 0);
		ASSERT_EQ(fold_and_forget(r, 113 + step), (size_t)TASKS);
	}
	free(lives);
	free(tasks);
	return r;
}

/* The kernel's part of all jobs is kept until each state is written. */
TEST(the_state_of_many_steps_of_many_tasks_is_bounded)
{
	_cleanup_(registry_freep) struct registry *r = made_of_steps(67);
	_cleanup_free_ char *text = NULL;
	size_t with = 0;

	ASSERT_OK(registry_format_job(registry_find(r, "slurm", "8"), &text));
	for (const char *at = text; (at = strstr(at, "\"ranks\": [")); at++)
		with++;
	ASSERT_EQ(with, (size_t)64);
}
