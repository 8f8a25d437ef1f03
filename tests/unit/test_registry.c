/* SPDX-License-Identifier: MIT */
#include "jobs/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "cgroup/identity.h"
#include "lives.h"
#include "test.h"

#define JOB "/slurm/uid_1000/job_42"
#define V2 "/system.slice/slurmstepd.scope"

static size_t count_jobs(struct registry *r)
{
	size_t count = 0;

	for (struct registry_job *j = NULL; (j = registry_next(r, j));)
		count++;
	return count;
}

/* Job 42 with steps 0 (two tasks) and batch. */
static void learn_job(struct registry *r)
{
	const struct group_life lives[] = {
		life(5, 3, 120, 0, JOB "/step_batch/task_0"),
		life(1, 0, 110, 0, JOB),
		life(2, 1, 111, 0, JOB "/step_0"),
		life(3, 1, 112, 0, JOB "/step_batch"),
		life(4, 2, 113, 0, JOB "/step_0/task_0"),
		life(6, 2, 113, 0, JOB "/step_0/task_1"),
	};

	learn(r, 130, lives, 6);
}

TEST(an_empty_registry_makes_an_empty_snapshot)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s = snap(r, 101);

	ASSERT_EQ(s->job_count, (size_t)0);
	ASSERT(!s->has_mounts);
	ASSERT(registry_next(r, NULL) == NULL);
	ASSERT(registry_free(NULL) == NULL);
}

TEST(one_group_is_a_job_under_the_name_that_it_is_given)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;
	const struct group_life own = life(7, 0, 120, 0, JOB "/jobmeter-run-5");
	const struct cgroup_tasks tasks[] = { tasks_of(7, 11, 1, 0), tasks_of(8, 13, 1, 0) };

	ASSERT_OK(registry_learn_one(r, &own, "run", "", 125 * SECOND, EPOCH + 125 * SECOND));
	s = fed_again(r, 130, tasks, 2, NULL, 0);
	ASSERT_EQ(s->job_count, (size_t)1);
	ASSERT_EQ(number_of(s, "run", "", METRIC_CPU_USER), (uint64_t)11);
	ASSERT(s->jobs[0].is_live);
	ASSERT_EQ(s->jobs[0].job->start_boot_ns, 120 * SECOND);
	ASSERT_EQ(s->jobs[0].job->start_ns, EPOCH + 120 * SECOND);
	ASSERT_STREQ(registry_job_path(registry_find(r, "run", "")), JOB "/jobmeter-run-5");
}

TEST(groups_become_a_job_with_its_steps)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;
	const struct cgroup_tasks tasks[] = { tasks_of(4, 7, 1, 2), tasks_of(6, 11, 1, 0),
					      tasks_of(5, 13, 2, 1), tasks_of(99, 1000, 1, 1) };
	struct registry_job *j;

	learn_job(r);
	s = fed_again(r, 130, tasks, 4, NULL, 0);
	ASSERT_EQ(s->job_count, (size_t)1);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)31);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_TASKS_LIVE), (uint64_t)4);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_TASKS_ENDED), (uint64_t)3);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_MEMORY_PEAK), UINT64_MAX);
	ASSERT(s->jobs[0].is_live);
	ASSERT_EQ(s->jobs[0].job->uid, (int64_t)1000);
	ASSERT_EQ(s->jobs[0].job->start_ns, EPOCH + 110 * SECOND);
	ASSERT_EQ(s->jobs[0].job->measured_from_ns, EPOCH + 110 * SECOND);
	ASSERT_EQ(s->jobs[0].step_count, (size_t)2);
	ASSERT_STREQ(s->jobs[0].steps[0].id, "0");
	ASSERT_EQ(s->jobs[0].steps[0].values[METRIC_CPU_USER].number, (uint64_t)18);
	ASSERT_STREQ(s->jobs[0].steps[1].id, "batch");
	ASSERT_EQ(s->jobs[0].steps[1].values[METRIC_CPU_USER].number, (uint64_t)13);
	j = registry_find(r, "slurm", "42");
	ASSERT_STREQ(registry_job_path(j), JOB);
	ASSERT(registry_next(r, NULL) == j && registry_next(r, j) == NULL);
}

TEST(groups_of_no_job_are_ignored_and_units_are_jobs_by_choice)
{
	const struct group_life lives[] = { life(1, 0, 0, 0, "/system.slice"),
					    life(2, 1, 0, 0, "/system.slice/cron.service"),
					    life(3, 0, 0, 0, "/slurm"), life(4, 0, 0, 0, "/") };
	_cleanup_(registry_freep) struct registry *r = lives_registry(), *units = NULL;
	struct registry_options options = { .has_units = true };

	learn(r, 101, lives, 4);
	learn(r, 102, lives, 4);
	ASSERT_EQ(count_jobs(r), (size_t)0);
	units = registry_new(&options);
	learn(units, 101, lives, 4);
	ASSERT_EQ(count_jobs(units), (size_t)1);
	ASSERT(registry_find(units, "systemd", "cron.service"));
}

TEST(a_job_that_was_there_before_us_is_older_than_the_measurement)
{
	const struct group_life lives[] = { life(1, 0, 0, 0, JOB) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct job *facts;

	learn(r, 101, lives, 1);
	facts = registry_job_known(registry_find(r, "slurm", "42"));
	ASSERT_EQ(facts->start_ns, (uint64_t)0);
	ASSERT_EQ(facts->measured_from_ns, EPOCH + 100 * SECOND);
}

TEST(a_run_inside_a_job_counts_in_both)
{
	const struct group_life lives[] = { life(1, 0, 110, 0, JOB),
					    life(2, 1, 111, 0, JOB "/step_0"),
					    life(3, 2, 112, 0, JOB "/step_0/jobmeter-run-9") };
	const struct cgroup_tasks tasks[] = { tasks_of(2, 5, 1, 0), tasks_of(3, 7, 1, 0) };
	const struct cgroup_row rows[] = { row_of(3, 1, OP_READ, INTERFACE_CALL, 3, 300) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn(r, 115, lives, 3);
	s = fed_again(r, 115, tasks, 2, rows, 1);
	ASSERT_EQ(s->job_count, (size_t)2);
	ASSERT_EQ(number_of(s, "run", "9", METRIC_CPU_USER), (uint64_t)7);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)12);
	ASSERT_EQ(snapshot_find(s, "slurm", "42")->steps[0].values[METRIC_CPU_USER].number,
		  (uint64_t)12);
	ASSERT_EQ(counts_of(s, "run", "9", "/1", OP_READ, INTERFACE_CALL).bytes, (uint64_t)300);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/1", OP_READ, INTERFACE_CALL).bytes, (uint64_t)300);
}

TEST(rows_are_summed_over_cgroups_cpus_and_places_of_one_name)
{
	struct cgroup_row rows[] = { row_of(4, 1, OP_READ, INTERFACE_CALL, 1, 10),
				     row_of(4, 1, OP_READ, INTERFACE_CALL, 2, 20),
				     row_of(6, 1, OP_READ, INTERFACE_CALL, 4, 40),
				     row_of(6, 2, OP_OPEN, INTERFACE_CALL, 8, 3),
				     row_of(6, 1, OP_READ, INTERFACE_SENDFILE, 16, 160),
				     row_of(99, 1, OP_READ, INTERFACE_CALL, 1, 1),
				     row_of(4, 1, 77, INTERFACE_CALL, 1, 1),
				     row_of(4, 1, OP_READ, 77, 1, 1) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	rows[1].key.cpu = 1;
	learn_job(r);
	s = fed_again(r, 130, NULL, 0, rows, 8);
	ASSERT(s->has_mounts && s->has_seconds);
	ASSERT_EQ(s->mount_count, (size_t)2);
	ASSERT_STREQ(s->mounts[0].source, "disk");
	ASSERT_EQ(s->jobs[0].row_count, (size_t)3);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/1", OP_READ, INTERFACE_CALL).calls, (uint64_t)7);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/1", OP_READ, INTERFACE_CALL).bytes, (uint64_t)70);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/1", OP_READ, INTERFACE_SENDFILE).bytes,
		  (uint64_t)160);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/2", OP_OPEN, INTERFACE_CALL).not_found,
		  (uint64_t)3);
}

TEST(a_cgroup_that_ends_is_folded_and_nothing_falls)
{
	const struct cgroup_tasks before[] = { tasks_of(4, 7, 1, 0), tasks_of(6, 11, 1, 0) };
	const struct cgroup_tasks after[] = { tasks_of(4, 9, 0, 3), tasks_of(6, 12, 1, 0) };
	const struct cgroup_row rows[] = { row_of(4, 1, OP_WRITE, INTERFACE_CALL, 2, 200),
					   row_of(6, 1, OP_WRITE, INTERFACE_CALL, 1, 50) };
	const struct group_life dead[] = { life(4, 2, 113, 140, JOB "/step_0/task_0") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn_job(r);
	feed(r, before, 2, rows, 2);
	learn(r, 141, dead, 1);
	ASSERT_EQ(fold(r, 141), (size_t)0); /* nothing was fed since its death */
	feed(r, after, 2, rows, 2);
	ASSERT_EQ(fold(r, 141), (size_t)1);
	ASSERT_EQ(fold(r, 141), (size_t)0);
	s = fed_again(r, 141, after, 2, rows, 2); /* the kernel side still has it: not twice */
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)21);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_TASKS_LIVE), (uint64_t)1);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/1", OP_WRITE, INTERFACE_CALL).bytes, (uint64_t)250);
	ASSERT_EQ(s->jobs[0].steps[0].values[METRIC_CPU_USER].number, (uint64_t)21);
	ASSERT_OK(registry_forget(r, (const uint64_t[]){ 4 }, 1));
	s = fed_again(r, 142, after + 1, 1, rows + 1, 1);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)21);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/1", OP_WRITE, INTERFACE_CALL).bytes, (uint64_t)250);
}

