/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "heap.h"
#include "basic/error.h"
#include "lives.h"
#include "test.h"
#include "model/timeline.h"

#define JOB "/slurm/uid_1000/job_42"

static uint64_t buckets[TIMELINE_BUCKETS_MAX];

static size_t series_of(const char *section, const char *key)
{
	size_t series = timeline_find(section, key);

	ASSERT(series < TIMELINE_SERIES);
	return series;
}

static const struct timeline *timeline_of(struct registry *r)
{
	struct registry_job *j = registry_find(r, "slurm", "42");

	ASSERT(j);
	return registry_job_timeline(j);
}

/* One job of one cgroup, born at @born (0: before us), seen at @second with that user time and that
 * many bytes read. */
static void see(struct registry *r, uint64_t born, uint64_t died, uint64_t second, uint64_t user_ns,
		uint64_t bytes)
{
	const struct group_life lives[] = { life(1, 0, born, died, JOB) };
	const struct cgroup_tasks tasks[] = { tasks_of(1, user_ns, 3, 0) };
	const struct cgroup_row rows[] = { row_of(1, 1, OP_READ, INTERFACE_CALL, 1,
						  bytes - bytes / 2),
					   row_of(1, 2, OP_READ, INTERFACE_CALL, 1, bytes / 2),
					   row_of(1, 2, OP_READ, INTERFACE_MAPPING, 1, 4096) };

	learn(r, second, lives, 1);
	feed(r, tasks, 1, rows, 3);
	fold_and_forget(r, second);
	(void)snap(r, second);
}

/* What a record would say of the job is what its timeline has. */
static void check(struct registry *r, uint64_t user_ns, uint64_t bytes)
{
	const struct timeline *t = timeline_of(r);

	ASSERT_EQ(timeline_sum(t, series_of("cpu", "user_seconds")), user_ns);
	ASSERT_EQ(timeline_sum(t, series_of("read", "bytes")), bytes);
}

static char *format(struct registry *r)
{
	char *text = NULL;

	ASSERT_OK(registry_format_job(registry_find(r, "slurm", "42"), &text));
	return text;
}

static struct registry *restart(const char *text)
{
	struct registry *r = lives_registry();
	struct error err = {};

	ASSERT_OK(registry_parse_job(r, text, strlen(text), &err));
	return r;
}

TEST(how_fast_and_warm_its_cpus_were_is_in_its_timeline)
{
	const struct group_life born = life(1, 0, 110, 0, JOB);
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	for (uint64_t i = 0; i < 3; i++) {
		const struct thermal_moment m = { .cpus = 2,
						  .frequency_hz = (29 - i) * 100000000,
						  .frequency_min_hz = 1,
						  .has_temperature = i != 1,
						  .millicelsius = 61003 + i,
						  .has_throttles = true,
						  .core_throttles = 5 };

		learn(r, 120 + i, &born, 1);
		registry_job_sample(registry_find(r, "slurm", "42"), &m);
		(void)snap(r, 120 + i);
	}
	timeline_get(timeline_of(r), series_of("thermal", "frequency_hertz"), buckets);
	ASSERT_EQ(buckets[8], TIMELINE_UNKNOWN);
	ASSERT_EQ(buckets[11], UINT64_C(2800000000));
	timeline_get(timeline_of(r), series_of("thermal", "temperature_celsius"), buckets);
	ASSERT_EQ(buckets[9], UINT64_C(61000));
	ASSERT_EQ(timeline_sum(timeline_of(r), series_of("thermal", "core_throttles")),
		  UINT64_C(10));
}

TEST(a_job_born_under_us_has_all_of_it_in_its_timeline)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	see(r, 110, 0, 120, 1000, 2000);
	see(r, 110, 0, 122, 1500, 2001);
	check(r, 1500, 2001);
	ASSERT_EQ(timeline_of(r)->start_ns, EPOCH + 110 * SECOND);
	ASSERT_EQ(timeline_get(timeline_of(r), series_of("cpu", "user_seconds"), buckets),
		  (size_t)12);
	ASSERT_EQ(buckets[0], UINT64_C(100));
	ASSERT_EQ(buckets[11], UINT64_C(250));
	timeline_get(timeline_of(r), series_of("tasks", "live"), buckets);
	ASSERT_EQ(buckets[8], TIMELINE_UNKNOWN);
	ASSERT_EQ(buckets[11], UINT64_C(3));
	ASSERT(!timeline_knows(timeline_of(r), series_of("memory", "usage_bytes")));
}

TEST(of_an_older_job_what_was_before_is_no_part_of_its_buckets)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	see(r, 0, 0, 120, 1000000, 500);
	see(r, 0, 0, 121, 1000007, 500);
	check(r, 1000007, 500);
	ASSERT_EQ(timeline_get(timeline_of(r), series_of("cpu", "user_seconds"), buckets),
		  (size_t)1);
	ASSERT_EQ(buckets[0], UINT64_C(7));
}

TEST(a_timeline_ends_with_its_job)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	see(r, 110, 0, 120, 1000, 2000);
	see(r, 110, 123, 131, 1600, 2600);
	check(r, 1600, 2600);
	ASSERT_EQ(timeline_count(timeline_of(r)), (size_t)13);
	(void)snap(r, 190);
	check(r, 1600, 2600);
	ASSERT_EQ(timeline_count(timeline_of(r)), (size_t)13);
}

