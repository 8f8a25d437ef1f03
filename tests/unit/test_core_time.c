/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "basic/cleanup.h"
#include "analysis/core_time.h"
#include "model/record.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)

/* 4 cores for 100 s, 100 s of CPU time: 300 s are unused. */
static struct record *made(void)
{
	struct record *r = record_new();

	r->time.elapsed_ns = 100 * SECOND;
	reading_set(&r->reading, METRIC_CPU_ALLOCATED, 4000);
	reading_set(&r->reading, METRIC_CPU_USER, 90 * SECOND);
	reading_set(&r->reading, METRIC_CPU_SYSTEM, 10 * SECOND);
	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, 0);
	for (size_t c = 0; c < CAUSE_COUNT; c++)
		reading_set(&r->reading, cause_metric((enum cause)c), 0);
	return r;
}

static void block(struct record *r, enum cause cause, uint64_t seconds)
{
	reading_set(&r->reading, cause_metric(cause), seconds * SECOND);
}

static bool is_near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static double sum_of(const struct core_time *t)
{
	double sum = t->on_cpu + t->idle;

	for (size_t c = 0; c < LOST_COUNT; c++)
		sum += t->lost[c];
	return sum;
}

TEST(what_nobody_waited_for_is_idle)
{
	_cleanup_(record_freep) struct record *r = made();
	struct core_time t = core_time_of(r);

	ASSERT(t.is_known && t.has_causes);
	ASSERT(is_near(t.core, 400) && is_near(t.unused, 300) && is_near(t.idle, 300));
}

TEST(a_few_blocked_threads_lose_what_they_waited)
{
	_cleanup_(record_freep) struct record *r = made();
	struct core_time t;

	block(r, CAUSE_FILE_READ, 70);
	block(r, CAUSE_LOCK, 30);
	t = core_time_of(r);
	ASSERT(is_near(t.lost[CAUSE_FILE_READ], 70));
	ASSERT(is_near(t.lost[CAUSE_LOCK], 30));
	ASSERT(is_near(t.idle, 200));
	ASSERT(is_near(sum_of(&t), 400));
}

TEST(many_blocked_threads_lose_no_more_than_there_is)
{
	_cleanup_(record_freep) struct record *r = made();
	struct core_time t;

	block(r, CAUSE_FILE_READ, 900);
	block(r, CAUSE_LOCK, 200);
	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, 100 * SECOND);
	t = core_time_of(r);
	ASSERT(is_near(t.lost[CAUSE_FILE_READ], 225));
	ASSERT(is_near(t.lost[CAUSE_LOCK], 50));
	ASSERT(is_near(t.lost[LOST_RUN_QUEUE], 25));
	ASSERT(is_near(t.idle, 0));
	ASSERT(is_near(sum_of(&t), 400));
}

/* It is core time itself, and not of a thread that may have waited beside others. */
TEST(what_was_stolen_is_lost_whole_and_before_what_threads_waited_for)
{
	_cleanup_(record_freep) struct record *r = made();
	struct core_time t = core_time_of(r);

	ASSERT(!t.knows_stolen && t.has_causes); /* of before */
	reading_set(&r->reading, METRIC_CPU_STOLEN, 60 * SECOND);
	block(r, CAUSE_FILE_READ, 480);
	t = core_time_of(r);
	ASSERT(t.knows_stolen && is_near(t.lost[LOST_STOLEN], 60));
	ASSERT(is_near(t.lost[CAUSE_FILE_READ], 240));
	ASSERT(is_near(t.idle, 0) && is_near(sum_of(&t), 400));
	reading_set(&r->reading, METRIC_CPU_STOLEN, 301 * SECOND); /* more than there was, as little
								      is */
	t = core_time_of(r);
	ASSERT(is_near(t.lost[LOST_STOLEN], 300) && is_near(sum_of(&t), 400));
}

TEST(sleep_poll_and_children_are_never_lost)
{
	_cleanup_(record_freep) struct record *r = made();
	struct core_time t;

	block(r, CAUSE_SLEEP, 900);
	block(r, CAUSE_POLL, 900);
	block(r, CAUSE_CHILDREN, 900);
	t = core_time_of(r);
	ASSERT(is_near(t.idle, 300));
	ASSERT(is_near(t.lost[CAUSE_SLEEP], 0));
}

TEST(more_cpu_time_than_cores_leaves_nothing_unused)
{
	_cleanup_(record_freep) struct record *r = made();
	struct core_time t;

	reading_set(&r->reading, METRIC_CPU_USER, 500 * SECOND);
	block(r, CAUSE_FILE_READ, 70);
	t = core_time_of(r);
	ASSERT(is_near(t.unused, 0) && is_near(t.lost[CAUSE_FILE_READ], 0) && is_near(t.idle, 0));
}

TEST(without_causes_what_is_unused_is_known_and_why_is_not)
{
	_cleanup_(record_freep) struct record *r = made();
	struct core_time t;

	r->reading.values[METRIC_BLOCKED_LOCK].is_known = false;
	t = core_time_of(r);
	ASSERT(t.is_known && !t.has_causes);
	ASSERT(is_near(t.unused, 300));
	r->reading.values[METRIC_CPU_ALLOCATED].is_known = false;
	ASSERT(!core_time_of(r).is_known);
}