static struct cgroup_tasks sender_of(uint64_t cgroup, uint64_t sent)
{
	struct cgroup_tasks tasks = tasks_of(cgroup, 7, 1, 0);

	*network_number_ref(&tasks.network, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES) = sent;
	return tasks;
}

static void feed_senders(struct registry *r, const struct cgroup_tasks *tasks, size_t count)
{
	FEED(r, .tasks = tasks, .task_count = count, .counted = COUNTED_TASKS | COUNTED_NETWORK);
}

static uint64_t sent_of(const struct network *n)
{
	return n->is_known ? network_total(n, METRIC_NETWORK_SENT_BYTES) : UINT64_MAX;
}

TEST(what_each_step_sent_is_told_and_never_falls)
{
	/* one of two tasks of step 0, step 0's other task, the batch step, and the job itself
	 * outside of steps */
	const struct cgroup_tasks senders[] = { sender_of(4, 1009), sender_of(6, 2003),
						sender_of(5, 5), sender_of(1, 101) };
	const struct group_life dead[] = { life(4, 2, 113, 140, JOB "/step_0/task_0") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn_job(r);
	feed_senders(r, senders, 4);
	s = snap(r, 131);
	ASSERT_EQ(sent_of(network_of(&s->jobs[0].parts)), (uint64_t)(1009 + 2003 + 5 + 101));
	ASSERT_STREQ(s->jobs[0].steps[0].id, "0");
	ASSERT_EQ(sent_of(network_of(&s->jobs[0].steps[0].parts)), (uint64_t)(1009 + 2003));
	ASSERT_EQ(sent_of(network_of(&s->jobs[0].steps[1].parts)), (uint64_t)5);

	learn(r, 141, dead, 1);
	feed_senders(r, senders, 4);
	ASSERT_EQ(fold_and_forget(r, 141), (size_t)1);
	feed_senders(r, senders + 1, 1); /* of the others the kernel side says less than before */
	s = snap(r, 142);
	ASSERT_EQ(sent_of(network_of(&s->jobs[0].steps[0].parts)), (uint64_t)(1009 + 2003));
	ASSERT_EQ(sent_of(network_of(&s->jobs[0].steps[1].parts)), (uint64_t)5);
}

TEST(what_a_step_sent_is_known_of_those_steps_alone_of_which_all_was_fed)
{
	const struct cgroup_tasks tasks[] = { tasks_of(4, 7, 0, 1), sender_of(5, 5) };
	const struct group_life dead[] = { life(4, 2, 113, 140, JOB "/step_0/task_0") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn_job(r);
	learn(r, 141, dead, 1);
	feed(r, tasks, 1, NULL, 0); /* which says nothing of sockets */
	ASSERT_EQ(fold_and_forget(r, 141), (size_t)1);
	feed_senders(r, tasks + 1, 1);
	s = snap(r, 142);
	ASSERT(!network_of(&s->jobs[0].parts)->is_known);
	ASSERT(!network_of(&s->jobs[0].steps[0].parts)->is_known);
	ASSERT_EQ(sent_of(network_of(&s->jobs[0].steps[1].parts)), (uint64_t)5);
}

static void feed_times(struct registry *r, const struct cgroup_tasks *tasks, bool has_times)
{
	FEED(r, .tasks = tasks, .task_count = tasks ? 1 : 0,
	     .counted = COUNTED_TASKS | (has_times ? COUNTED_TIMES : 0));
}

TEST(time_by_cause_is_known_only_where_it_is_fed_and_never_falls)
{
	struct cgroup_tasks tasks = tasks_of(4, 9, 1, 0);
	const struct group_life dead[] = { life(4, 2, 113, 140, JOB "/step_0/task_0") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn_job(r);
	feed_times(r, &tasks, false);
	s = snap(r, 130);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_BLOCKED_LOCK), UINT64_MAX);

	tasks.times.blocked.lock = 17;
	feed_times(r, &tasks, true);
	s = snap(r, 131);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_BLOCKED_LOCK), (uint64_t)17);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_BLOCKED_SLEEP), (uint64_t)0);
	ASSERT_EQ(s->jobs[0].steps[0].values[METRIC_BLOCKED_LOCK].number, (uint64_t)17);

	learn(r, 140, dead, 1);
	feed_times(r, &tasks, true);
	ASSERT_EQ(fold_and_forget(r, 141), (size_t)1);
	feed_times(r, NULL, false); /* switched off: what was counted stands */
	s = snap(r, 142);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_BLOCKED_LOCK), (uint64_t)17);
}

/* The job is user 1000's; of the step's own cgroup no task was anybody's but root's. */
TEST(what_a_managers_own_processes_wait_for_is_not_the_jobs)
{
	struct cgroup_tasks tasks[] = { tasks_of(2, 3, 1, 0), tasks_of(4, 5, 1, 0) };
	const struct registry_feed f = { .tasks = tasks,
					 .task_count = 2,
					 .counted = COUNTED_TASKS | COUNTED_TIMES };
	const struct group_life dead[] = { life(2, 1, 111, 140, JOB "/step_0"),
					   life(4, 2, 113, 140, JOB "/step_0/task_0"),
					   life(6, 2, 113, 140, JOB "/step_0/task_1") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	tasks[0].times.blocked.lock = 1000;
	tasks[1].times.blocked.lock = 17;
	tasks[1].uid = 1000;
	learn_job(r);
	ASSERT_OK(registry_feed(r, &f));
	s = snap(r, 130);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_BLOCKED_LOCK), (uint64_t)17);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)8); /* what they do is */
	learn(r, 140, dead, 3);
	tasks[0].live = tasks[1].live = 0;
	ASSERT_OK(registry_feed(r, &f));
	ASSERT_EQ(fold_and_forget(r, 141), (size_t)3);
	s = snap(r, 142);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_BLOCKED_LOCK), (uint64_t)17);
}

TEST(a_step_without_tasks_of_its_own_is_the_users_where_he_has_any_process_in_it)
{
	struct cgroup_tasks tasks = tasks_of(2, 3, 1, 0);
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	tasks.times.blocked.lock = 17;
	tasks.uid = 1000;
	learn_job(r);
	feed_times(r, &tasks, true);
	s = snap(r, 130);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_BLOCKED_LOCK), (uint64_t)17);
}

static void feed_cores(struct registry *r, const struct cgroup_tasks *tasks,
		       const struct cgroup_core *cores, size_t count)
{
	FEED(r, .tasks = tasks, .task_count = tasks ? 1 : 0, .cores = cores, .core_count = count,
	     .counted = COUNTED_TASKS | COUNTED_TIMES);
}

static void expect_cores(struct registry *r, uint64_t second, uint64_t count, uint64_t balance,
			 const char *used)
{
	struct snapshot *s = snap(r, second);
	const struct balance *cores = &snapshot_find(s, "slurm", "42")->cores;
	const char *list = registry_job_cpus_used(registry_find(r, "slurm", "42"));

	ASSERT(cores->count.is_known == (count > 0));
	ASSERT_EQ(cores->count.number, count);
	ASSERT_EQ(cores->balance.number, balance);
	ASSERT_STREQ(list ? list : "-", used);
}