TEST(a_restart_goes_on_and_loses_no_count)
{
	struct registry *r = lives_registry(), *next;
	_cleanup_free_ char *text = NULL;

	see(r, 110, 0, 112, 1000, 2000);
	text = format(r);
	see(r, 110, 0, 120, 1400, 2400); /* and then it is killed */
	registry_free(r);
	next = restart(text);
	check(next, 1000, 2000);
	see(next, 110, 0, 132, 3000, 6000);
	check(next, 3000, 6000);
	timeline_get(timeline_of(next), series_of("cpu", "user_seconds"), buckets);
	ASSERT_EQ(buckets[0], UINT64_C(500));
	ASSERT_EQ(buckets[2], UINT64_C(100)); /* 20 s in which nobody looked */
	ASSERT_EQ(buckets[21], UINT64_C(100));
	registry_free(next);
}

TEST(what_went_with_the_boot_is_given_back)
{
	struct registry *r = lives_registry(), *next;
	_cleanup_free_ char *text = NULL;
	char *boot;

	see(r, 110, 0, 112, 1000, 2000);
	text = format(r);
	registry_free(r);
	boot = strstr(text, "boot-a");
	ASSERT(boot);
	memcpy(boot, "boot-b", strlen("boot-b"));
	next = restart(text);
	feed(next, NULL, 0, NULL, 0);
	(void)snap(next, 9000);
	check(next, 0, 0); /* nothing of it was folded, so that no record tells of it */
	ASSERT_EQ(timeline_count(timeline_of(next)), (size_t)2);
	registry_free(next);
}

TEST(a_state_without_a_timeline_begins_one)
{
	struct registry *r = lives_registry(), *next;
	_cleanup_free_ char *text = NULL;

	learn(r, 120, (const struct group_life[]){ life(1, 0, 110, 0, JOB) }, 1);
	text = format(r);
	registry_free(r);
	ASSERT_LACKS(text, "timeline");
	next = restart(text);
	see(next, 110, 0, 131, 5000, 6000);
	see(next, 110, 0, 132, 5010, 6000);
	check(next, 5010, 6000);
	ASSERT_EQ(timeline_count(timeline_of(next)), (size_t)1);
	registry_free(next);
}

static size_t count_changed(struct registry *r, bool is_saved)
{
	size_t count = 0;

	for (struct registry_job *j = NULL; (j = registry_next(r, j));) {
		count += registry_job_is_changed(j);
		if (is_saved && registry_job_is_changed(j))
			registry_job_saved(j);
	}
	return count;
}

/* @count jobs that all work. */
static void work(struct registry *r, size_t count, uint64_t second, uint64_t user_ns)
{
	_cleanup_free_ struct group_life *lives = calloc(count, sizeof(*lives));
	_cleanup_free_ struct cgroup_tasks *tasks = calloc(count, sizeof(*tasks));
	char path[64];

	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "/slurm/uid_1000/job_%zu", i);
		lives[i] = life(i + 1, 0, 110, 0, path);
		tasks[i] = tasks_of(i + 1, user_ns, 1, 0);
	}
	learn(r, second, lives, count);
	feed(r, tasks, count, NULL, 0);
	(void)snap(r, second);
}

TEST(timelines_are_written_down_now_and_then_and_a_few_at_once)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();

	work(r, 100, 120, 1000);
	ASSERT_EQ(count_changed(r, true), (size_t)32);
	work(r, 100, 130, 2000);
	work(r, 100, 140, 3000);
	ASSERT_EQ(count_changed(r, true), (size_t)64);
	work(r, 100, 150, 4000);
	ASSERT_EQ(count_changed(r, true), (size_t)4);
	work(r, 100, 160, 5000);
	ASSERT_EQ(count_changed(r, false), (size_t)0); /* all were a minute ago at most */
	registry_save_timelines(r);
	ASSERT_EQ(count_changed(r, true), (size_t)100);
	work(r, 100, 400, 5000);
	registry_save_timelines(r);
	ASSERT_EQ(count_changed(r, true), (size_t)0); /* nothing is new */
}

/* Two hours of jobs that never do the same twice, and of those that do nothing after a start. */
TEST(a_timeline_takes_a_few_kib)
{
	enum { JOBS = 64 };
	_cleanup_(registry_freep) struct registry *busy = lives_registry(), *idle;
	size_t before;
	ssize_t of_busy, of_idle;

	work(busy, JOBS, 120, 1000);
	before = heap_bytes();
	for (uint64_t second = 130; second < 7400; second += 10) {
		uint64_t random = second * UINT64_C(2862933555777941757);

		work(busy, JOBS, second, second * SECOND + random % SECOND);
	}
	of_busy = (ssize_t)(heap_bytes() - before) / JOBS;
	idle = lives_registry();
	work(idle, JOBS, 120, 1000);
	before = heap_bytes();
	for (uint64_t second = 130; second < 7400; second += 10)
		work(idle, JOBS, second, 1000);
	of_idle = (ssize_t)(heap_bytes() - before) / JOBS;
	if (HEAP_IS_COUNTED) {
		printf("two hours: a series of a job that works %zd bytes more, an idle job %zd\n",
		       of_busy, of_idle);
		ASSERT(of_busy < 4096);
		ASSERT(of_idle < 64);
	}
}