TEST(causes_have_names)
{
	ASSERT_STREQ(lost_name(CAUSE_LOCK), "lock");
	ASSERT_STREQ(lost_name(LOST_RUN_QUEUE), "run_queue");
	ASSERT_STREQ(lost_name(LOST_STOLEN), "stolen");
	ASSERT(lost_can_be(LOST_RUN_QUEUE) && lost_can_be(CAUSE_SYNC) && !lost_can_be(CAUSE_SLEEP));
}

/* 4 cores, 10 s: first it reads on one for 5 s, then it computes on all. */
static struct record *made_phases(void)
{
	struct record *r = made();
	struct value values[TIMELINE_SERIES];

	r->time.start_ns = 1000 * SECOND;
	r->time.elapsed_ns = 10 * SECOND;
	reading_set(&r->reading, METRIC_CPU_USER, 0);
	reading_set(&r->reading, METRIC_CPU_SYSTEM, 0);
	ASSERT_OK(timeline_begin(&r->timeline, r->time.start_ns, 50 * SECOND));
	for (uint64_t second = 1; second <= 10; second++) {
		if (second <= 5)
			block(r, CAUSE_FILE_READ, second);
		else
			reading_set(&r->reading, METRIC_CPU_USER, (second - 5) * 4 * SECOND);
		timeline_values(&r->reading, NULL, values);
		ASSERT_OK(timeline_feed(&r->timeline, r->time.start_ns + second * SECOND,
					(50 + second) * SECOND, values));
	}
	return r;
}

/* One second more, with what the reading says now. */
static void add_second(struct record *r)
{
	uint64_t second = r->time.elapsed_ns / SECOND + 1;
	struct value values[TIMELINE_SERIES];

	r->time.elapsed_ns += SECOND;
	timeline_values(&r->reading, NULL, values);
	ASSERT_OK(timeline_feed(&r->timeline, r->time.start_ns + second * SECOND,
				(50 + second) * SECOND, values));
}

TEST(each_interval_is_shared_out_by_itself)
{
	_cleanup_(record_freep) struct record *r = made_phases();
	struct core_time t = core_time_of(r);

	ASSERT(t.intervals >= 10);
	ASSERT(is_near(t.on_cpu, 20) && is_near(t.unused, 20));
	ASSERT(is_near(t.lost[CAUSE_FILE_READ], 5));
	ASSERT(is_near(t.idle, 15));
	ASSERT(is_near(sum_of(&t), 40));
}

TEST(waiting_beside_full_cores_loses_nothing)
{
	_cleanup_(record_freep) struct record *r = made_phases();
	struct core_time t;

	reading_set(&r->reading, METRIC_CPU_USER, 24 * SECOND);
	block(r, CAUSE_LOCK, 3);
	add_second(r);
	t = core_time_of(r);
	ASSERT(is_near(t.lost[CAUSE_LOCK], 0));
	ASSERT(is_near(t.lost[CAUSE_FILE_READ], 5));
	timeline_clear(&r->timeline); /* over the whole it would seem so */
	t = core_time_of(r);
	ASSERT_EQ((uint64_t)t.intervals, (uint64_t)1);
	ASSERT(is_near(t.lost[CAUSE_LOCK], 3));
}

TEST(what_was_before_the_timeline_is_an_interval_too)
{
	_cleanup_(record_freep) struct record *r = made_phases();
	struct core_time t;

	/* the job is 10 s older, in which it kept two cores busy */
	r->time.start_ns -= 10 * SECOND;
	r->time.elapsed_ns += 10 * SECOND;
	r->reading.values[METRIC_CPU_USER].number += 20 * SECOND;
	t = core_time_of(r);
	ASSERT(t.intervals >= 11);
	ASSERT(is_near(t.core, 80) && is_near(t.on_cpu, 40));
	ASSERT(is_near(t.lost[CAUSE_FILE_READ], 5));
	ASSERT(is_near(t.idle, 35));
	ASSERT(is_near(sum_of(&t), 80));
}

TEST(buckets_that_hold_too_much_leave_the_sum_whole)
{
	_cleanup_(record_freep) struct record *r = made_phases();
	struct core_time t;

	reading_set(&r->reading, METRIC_CPU_USER, 27 * SECOND); /* 7 s in one second of 4 cores */
	add_second(r);
	t = core_time_of(r);
	ASSERT(t.intervals >= 11);
	ASSERT(is_near(t.unused, 17));
	ASSERT(is_near(t.lost[CAUSE_FILE_READ], 5 * 17.0 / 20));
	ASSERT(is_near(sum_of(&t), 44));
}

TEST(a_cause_that_the_timeline_does_not_know_takes_the_whole)
{
	_cleanup_(record_freep) struct record *r = made_phases();
	struct core_time t;

	timeline_clear(&r->timeline);
	r->reading.values[METRIC_BLOCKED_LOCK].is_known = false;
	ASSERT_OK(timeline_begin(&r->timeline, r->time.start_ns, 50 * SECOND));
	add_second(r);
	reading_set(&r->reading, METRIC_BLOCKED_LOCK, 3 * SECOND);
	t = core_time_of(r);
	ASSERT(t.has_causes);
	ASSERT_EQ((uint64_t)t.intervals, (uint64_t)1);
	ASSERT(is_near(t.lost[CAUSE_LOCK], 3));
}