/* The job began at 110 s: at 130 s a core is touched from 1 s on. */
TEST(cores_are_touched_by_all_cgroups_of_a_job_and_kept_when_they_end)
{
	const struct cgroup_core cores[] = { { 6, 2 * SECOND, 3 },
					     { 4, 4 * SECOND, 7 },
					     { 4, SECOND / 2, 1 },
					     { 6, 2 * SECOND, 7 },
					     { 99, 9 * SECOND, 2 } };
	const struct cgroup_core unknown[] = { { 6, SECOND, TIME_ALL_CPUS } };
	struct cgroup_tasks tasks = tasks_of(4, 9, 0, 1), other = tasks_of(6, 9, 1, 0);
	const struct group_life dead[] = { life(4, 2, 113, 140, JOB "/step_0/task_0") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct cgroup_tasks both[] = { tasks, other };
	const struct registry_feed f = { .tasks = both,
					 .task_count = 2,
					 .cores = cores,
					 .core_count = 5,
					 .counted = COUNTED_TASKS | COUNTED_TIMES };

	learn_job(r);
	ASSERT_OK(registry_feed(r, &f));
	expect_cores(r, 130, 2, 6666, "3,7"); /* 6 s and 2 s */
	learn(r, 140, dead, 1);
	ASSERT_OK(registry_feed(r, &f));
	ASSERT_EQ(fold_and_forget(r, 141), (size_t)1);
	feed_cores(r, NULL, NULL, 0);
	expect_cores(r, 142, 1, 10000, "7"); /* what of it was folded: 4 s, and 0.5 s are not
						enough by now */
	feed_cores(r, &other, unknown, 1);
	expect_cores(r, 143, 0, 0, "-");
}

static void expect_threads(struct registry *r, uint64_t second, uint64_t count, uint64_t balance,
			   uint64_t cpu_ns)
{
	struct snapshot *s = snap(r, second);
	const struct threads *threads = &snapshot_find(s, "slurm", "42")->threads;

	ASSERT(threads->count.is_known == (count > 0));
	ASSERT_EQ(threads->count.number, count);
	ASSERT_EQ(threads->balance.number, balance);
	ASSERT_EQ(threads->cpu_ns.number, cpu_ns);
}

TEST(threads_are_those_of_the_busiest_process_of_all_cgroups_also_of_those_that_ended)
{
	struct cgroup_tasks tasks[] = { tasks_of(4, 9, 0, 1), tasks_of(6, 9, 1, 0) };
	const struct group_life dead[] = { life(4, 2, 113, 140, JOB "/step_0/task_0") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	learn_job(r);
	feed(r, tasks, 2, NULL, 0);
	expect_threads(r, 130, 0, 0, 0);
	tasks[0].busiest = (struct busiest_threads){ 4, 3 * SECOND, SECOND };
	tasks[1].busiest = (struct busiest_threads){ 2, 2 * SECOND, SECOND };
	feed(r, tasks, 2, NULL, 0);
	expect_threads(r, 131, 4, 7500, 3 * SECOND);
	learn(r, 140, dead, 1);
	feed(r, tasks, 2, NULL, 0);
	ASSERT_EQ(fold_and_forget(r, 141), (size_t)1);
	feed(r, &tasks[1], 1, NULL, 0);
	expect_threads(r, 142, 4, 7500, 3 * SECOND);
	tasks[1].busiest = (struct busiest_threads){ 8, 4 * SECOND, SECOND };
	feed(r, &tasks[1], 1, NULL, 0);
	expect_threads(r, 143, 8, 5000, 4 * SECOND);
}

TEST(a_cgroup_waits_for_the_grace_and_for_its_tasks)
{
	struct cgroup_tasks tasks = tasks_of(4, 9, 0, 3);
	const struct group_life dead[] = { life(4, 2, 113, 140, JOB "/step_0/task_0") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	uint64_t *cgroups = NULL;
	size_t count;

	learn_job(r);
	learn(r, 140, dead, 1);
	feed(r, &tasks, 1, NULL, 0);
	ASSERT_OK(registry_fold(r, 140 * SECOND + SECOND / 10, &cgroups, &count));
	free(cgroups);
	ASSERT_EQ(count, (size_t)0);
	tasks.unsettled = 1;
	feed(r, &tasks, 1, NULL, 0);
	ASSERT_EQ(fold(r, 141), (size_t)0);
	ASSERT_EQ(fold(r, 300), (size_t)1); /* some day it is enough */
}

static void feed_after_unseen(struct registry *r, const struct cgroup_tasks *tasks,
			      uint64_t unseen_ends)
{
	FEED(r, .tasks = tasks, .task_count = 1, .counted = COUNTED_TASKS,
	     .unseen_ends = unseen_ends);
}

TEST(after_an_end_that_was_not_seen_a_cgroup_waits_for_the_freeing_of_its_tasks)
{
	struct cgroup_tasks tasks = tasks_of(1, 9, 0, 2);
	const struct group_life live = life(1, 0, 110, 0, JOB), dead = life(1, 0, 110, 140, JOB);
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn(r, 130, &live, 1);
	learn(r, 141, &dead, 1);
	feed_after_unseen(r, &tasks, 1);
	ASSERT_EQ(fold_and_forget(r, 141), (size_t)0);
	s = snap(r, 141);
	ASSERT(!s->jobs[0].is_live && s->jobs[0].is_settling); /* it has ended */
	tasks.ended++; /* it was freed */
	feed_after_unseen(r, &tasks, 1);
	ASSERT_EQ(fold(r, 142), (size_t)1);
	ASSERT(!snap(r, 142)->jobs[0].is_settling); /* to be forgotten, too */
	ASSERT_EQ(fold_and_forget(r, 142), (size_t)0);
	s = snap(r, 142);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_TASKS_ENDED), (uint64_t)3);
	ASSERT(!s->jobs[0].is_settling);
}

TEST(an_end_that_was_not_seen_long_ago_delays_nothing)
{
	const struct cgroup_tasks tasks = tasks_of(1, 9, 0, 2);
	const struct group_life live = life(1, 0, 110, 0, JOB), dead = life(1, 0, 110, 140, JOB);
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	learn(r, 130, &live, 1);
	feed_after_unseen(r, &tasks, 7);
	ASSERT_EQ(fold(r, 131), (size_t)0);
	learn(r, 141, &dead, 1);
	feed_after_unseen(r, &tasks, 7);
	ASSERT_EQ(fold(r, 141), (size_t)1);
}

TEST(the_least_that_is_shown_is_what_was_shown)
{
	const struct cgroup_tasks more[] = { tasks_of(4, 100, 5, 9) },
				  less[] = { tasks_of(4, 90, 1, 8) };
	const struct cgroup_row rows[] = { row_of(4, 1, OP_READ, INTERFACE_CALL, 9, 900),
					   row_of(4, 2, OP_READ, INTERFACE_CALL, 1, 1),
					   row_of(4, 1, OP_READ, INTERFACE_CALL, 8, 1000) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct registry_job *j;
	struct snapshot *s;

	learn_job(r);
	feed(r, more, 1, rows, 2);
	j = registry_find(r, "slurm", "42");
	registry_job_set(j, METRIC_MEMORY_PEAK, 5000);
	registry_job_set(j, METRIC_MEMORY_USAGE, 4000);
	(void)snap(r, 130);
	feed(r, less, 1, rows + 2, 1);
	registry_job_set(j, METRIC_MEMORY_PEAK, 100);
	registry_job_set(j, METRIC_MEMORY_USAGE, 100);
	s = snap(r, 131);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)100);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_TASKS_LIVE), (uint64_t)1);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_MEMORY_PEAK), (uint64_t)5000);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_MEMORY_USAGE), (uint64_t)100);
	ASSERT_EQ(s->jobs[0].steps[0].values[METRIC_TASKS_ENDED].number, (uint64_t)9);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/1", OP_READ, INTERFACE_CALL).calls, (uint64_t)9);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/1", OP_READ, INTERFACE_CALL).bytes, (uint64_t)1000);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/2", OP_READ, INTERFACE_CALL).calls, (uint64_t)1);
}

TEST(the_least_that_is_shown_is_what_another_registry_showed)
{
	struct registry *r = lives_registry();
	struct group_life group = life(7, 1, 110, 0, "/slurm/uid_1000/job_7/step_0");
	struct cgroup_tasks tasks = tasks_of(7, 50, 1, 0);
	struct value least[METRIC_JOB_COUNT] = { [METRIC_CPU_USER] = { 70, true } };
	struct snapshot *s;

	learn(r, 111, &group, 1);
	ASSERT_OK(registry_job_set_least(registry_find(r, "slurm", "7"), least));
	s = fed_again(r, 112, &tasks, 1, NULL, 0);
	ASSERT_EQ(number_of(s, "slurm", "7", METRIC_CPU_USER), 70);
	tasks = tasks_of(7, 90, 1, 0);
	s = fed_again(r, 113, &tasks, 1, NULL, 0);
	ASSERT_EQ(number_of(s, "slurm", "7", METRIC_CPU_USER), 90);
	registry_free(r);
}

TEST(a_job_ends_a_grace_after_its_last_group)
{
	const struct group_life lives[] = { life(1, 0, 110, 150, JOB),
					    life(2, 1, 111, 149, JOB "/step_0") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn(r, 120,
	      (const struct group_life[]){ life(1, 0, 110, 0, JOB),
					   life(2, 1, 111, 0, JOB "/step_0") },
	      2);
	registry_job_set(registry_find(r, "slurm", "42"), METRIC_MEMORY_USAGE, 7);
	learn(r, 150, lives, 2);
	ASSERT(registry_job_path(registry_find(r, "slurm", "42")) == NULL);
	s = snap(r, 151);
	ASSERT(!s->jobs[0].is_live);
	ASSERT_EQ(s->jobs[0].job->end_ns, EPOCH + 150 * SECOND);
	ASSERT_EQ(s->jobs[0].steps[0].end_ns, EPOCH + 149 * SECOND);
	ASSERT(!s->jobs[0].steps[0].is_live);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_MEMORY_USAGE), UINT64_MAX);
}

TEST(how_its_cpus_are_now_is_told_of_a_live_job_at_that_reading_only)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct thermal_moment warm = { .cpus = 3,
					     .frequency_hz = 2900001007,
					     .frequency_min_hz = 1300000000,
					     .has_temperature = true,
					     .millicelsius = 61003,
					     .has_throttles = true,
					     .core_throttles = 5 };
	const struct group_life born = life(1, 0, 110, 0, JOB), died = life(1, 0, 110, 140, JOB);
	struct snapshot *s = NULL, *next = NULL, *last = NULL;

	learn(r, 130, &born, 1);
	registry_job_sample(registry_find(r, "slurm", "42"), &warm);
	s = snap(r, 130);
	ASSERT_EQ(thermal_now_value(&s->jobs[0].now, METRIC_JOB_FREQUENCY_MEAN).number,
		  UINT64_C(2900001000));
	ASSERT_EQ(thermal_now_value(&s->jobs[0].now, METRIC_JOB_FREQUENCY_MIN).number,
		  UINT64_C(1300000000));
	ASSERT_EQ(thermal_now_value(&s->jobs[0].now, METRIC_JOB_TEMPERATURE).number,
		  UINT64_C(61003));
	ASSERT(thermal_now_value(&s->jobs[0].now, METRIC_JOB_THROTTLES).is_known);
	ASSERT_EQ(thermal_now_value(&s->jobs[0].now, METRIC_JOB_THROTTLES).number, UINT64_C(0));
	next = snap(r, 131); /* nobody looked */
	ASSERT(!thermal_now_value(&next->jobs[0].now, METRIC_JOB_FREQUENCY_MEAN).is_known);
	ASSERT(!thermal_now_value(&next->jobs[0].now, METRIC_JOB_TEMPERATURE).is_known);
	ASSERT(!thermal_now_value(&next->jobs[0].now, METRIC_JOB_THROTTLES).is_known);
	ASSERT_EQ(next->jobs[0].thermal.samples.number, (uint64_t)1);
	registry_job_sample(registry_find(r, "slurm", "42"), &warm);
	learn(r, 140, &died, 1);
	last = snap(r, 141);
	ASSERT(!last->jobs[0].is_live);
	ASSERT(!thermal_now_value(&last->jobs[0].now, METRIC_JOB_TEMPERATURE).is_known);
	ASSERT_EQ(last->jobs[0].thermal.samples.number, (uint64_t)2);
}

TEST(a_job_of_a_moment_is_whole)
{
	const struct group_life lives[] = { life(7, 0, 110, 111, "/jobmeter-run-5") };
	const struct cgroup_tasks tasks[] = { tasks_of(7, 33, 0, 2) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn(r, 115, lives, 1);
	feed(r, tasks, 1, NULL, 0);
	ASSERT_EQ(fold_and_forget(r, 115), (size_t)1);
	s = fed_again(r, 116, NULL, 0, NULL, 0);
	ASSERT_EQ(number_of(s, "run", "5", METRIC_CPU_USER), (uint64_t)33);
	ASSERT_EQ(number_of(s, "run", "5", METRIC_TASKS_LIVE), UINT64_MAX);
	ASSERT_EQ(s->jobs[0].job->start_ns, EPOCH + 110 * SECOND);
	ASSERT_EQ(s->jobs[0].job->end_ns, EPOCH + 111 * SECOND);
}

TEST(a_slurm_job_whose_groups_are_made_anew_goes_on)
{
	const struct group_life first[] = { life(1, 0, 110, 120, V2 "/job_9"),
					    life(2, 1, 111, 119, V2 "/job_9/step_0") };
	const struct group_life second[] = { life(3, 0, 200, 0, V2 "/job_9"),
					     life(4, 3, 201, 0, V2 "/job_9/step_1") };
	const struct cgroup_tasks tasks[] = { tasks_of(2, 5, 0, 1) },
				  more[] = { tasks_of(4, 6, 1, 0) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct registry_job *j;
	struct snapshot *s;

	learn(r, 115,
	      (const struct group_life[]){ life(1, 0, 110, 0, V2 "/job_9"),
					   life(2, 1, 111, 0, V2 "/job_9/step_0") },
	      2);
	j = registry_find(r, "slurm", "9");
	registry_job_set(j, METRIC_CPU_THROTTLED, 100);
	learn(r, 121, first, 2);
	feed(r, tasks, 1, NULL, 0);
	ASSERT_EQ(fold_and_forget(r, 122), (size_t)2);
	ASSERT(!registry_job_path(j));
	learn(r, 202, second, 2);
	feed(r, more, 1, NULL, 0);
	j = registry_find(r, "slurm", "9");
	ASSERT(registry_job_path(j));
	registry_job_set(j, METRIC_CPU_THROTTLED, 7);
	s = snap(r, 202);
	ASSERT_EQ(s->job_count, (size_t)1);
	ASSERT_EQ(s->jobs[0].job->start_ns, EPOCH + 110 * SECOND);
	ASSERT_EQ(s->jobs[0].job->end_ns, (uint64_t)0);
	ASSERT_EQ(number_of(s, "slurm", "9", METRIC_CPU_USER), (uint64_t)11);
	ASSERT_EQ(number_of(s, "slurm", "9", METRIC_CPU_THROTTLED), (uint64_t)107);
	ASSERT_EQ(s->jobs[0].step_count, (size_t)2);
	ASSERT(!s->jobs[0].steps[0].is_live && s->jobs[0].steps[1].is_live);
}

TEST(a_run_whose_number_comes_again_is_another_job)
{
	const struct group_life first[] = { life(1, 0, 110, 120, "/a/jobmeter-run-5") };
	const struct group_life second[] = { life(2, 0, 130, 0, "/a/jobmeter-run-5") };
	const struct cgroup_tasks tasks[] = { tasks_of(1, 100, 0, 1) },
				  more[] = { tasks_of(2, 3, 1, 0) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn(r, 125, first, 1);
	feed(r, tasks, 1, NULL, 0);
	ASSERT_EQ(fold_and_forget(r, 126), (size_t)1);
	(void)snap(r, 127);
	s = fed(r, 131, second, 1, more, 1);
	ASSERT_EQ(s->job_count, (size_t)1); /* the newer is shown */
	ASSERT_EQ(number_of(s, "run", "5", METRIC_CPU_USER), (uint64_t)3);
	ASSERT(s->jobs[0].is_live);
	ASSERT_EQ(count_jobs(r), (size_t)2);
}

TEST(two_groups_of_one_name_at_two_places_are_not_merged)
{
	const struct group_life lives[] = { life(1, 0, 110, 0, "/a/jobmeter-run-5"),
					    life(2, 0, 111, 0, "/b/jobmeter-run-5"),
					    life(3, 2, 112, 0, "/b/jobmeter-run-5/c") };
	const struct cgroup_tasks tasks[] = { tasks_of(1, 1, 1, 0), tasks_of(2, 10, 1, 0),
					      tasks_of(3, 100, 1, 0) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn(r, 115, lives, 3);
	feed(r, tasks, 3, NULL, 0);
	ASSERT_EQ(count_jobs(r), (size_t)2);
	s = snap(r, 115);
	ASSERT_EQ(s->job_count, (size_t)1); /* the first stays */
	ASSERT_EQ(number_of(s, "run", "5", METRIC_CPU_USER), (uint64_t)1);
}

TEST(a_job_of_two_nodes_on_one_machine_is_one)
{
	const struct group_life lives[] = { life(1, 0, 110, 0, "/slurm_n1/uid_7/job_3"),
					    life(2, 0, 110, 0, "/slurm_n2/uid_7/job_3") };
	const struct cgroup_tasks tasks[] = { tasks_of(1, 1, 1, 0), tasks_of(2, 10, 1, 0) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	s = fed(r, 115, lives, 2, tasks, 2);
	ASSERT_EQ(s->job_count, (size_t)1);
	ASSERT_EQ(number_of(s, "slurm", "3", METRIC_CPU_USER), (uint64_t)11);
}

TEST(a_group_that_a_user_made_is_not_a_managers)
{
	struct group_life lives[] = {
		life(1, 0, 110, 0, JOB), life(2, 1, 111, 0, JOB "/mine"),
		life(3, 0, 112, 0, "/user.slice/user-7.slice/user@7.service/x" JOB),
		life(4, 3, 113, 0, "/user.slice/user-7.slice/user@7.service/x" JOB "/step_0")
	};
	const struct cgroup_tasks tasks[] = { tasks_of(1, 1, 1, 0), tasks_of(2, 10, 1, 0),
					      tasks_of(3, 100, 1, 0), tasks_of(4, 1000, 1, 0) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	lives[1].maker_uid = lives[2].maker_uid = lives[3].maker_uid = 7;
	s = fed(r, 115, lives, 4, tasks, 4);
	ASSERT_EQ(s->job_count, (size_t)1);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)11);
}

TEST(a_group_below_a_users_directory_is_not_a_managers_whoever_made_it)
{
	struct group_life lives[] = { life(1, 0, 0, 0, "/u/slurm/uid_1000/job_42"),
				      life(2, 1, 0, 0, "/u/slurm/uid_1000/job_42/jobmeter-run-5"),
				      life(3, 0, 0, 0, "/u/kubepods-poda.slice"),
				      life(4, 0, 0, 0, JOB),
				      life(5, 4, 111, 0, JOB "/task_1"),
				      life(6, 0, 0, 0, "/u/user-8.slice/session-3.scope") };
	const struct cgroup_tasks tasks[] = { tasks_of(1, 1, 1, 0),	tasks_of(2, 10, 1, 0),
					      tasks_of(3, 100, 1, 0),	tasks_of(4, 1000, 1, 0),
					      tasks_of(5, 10000, 1, 0), tasks_of(6, 5, 1, 0) };
	const struct registry_options options = { .has_units = true };
	_cleanup_(registry_freep) struct registry *r = registry_new(&options);
	struct snapshot *s;

	for (size_t i = 0; i < 6; i++)
		lives[i].is_delegated = i != 3; /* also what a manager makes in a job's own
						   directory, which stays the job's */
	s = fed(r, 115, lives, 6, tasks, 6);
	ASSERT_EQ(s->job_count, (size_t)2);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)11000);
	ASSERT_EQ(number_of(s, "run", "5", METRIC_CPU_USER), (uint64_t)10);
}

TEST(of_two_jobs_of_one_name_a_users_is_never_shown_for_roots)
{
	struct group_life lives[] = { life(1, 0, 110, 0, "/u/docker/aaaabbbbcccc"),
				      life(2, 0, 111, 0, "/docker/aaaabbbbcccc"),
				      life(3, 0, 112, 0, "/v/docker/aaaabbbbcccc") };
	const struct cgroup_tasks tasks[] = { tasks_of(1, 1, 1, 0), tasks_of(2, 10, 1, 0),
					      tasks_of(3, 100, 1, 0) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	lives[0].maker_uid = 7;
	lives[2].is_delegated = true;
	s = fed(r, 113, lives, 1, tasks, 1);
	ASSERT_EQ(number_of(s, "docker", "aaaabbbbcccc", METRIC_CPU_USER), (uint64_t)1);
	ASSERT_EQ(s->jobs[0].job->uid, 7); /* what she made is hers */
	learn(r, 115, lives, 3);
	lives[1].died_ns = 116 * SECOND;
	for (uint64_t now = 115; now <= 119; now += 2) { /* nor when it has ended */
		learn(r, now, lives, 3);
		feed(r, tasks, 3, NULL, 0);
		s = snap(r, now);
		ASSERT_EQ(number_of(s, "docker", "aaaabbbbcccc", METRIC_CPU_USER), (uint64_t)10);
		ASSERT(registry_job_known(registry_find(r, "docker", "aaaabbbbcccc"))->group_id ==
		       2);
	}
}

TEST(the_run_that_was_announced_is_shown)
{
	const struct group_life lives[] = { life(1, 0, 110, 0, "/a/jobmeter-run-5"),
					    life(2, 0, 111, 0, "/b/jobmeter-run-5") };
	struct cgroup_tasks tasks[] = { tasks_of(1, 1, 1, 0), tasks_of(2, 10, 1, 0) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct registry_job *j;
	struct snapshot *s;

	tasks[1].uid = 8; /* one who is not its owner has a process in it */
	learn(r, 115, lives, 2);
	feed(r, tasks, 2, NULL, 0);
	for (j = NULL; (j = registry_next(r, j)) && registry_job_known(j)->group_id != 2;)
		;
	ASSERT(j && !registry_job_is_announced(j) && registry_job_maker(j) == -1);
	ASSERT_OK(registry_job_announce(j, 7));
	ASSERT(registry_job_is_announced(j) && registry_job_is_changed(j));
	s = snap(r, 115);
	ASSERT_EQ(s->job_count, (size_t)1);
	ASSERT_EQ(number_of(s, "run", "5", METRIC_CPU_USER), (uint64_t)10);
	ASSERT_EQ(s->jobs[0].job->uid, 7);
}

TEST(a_run_of_roots_is_his_until_a_task_in_it_proves_to_be_anothers)
{
	const struct group_life lives[] = { life(1, 0, 110, 0, "/jobmeter-run-5"),
					    life(2, 0, 110, 0, "/docker/aaaabbbbcccc") };
	struct cgroup_tasks tasks[] = { tasks_of(1, 1, 1, 0), tasks_of(2, 10, 1, 0) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct job *known;

	learn(r, 115, lives, 2);
	feed(r, tasks, 2, NULL, 0);
	known = registry_job_known(registry_find(r, "run", "5"));
	ASSERT_EQ(known->uid, (int64_t)0);
	ASSERT_EQ(registry_job_known(registry_find(r, "docker", "aaaabbbbcccc"))->uid, (int64_t)-1);
	registry_job_facts(registry_find(r, "run", "5"))->user = strdup("root");
	(void)snap(r, 115);
	tasks[0].uid = 8;
	feed(r, tasks, 2, NULL, 0);
	known = registry_job_known(registry_find(r, "run", "5"));
	ASSERT_EQ(known->uid, (int64_t)8);
	ASSERT(!known->user); /* he is to be named anew */
	tasks[0].uid = 9; /* the first counts */
	(void)snap(r, 116);
	feed(r, tasks, 2, NULL, 0);
	ASSERT_EQ(registry_job_known(registry_find(r, "run", "5"))->uid, (int64_t)8);
}

TEST(one_user_leaves_room_for_others)
{
	const struct registry_options options = { .jobs_max = 32 };
	_cleanup_(registry_freep) struct registry *r = registry_new(&options);
	char path[64];

	for (uint64_t i = 1; i <= 10; i++) {
		struct group_life one;

		snprintf(path, sizeof(path), "/u/jobmeter-run-%u", (unsigned int)i);
		one = life(i, 0, i, 0, path);
		one.maker_uid = 7;
		learn(r, 100, &one, 1);
	}
	ASSERT_EQ(count_jobs(r), (size_t)2); /* a sixteenth */
	for (uint64_t i = 100; i < 140; i++) {
		struct group_life one;

		snprintf(path, sizeof(path), "/slurm/uid_1/job_%u", (unsigned int)i);
		one = life(i, 0, i, 0, path);
		learn(r, 200, &one, 1);
	}
	ASSERT_EQ(count_jobs(r), (size_t)32);
}

/* Each has labels of its own on the page for as long as ended jobs are shown, so names come at that
 * rate at most. */
TEST(names_that_one_user_makes_come_and_go_within_bounds)
{
	const struct registry_options options = { .retention_ns = 300 * SECOND };
	const struct registry_options none = { .user_jobs_max = SIZE_MAX };
	_cleanup_(registry_freep) struct registry *r = registry_new(&options);
	_cleanup_(registry_freep) struct registry *without = registry_new(&none);
	struct group_life one;
	char path[64];

	for (uint64_t i = 1; i <= 1166; i++) { /* one after the other */
		snprintf(path, sizeof(path), "/u/docker-%016x.scope", (unsigned int)i);
		one = life(i, 0, 100, 0, path);
		one.maker_uid = 7;
		learn(r, 100, &one, 1);
		learn(without, 100, &one, 1);
		one.died_ns = 101 * SECOND;
		learn(r, 102, &one, 1);
	}
	ASSERT_EQ(count_jobs(r), (size_t)64);
	ASSERT_EQ(count_jobs(without), (size_t)0);
	one = life(2000, 0, 103, 0, JOB);
	learn(r, 103, &one, 1);
	learn(without, 103, &one, 1);
	ASSERT_EQ(count_jobs(r), (size_t)65);
	ASSERT_EQ(count_jobs(without), (size_t)1);
}

/* Groups for whose job there is no room are tried again, and what was lost until then is told. */
TEST(a_job_without_room_is_known_later_with_all_that_it_has)
{
	const struct registry_options options = { .jobs_max = 1,
						  .retention_ns = SECOND,
						  .started_real_ns = EPOCH };
	struct group_life lives[] = { life(1, 0, 110, 0, "/jobmeter-run-5"),
				      life(2, 0, 111, 0, JOB), life(3, 2, 112, 0, JOB "/step_0"),
				      life(4, 2, 112, 0, JOB "/step_1"),
				      life(5, 3, 113, 0, JOB "/step_0/jobmeter-run-6") };
	const struct cgroup_tasks tasks[] = { tasks_of(2, 10, 1, 0), tasks_of(4, 1000, 1, 0) };
	_cleanup_(registry_freep) struct registry *r = registry_new(&options);
	struct registry_job *j;
	struct snapshot *s;

	learn(r, 115, lives, 5);
	learn(r, 116, lives, 5);
	ASSERT_EQ(count_jobs(r), (size_t)1);
	ASSERT(!registry_wants_groups(r));
	lives[2].died_ns = 117 * SECOND; /* what step 0 did is in no job */
	learn(r, 118, lives, 5);
	lives[0].died_ns = 119 * SECOND;
	learn(r, 120, lives, 5);
	feed(r, NULL, 0, NULL, 0);
	ASSERT_EQ(fold_and_forget(r, 121), (size_t)1);
	registry_expire(r, 125 * SECOND, NULL, NULL);
	ASSERT(registry_wants_groups(r));
	learn(r, 126, &lives[1], 4);
	ASSERT(!registry_wants_groups(r));
	s = fed_again(r, 127, tasks, 2, NULL, 0);
	ASSERT_EQ(s->job_count, (size_t)1);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)1010);
	j = registry_find(r, "slurm", "42");
	ASSERT_EQ(registry_job_lost_groups(j), (uint64_t)1);
}

TEST(a_path_that_was_cut_is_matched_as_far_as_it_goes)
{
	struct group_life lives[] = { life(1, 0, 110, 0, JOB), life(2, 1, 111, 0, JOB "/step_1"),
				      life(3, 0, 112, 0, "/slurm/uid_1/job_12"),
				      life(4, 99, 113, 0, JOB "/step_0/task_1") };
	const struct cgroup_tasks tasks[] = { tasks_of(2, 1, 1, 0), tasks_of(3, 10, 1, 0),
					      tasks_of(4, 100, 1, 0) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	lives[1].is_cut = true; /* may be step_12 */
	lives[2].is_cut = true; /* may be job_123: of no job, rather than of a wrong one */
	lives[3].is_cut = true;
	s = fed(r, 115, lives, 4, tasks, 3);
	ASSERT_EQ(s->job_count, (size_t)1);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)101);
	ASSERT_EQ(s->jobs[0].step_count, (size_t)1);
	ASSERT_STREQ(s->jobs[0].steps[0].id, "0");
}

TEST(too_many_steps_are_one)
{
	const struct registry_options options = { .steps_max = 4 };
	_cleanup_(registry_freep) struct registry *r = registry_new(&options);
	struct cgroup_tasks tasks[10];
	struct snapshot *s;
	char path[64];

	for (uint64_t i = 0; i < 10; i++) {
		struct group_life one;

		snprintf(path, sizeof(path), JOB "/step_%u", (unsigned int)i);
		one = life(i + 1, 0, 110 + i, 0, path);
		learn(r, 130, &one, 1);
		tasks[i] = tasks_of(i + 1, 1, 1, 0);
	}
	s = fed_again(r, 130, tasks, 10, NULL, 0);
	ASSERT_EQ(s->jobs[0].step_count, (size_t)4);
	ASSERT_STREQ(s->jobs[0].steps[3].id, "(other)");
	ASSERT_EQ(s->jobs[0].steps[3].values[METRIC_CPU_USER].number, (uint64_t)7);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)10);
}

TEST(too_many_mounts_of_a_job_are_one_and_others_keep_theirs)
{
	const struct group_life lives[] = { life(1, 0, 110, 0, JOB),
					    life(2, 0, 110, 0, "/jobmeter-run-3") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct cgroup_row rows[1001];
	struct snapshot *s;
	uint64_t calls = 0;

	learn(r, 115, lives, 2);
	for (size_t i = 0; i < 1000; i++)
		rows[i] = row_of(1, i + 1, OP_READ, INTERFACE_CALL, 1, 1);
	rows[1000] = row_of(2, 999999, OP_READ, INTERFACE_CALL, 5, 5);
	s = fed_again(r, 115, NULL, 0, rows, 1001);
	ASSERT_EQ(snapshot_find(s, "slurm", "42")->row_count, (size_t)256);
	for (size_t i = 0; i < 256; i++)
		calls += snapshot_find(s, "slurm", "42")->rows[i].counts.calls;
	ASSERT_EQ(calls, (uint64_t)1000);
	ASSERT_EQ(counts_of(s, "slurm", "42", "(other)", OP_READ, INTERFACE_CALL).calls,
		  (uint64_t)745);
	ASSERT_EQ(counts_of(s, "run", "3", "/999999", OP_READ, INTERFACE_CALL).calls, (uint64_t)5);
}

TEST(oom_kills_are_counted_once_whether_groups_count_their_own_or_all_below)
{
	/* v2: each counts those below; v1: only its own */
	for (int is_v1 = 0; is_v1 < 2; is_v1++) {
		_cleanup_(registry_freep) struct registry *r = lives_registry();
		struct group_life lives[] = { life(1, 0, 110, 120, JOB),
					      life(2, 1, 111, 119, JOB "/step_0"),
					      life(3, 2, 112, 118, JOB "/step_0/task_0"),
					      life(4, 2, 112, 118, JOB "/step_0/task_1"),
					      life(5, 1, 112, 118, JOB "/step_1") };
		struct snapshot *s;

		for (size_t i = 0; i < 5; i++)
			lives[i].has_oom_kills = true;
		lives[2].oom_kills = 2;
		lives[3].oom_kills = 1;
		lives[4].oom_kills = 5;
		lives[1].oom_kills = is_v1 ? 0 : 3;
		lives[0].oom_kills = is_v1 ? 0 : 8;
		lives[1].peak_bytes = 700;
		lives[0].peak_bytes = 900;
		learn(r, 121, lives, 5);
		feed(r, NULL, 0, NULL, 0);
		ASSERT_EQ(fold_and_forget(r, 122), (size_t)5);
		s = snap(r, 122);
		ASSERT_EQ(number_of(s, "slurm", "42", METRIC_MEMORY_OOM_KILLS), (uint64_t)8);
		ASSERT_EQ(s->jobs[0].steps[0].values[METRIC_MEMORY_OOM_KILLS].number, (uint64_t)3);
		ASSERT_EQ(s->jobs[0].steps[1].values[METRIC_MEMORY_OOM_KILLS].number, (uint64_t)5);
		ASSERT_EQ(number_of(s, "slurm", "42", METRIC_MEMORY_PEAK), (uint64_t)900);
		ASSERT_EQ(s->jobs[0].steps[0].values[METRIC_MEMORY_PEAK].number, (uint64_t)700);
	}
}

/* Job 42 and its only step, which ended. */
static void expect_to_end(struct registry *r, const struct group_life *ended)
{
	const struct cgroup_tasks tasks[] = { tasks_of(1, 7, 0, 1), tasks_of(2, 11, 0, 1) };

	learn(r, 150, ended, 2);
	feed(r, tasks, 2, NULL, 0);
	feed(r, tasks, 2, NULL, 0);
	ASSERT_EQ(fold_and_forget(r, 160), (size_t)2);
	ASSERT_EQ(number_of(snap(r, 161), "slurm", "42", METRIC_CPU_USER), (uint64_t)18);
	ASSERT(registry_job_is_to_report(registry_find(r, "slurm", "42")));
}

/* A walk may come by a step before its job. */
TEST(a_group_that_is_learned_after_those_below_it_ends_all_the_same)
{
	const struct group_life job = life(1, 0, 110, 0, JOB),
				step = life(2, 1, 110, 0, JOB "/step_0");
	const struct group_life ended[] = { life(1, 0, 110, 150, JOB),
					    life(2, 1, 110, 149, JOB "/step_0") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	learn(r, 120, &step, 1);
	learn(r, 121, &job, 1);
	expect_to_end(r, ended);
}

/* As a user can make them in what was delegated to him. */
TEST(a_job_that_a_path_names_twice_ends)
{
	const struct group_life lives[] = { life(1, 0, 110, 0, JOB),
					    life(2, 1, 110, 0, JOB "/step_0" JOB "/step_1") };
	const struct group_life ended[] = { life(1, 0, 110, 150, JOB),
					    life(2, 1, 110, 149, JOB "/step_0" JOB "/step_1") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	learn(r, 120, lives, 2);
	expect_to_end(r, ended);
}

TEST(a_group_waits_for_those_below_it)
{
	const struct group_life dead[] = { life(1, 0, 110, 120, JOB),
					   life(2, 1, 111, 119, JOB "/step_0") };
	struct cgroup_tasks tasks[] = { tasks_of(2, 5, 0, 1) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	learn(r, 121, dead, 2);
	tasks[0].unsettled = 1;
	feed(r, tasks, 1, NULL, 0);
	ASSERT_EQ(fold(r, 122), (size_t)0);
	tasks[0].unsettled = 0;
	feed(r, tasks, 1, NULL, 0);
	ASSERT_EQ(fold(r, 122), (size_t)2);
}

static void count_dropped(void *context, struct registry_job *j)
{
	ASSERT_STREQ(registry_job_known(j)->id, "5");
	++*(size_t *)context;
}

static void count_freed(void *what)
{
	++*(size_t *)what;
}

TEST(a_job_whose_final_record_is_waited_for_is_kept_until_it_is_reported)
{
	const struct group_life lives[] = { life(1, 0, 110, 120, "/jobmeter-run-5") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	size_t dropped = 0;

	registry_wait_for_reports(r, true);
	learn(r, 121, lives, 1);
	feed(r, NULL, 0, NULL, 0);
	fold_and_forget(r, 123);
	(void)snap(r, 124);
	registry_expire(r, 1000 * SECOND, count_dropped, &dropped);
	ASSERT_EQ(dropped, (size_t)0);
	ASSERT(registry_job_is_to_report(registry_find(r, "run", "5")));
	registry_job_set_reported(registry_find(r, "run", "5"));
	registry_expire(r, 1000 * SECOND, count_dropped, &dropped);
	ASSERT_EQ(dropped, (size_t)1);
	ASSERT_EQ(registry_unreported(r), (uint64_t)0);
}

TEST(no_more_than_a_bound_of_jobs_wait_to_be_reported_and_what_goes_is_counted)
{
	enum { COUNT = REGISTRY_UNREPORTED_MAX + 10 };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	size_t left = 0;

	registry_wait_for_reports(r, true);
	for (unsigned int i = 0; i < COUNT; i++) {
		char path[32];
		struct group_life one;

		snprintf(path, sizeof(path), "/jobmeter-run-%u", 1000 + i);
		one = life(1 + i, 0, 110, 120, path);
		learn(r, 121, &one, 1);
	}
	feed(r, NULL, 0, NULL, 0);
	fold_and_forget(r, 123);
	(void)snap(r, 124);
	registry_expire(r, 1000 * SECOND, NULL, NULL);
	for (struct registry_job *j = NULL; (j = registry_next(r, j));)
		left++;
	ASSERT_EQ(left, (size_t)REGISTRY_UNREPORTED_MAX);
	ASSERT_EQ(registry_unreported(r), (uint64_t)10);
	registry_wait_for_reports(r, false);
	registry_expire(r, 1000 * SECOND, NULL, NULL);
	ASSERT(!registry_next(r, NULL));
}

TEST(ended_jobs_are_dropped_after_the_retention)
{
	const struct group_life lives[] = { life(1, 0, 110, 120, "/jobmeter-run-5"),
					    life(2, 0, 110, 0, "/jobmeter-run-6") };
	const struct cgroup_row rows[] = { row_of(1, 1, OP_READ, INTERFACE_CALL, 1, 1) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	size_t dropped = 0, freed = 0;
	struct snapshot *s;

	learn(r, 119, (const struct group_life[]){ life(1, 0, 110, 0, "/jobmeter-run-5") }, 1);
	registry_job_attach(registry_find(r, "run", "5"), &freed, count_freed);
	ASSERT(registry_job_attached(registry_find(r, "run", "5")) == &freed);
	learn(r, 121, lives, 2);
	ASSERT_EQ(freed, (size_t)1);
	feed(r, NULL, 0, rows, 1);
	fold(r, 122);
	registry_expire(r, 1000 * SECOND, count_dropped, &dropped);
	ASSERT_EQ(dropped, (size_t)0); /* its cgroup is not forgotten yet */
	fold_and_forget(r, 123);
	registry_expire(r, 419 * SECOND, count_dropped, &dropped);
	ASSERT_EQ(dropped, (size_t)0);
	(void)snap(r, 419);
	registry_expire(r, 420 * SECOND, count_dropped, &dropped);
	ASSERT_EQ(dropped, (size_t)1);
	ASSERT(!registry_find(r, "run", "5") && registry_find(r, "run", "6"));
	s = fed_again(r, 421, NULL, 0, NULL, 0);
	ASSERT_EQ(s->job_count, (size_t)1);
	ASSERT_EQ(s->mount_count, (size_t)0); /* nobody was on it any more */
}

TEST(a_snapshot_does_not_change_any_more)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;
	struct job *facts;

	learn_job(r);
	s = snap(r, 130);
	facts = registry_job_facts(registry_find(r, "slurm", "42"));
	ASSERT(facts != s->jobs[0].job);
	facts->user = strdup("ada");
	facts->allocated_cores = (struct value){ 4000, true };
	ASSERT(!s->jobs[0].job->user);
	s = snap(r, 131);
	ASSERT_STREQ(s->jobs[0].job->user, "ada");
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_ALLOCATED), (uint64_t)4000);
	r = registry_free(r); /* it outlives the registry */
	ASSERT_STREQ(s->jobs[0].job->user, "ada");
}

TEST(the_user_is_that_of_the_first_task_if_the_path_does_not_tell)
{
	const struct group_life lives[] = { life(1, 0, 110, 0, V2 "/job_9"),
					    life(2, 0, 110, 0, JOB) };
	struct cgroup_tasks tasks[] = { tasks_of(1, 1, 1, 0), tasks_of(2, 1, 1, 0) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	learn(r, 115, lives, 2);
	tasks[0].uid = 500;
	tasks[1].uid = 500;
	feed(r, tasks, 2, NULL, 0);
	ASSERT_EQ(registry_job_known(registry_find(r, "slurm", "9"))->uid, (int64_t)500);
	ASSERT_EQ(registry_job_known(registry_find(r, "slurm", "42"))->uid, (int64_t)1000);
}

TEST(without_tasks_or_files_nothing_is_said_of_them)
{
	const struct registry_feed nothing = { 0 };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn_job(r);
	ASSERT_OK(registry_feed(r, &nothing));
	s = snap(r, 130);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), UINT64_MAX);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_TASKS_LIVE), UINT64_MAX);
	ASSERT(!s->has_mounts);
}

TEST(cgroups_of_a_job_are_those_that_are_not_folded)
{
	const struct group_life dead[] = { life(4, 2, 113, 140, JOB "/step_0/task_0") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	_cleanup_free_ uint64_t *cgroups = NULL;
	size_t count;

	learn_job(r);
	learn(r, 141, dead, 1);
	feed(r, NULL, 0, NULL, 0);
	ASSERT_EQ(fold(r, 142), (size_t)1);
	ASSERT_OK(registry_job_cgroups(registry_find(r, "slurm", "42"), &cgroups, &count));
	ASSERT_EQ(count, (size_t)5);
	ASSERT_EQ(cgroups[0], (uint64_t)1);
	ASSERT_EQ(cgroups[3], (uint64_t)5);
}

TEST(histograms_of_folded_cgroups_are_kept)
{
	const struct group_life lives[] = { life(1, 0, 110, 120, JOB),
					    life(2, 0, 110, 0, "/jobmeter-run-3") };
	struct cgroup_histograms histograms[] = {
		{ .key = { .cgroup = 1, .place = 1, .op = OP_READ } },
		{ .key = { .cgroup = 1, .place = 1, .op = OP_READ, .cpu = 1 } },
		{ .key = { .cgroup = 2, .place = 1, .op = OP_READ } },
		{ .key = { .cgroup = 1, .place = 1, .op = OP_OPEN } },
	};
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	_cleanup_(reading_clear) struct reading reading = {};
	struct mount_row *row;

	for (size_t i = 0; i < 4; i++) {
		histograms[i].histograms.sizes[3] = 5;
		histograms[i].histograms.latencies[27] = 1;
	}
	learn(r, 121, lives, 2);
	feed(r, NULL, 0, NULL, 0);
	ASSERT_EQ(fold(r, 122), (size_t)1);
	ASSERT_OK(registry_fold_histograms(r, histograms, 4, name_by_number, NULL));
	ASSERT_OK(registry_fold_histograms(r, histograms, 4, name_by_number, NULL)); /* not twice */
	ASSERT_OK(registry_add_histograms(registry_find(r, "slurm", "42"), &reading));
	row = reading_find_mount(&reading, ROW_MOUNT, "/1", "ext4");
	ASSERT(row && row->has_histograms);
	ASSERT_EQ(row->sizes[OP_READ].counts[3], (uint64_t)10);
	ASSERT_EQ(row->latencies[OP_READ].counts[27], (uint64_t)2);
	reading_clear(&reading);
	ASSERT_OK(registry_add_histograms(registry_find(r, "run", "3"), &reading));
	ASSERT_EQ(reading.mount_count, (size_t)0);
}

TEST(what_a_snapshot_took_is_fed_again_before_it_is_folded)
{
	const struct group_life lives[] = { life(1, 0, 110, 120, JOB) };
	const struct cgroup_tasks tasks[] = { tasks_of(1, 5, 0, 1) };
	const struct cgroup_row rows[] = { row_of(1, 1, OP_READ, INTERFACE_CALL, 3, 300) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn(r, 121, lives, 1);
	feed(r, tasks, 1, rows, 1);
	(void)snap(r, 121);
	ASSERT_EQ(fold(r, 122), (size_t)0);
	s = snap(r, 122); /* and one without a feed is as the last one */
	ASSERT_EQ(counts_of(s, "slurm", "42", "/1", OP_READ, INTERFACE_CALL).bytes, (uint64_t)300);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)5);
	feed(r, tasks, 1, rows, 1);
	ASSERT_EQ(fold_and_forget(r, 122), (size_t)1);
	s = snap(r, 123);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/1", OP_READ, INTERFACE_CALL).bytes, (uint64_t)300);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)5);
}

TEST(live_jobs_come_first)
{
	const struct group_life lives[] = { life(1, 0, 110, 111, "/jobmeter-run-1"),
					    life(2, 0, 112, 0, "/jobmeter-run-2"),
					    life(3, 0, 113, 114, "/jobmeter-run-3"),
					    life(4, 0, 115, 0, "/jobmeter-run-4") };
	static const char *const order[] = { "2", "4", "1", "3" };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct registry_job *j = NULL;

	learn(r, 120, lives, 4);
	for (size_t i = 0; i < 4; i++) {
		j = registry_next(r, j);
		ASSERT_STREQ(registry_job_known(j)->id, order[i]);
	}
	ASSERT(!registry_next(r, j));
}

static const struct snapshot_mount *name_oddly(void *context, uint64_t place)
{
	static struct snapshot_mount mount = { .kind = ROW_MOUNT, .fstype = (char *)"ext4" };

	(void)context;
	mount.name = (char *)(place == 1 ? "/a\xff\"\n" : "/a\xfe\"\n");
	return &mount;
}

TEST(odd_names_of_jobs_and_mounts_become_text)
{
	const struct group_life lives[] = { life(1, 0, 110, 0, "/pbs_jobs.service/jobs/\xff\n\"x"),
					    life(2, 0, 110, 0,
						 "/pbs_jobs.service/jobs/\xfe\n\"x") };
	const struct cgroup_row rows[] = { row_of(1, 1, OP_READ, INTERFACE_CALL, 1, 1),
					   row_of(1, 2, OP_READ, INTERFACE_CALL, 2, 1) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn(r, 115, lives, 2);
	ASSERT_EQ(count_jobs(r), (size_t)2); /* not one, though they look alike */
	ASSERT_OK(registry_feed(r, &(struct registry_feed){ .rows = rows,
							    .row_count = 2,
							    .name_place = name_oddly,
							    .counted = COUNTED_FILES }));
	s = snap(r, 115);
	ASSERT_EQ(s->job_count, (size_t)1);
	ASSERT_STREQ(s->jobs[0].job->id, "\xef\xbf\xbd\n\"x");
	ASSERT_EQ(s->jobs[0].row_count, (size_t)1);
	ASSERT_EQ(s->jobs[0].rows[0].counts.calls, (uint64_t)3);
}

TEST(what_is_inherited_of_cgroups_that_live_is_the_jobs_for_good)
{
	/* ended tasks count, live ones do not: the next kernel side counts these whole */
	const struct cgroup_tasks before[] = { tasks_of(4, 7, 0, 3) };
	const struct cgroup_tasks after[] = { tasks_of(4, 5, 1, 0) };
	const struct cgroup_row rows[] = { row_of(4, 1, OP_WRITE, INTERFACE_CALL, 2, 200) };
	const struct cgroup_histograms histograms[] = {
		{ .key = { .cgroup = 4, .place = 1, .op = OP_WRITE }, .histograms.sizes[3] = 11 }
	};
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	_cleanup_(reading_clear) struct reading reading = {};
	struct snapshot *s;

	ASSERT_ERR(registry_inherit(r), -EINVAL); /* nothing was fed */
	learn_job(r);
	feed(r, before, 1, rows, 1);
	ASSERT_OK(registry_inherit(r));
	ASSERT_OK(registry_inherit_histograms(r, NULL, histograms, 1, name_by_number, NULL));
	ASSERT(registry_job_is_changed(registry_find(r, "slurm", "42")));
	s = fed_again(r, 141, after, 1, rows, 1);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)12);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_TASKS_LIVE), (uint64_t)1);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/1", OP_WRITE, INTERFACE_CALL).bytes, (uint64_t)400);
	ASSERT_OK(registry_add_histograms(registry_find(r, "slurm", "42"), &reading));
	ASSERT_EQ(reading_find_mount(&reading, ROW_MOUNT, "/1", "ext4")->sizes[OP_WRITE].counts[3],
		  (uint64_t)11);
}

/* ---- feeds of what changed ---- */

static void feed_some(struct registry *r, const struct cgroup_row *rows, size_t count)
{
	FEED(r, .rows = rows, .row_count = count, .is_partial = true, .counted = COUNTED_FILES);
}

/* The cgroups that are to be read after those of @changed did something, as text. */
static const char *touched(struct registry *r, const uint64_t *changed, size_t count)
{
	static char text[128];
	_cleanup_free_ uint64_t *cgroups = NULL;
	size_t found = 0, used = 0;

	ASSERT_OK(registry_touch(r, changed, count, &cgroups, &found));
	*text = '\0';
	for (size_t i = 0; i < found; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%llu", i ? " " : "",
					 (unsigned long long)cgroups[i]);
	return text;
}

#define RUN 0xa
#define OTHER 0xb

/* Job 42, a run in its second task, and a job 43. */
static void learn_three_jobs(struct registry *r)
{
	const struct group_life lives[] = { life(RUN, 6, 114, 0,
						 JOB "/step_0/task_1/jobmeter-run-9"),
					    life(OTHER, 0, 110, 0, "/slurm/uid_1000/job_43") };

	learn_job(r);
	learn(r, 130, lives, 2);
}

TEST(what_changed_is_read_with_all_cgroups_of_its_jobs)
{
	const uint64_t run = RUN, other = OTHER, unknown = 99;
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	learn_three_jobs(r);
	ASSERT_STREQ(touched(r, NULL, 0), "1 2 3 4 5 6 10 11"); /* nobody was ever shown */
	feed(r, NULL, 0, NULL, 0);
	(void)snap(r, 130);
	ASSERT_STREQ(touched(r, NULL, 0), "");
	ASSERT_STREQ(touched(r, &unknown, 1), "");
	ASSERT_STREQ(touched(r, &other, 1), "11");
	ASSERT_STREQ(touched(r, &run, 1), "1 2 3 4 5 6 10"); /* it is a part of job 42's rows, too
							      */
}

TEST(jobs_whose_cgroups_did_nothing_stay_as_they_were_shown)
{
	const struct cgroup_row rows[] = { row_of(4, 1, OP_READ, INTERFACE_CALL, 1, 10),
					   row_of(6, 1, OP_READ, INTERFACE_CALL, 2, 20),
					   row_of(OTHER, 1, OP_READ, INTERFACE_CALL, 3, 30) };
	const struct cgroup_row later[] = { row_of(OTHER, 1, OP_READ, INTERFACE_CALL, 4, 40),
					    row_of(OTHER, 2, OP_READ, INTERFACE_CALL, 5, 50) };
	const uint64_t other = OTHER;
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn_three_jobs(r);
	feed(r, NULL, 0, rows, 3);
	(void)snap(r, 130);
	for (uint64_t second = 131; second < 134; second++) {
		touched(r, &other, 1);
		feed_some(r, later, 2);
		ASSERT_EQ(fold(r, second), (size_t)0);
		s = snap(r, second);
		ASSERT_EQ(counts_of(s, "slurm", "42", "/1", OP_READ, INTERFACE_CALL).bytes,
			  (uint64_t)30);
		ASSERT_EQ(counts_of(s, "slurm", "43", "/1", OP_READ, INTERFACE_CALL).bytes,
			  (uint64_t)40);
		ASSERT_EQ(counts_of(s, "slurm", "43", "/2", OP_READ, INTERFACE_CALL).bytes,
			  (uint64_t)50);
	}
}

TEST(a_cgroup_that_ends_or_is_new_is_read_though_it_did_nothing)
{
	const struct cgroup_row rows[] = { row_of(OTHER, 1, OP_READ, INTERFACE_CALL, 3, 30) };
	const struct group_life death = life(OTHER, 0, 110, 131, "/slurm/uid_1000/job_43");
	const struct group_life birth = life(12, 1, 132, 0, JOB "/step_1");
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	learn_three_jobs(r);
	feed(r, NULL, 0, rows, 1);
	(void)snap(r, 130);
	learn(r, 132, &birth, 1);
	ASSERT_STREQ(touched(r, NULL, 0), "1 2 3 4 5 6 10 12");
	feed_some(r, NULL, 0);
	(void)snap(r, 132);
	learn(r, 133, &death, 1);
	ASSERT_STREQ(touched(r, NULL, 0), "11");
	feed_some(r, rows, 1);
	ASSERT_EQ(fold_and_forget(r, 133), (size_t)1);
	ASSERT_STREQ(touched(r, NULL, 0), "");
	feed_some(r, NULL, 0);
	s = snap(r, 134);
	ASSERT_EQ(counts_of(s, "slurm", "43", "/1", OP_READ, INTERFACE_CALL).bytes, (uint64_t)30);
}

TEST(rows_that_did_not_change_are_shared_and_keep_their_mounts_when_others_go)
{
	const struct cgroup_row rows[] = { row_of(OTHER, 1, OP_READ, INTERFACE_CALL, 3, 30),
					   row_of(4, 2, OP_READ, INTERFACE_CALL, 1, 10) };
	const struct group_life death = life(OTHER, 0, 110, 131, "/slurm/uid_1000/job_43");
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct snapshot_row *shown;
	struct snapshot *s;

	learn_three_jobs(r);
	s = fed_again(r, 130, NULL, 0, rows, 2);
	shown = snapshot_find(s, "slurm", "42")->rows;
	ASSERT_EQ(shown->mount, 1u);
	learn(r, 133, &death, 1);
	ASSERT_STREQ(touched(r, NULL, 0), "11");
	feed_some(r, rows, 1);
	ASSERT_EQ(fold_and_forget(r, 133), (size_t)1);
	s = snap(r, 134);
	ASSERT(snapshot_find(s, "slurm", "42")->rows == shown);
	registry_expire(r, 500 * SECOND, NULL, NULL); /* and with it mount /1 */
	touched(r, NULL, 0);
	feed_some(r, NULL, 0);
	s = snap(r, 500);
	ASSERT(!s->mounts[0].name);
	ASSERT_EQ(s->mount_count, (size_t)2);
	ASSERT(snapshot_find(s, "slurm", "42")->rows == shown);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/2", OP_READ, INTERFACE_CALL).bytes, (uint64_t)10);
}

TEST(a_job_whose_tasks_did_not_run_is_told_from_others)
{
	struct cgroup_tasks tasks[] = { tasks_of(4, 10, 20, 1), tasks_of(OTHER, 10, 20, 1) };
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	learn_three_jobs(r);
	feed(r, tasks, 2, NULL, 0);
	ASSERT(registry_job_has_run(registry_find(r, "slurm", "42")));
	tasks[1].counters.voluntary_switches++;
	feed(r, tasks, 2, NULL, 0);
	ASSERT(!registry_job_has_run(registry_find(r, "slurm", "42")));
	ASSERT(registry_job_has_run(registry_find(r, "slurm", "43")));
	feed(r, tasks, 2, NULL, 0);
	ASSERT(!registry_job_has_run(registry_find(r, "slurm", "43")));
	feed(r, tasks, 1, NULL, 0); /* its task is in no feed any more */
	ASSERT(registry_job_has_run(registry_find(r, "slurm", "43")));
	feed_some(r, NULL, 0); /* nobody tells of tasks */
	ASSERT(registry_job_has_run(registry_find(r, "slurm", "42")));
}

TEST(a_job_that_is_found_late_was_measured_from_then_on)
{
	const struct group_life first[] = { life(1, 0, 0, 0, JOB) },
				late[] = { life(1, 0, 0, 0, JOB),
					   life(9, 0, 0, 0, "/slurm/uid_1000/job_43") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	learn(r, 130, first, 1);
	feed(r, NULL, 0, NULL, 0);
	learn(r, 190, late, 2);
	ASSERT_EQ(registry_job_known(registry_find(r, "slurm", "42"))->measured_from_ns,
		  EPOCH + 100 * SECOND);
	ASSERT_EQ(registry_job_known(registry_find(r, "slurm", "43"))->measured_from_ns,
		  EPOCH + 190 * SECOND);
}
