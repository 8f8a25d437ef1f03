/* SPDX-License-Identifier: MIT */

#include "basic/cleanup.h"
#include "basic/macro.h"
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

static double sum_of(const struct core_time *t)
{
	double sum = t->on_cpu + t->idle;

	for (size_t c = 0; c < LOST_COUNT; c++)
		sum += t->lost[c];
	return sum;
}

TEST(what_is_unused_is_lost_or_idle)
{
	/* clang-format off */
	static const struct {
		uint64_t user, run_queue, stolen; /* stolen: 0: as before it was counted */
		struct {
			enum cause cause;
			uint64_t seconds;
			double lost;
		} blocked[3];
		double queue_lost, stolen_lost, unused, idle;
	} rows[] = {
		{ 90, 0, 0, {}, 0, 0, 300, 300 },
		{ 90, 0, 0, { { CAUSE_FILE_READ, 70, 70 }, { CAUSE_LOCK, 30, 30 } }, 0, 0, 300, 200 },
		/* many blocked threads lose no more than there is */
		{ 90, 100, 0, { { CAUSE_FILE_READ, 900, 225 }, { CAUSE_LOCK, 200, 50 } }, 25, 0, 300, 0 },
		/* what was stolen is core time itself, and not of a thread that may have waited
		 * beside others: it is lost whole and before; and no more than there was */
		{ 90, 0, 60, { { CAUSE_FILE_READ, 480, 240 } }, 0, 60, 300, 0 },
		{ 90, 0, 301, { { CAUSE_FILE_READ, 480, 0 } }, 0, 300, 300, 0 },
		/* never lost */
		{ 90, 0, 0, { { CAUSE_SLEEP, 900, 0 }, { CAUSE_POLL, 900, 0 }, { CAUSE_CHILDREN, 900, 0 } }, 0, 0, 300, 300 },
		/* more CPU time than cores leaves nothing unused */
		{ 500, 0, 0, { { CAUSE_FILE_READ, 70, 0 } }, 0, 0, 0, 0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(record_freep) struct record *r = made();
		struct core_time t;

		reading_set(&r->reading, METRIC_CPU_USER, rows[i].user * SECOND);
		reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, rows[i].run_queue * SECOND);
		if (rows[i].stolen)
			reading_set(&r->reading, METRIC_CPU_STOLEN, rows[i].stolen * SECOND);
		for (size_t b = 0; b < 3 && rows[i].blocked[b].seconds; b++)
			block(r, rows[i].blocked[b].cause, rows[i].blocked[b].seconds);
		t = core_time_of(r);
		ASSERT(t.is_known && t.has_causes && t.knows_stolen == (rows[i].stolen > 0));
		ASSERT(test_is_near(t.core, 400) && test_is_near(t.unused, rows[i].unused));
		ASSERT(test_is_near(t.idle, rows[i].idle));
		for (size_t b = 0; b < 3 && rows[i].blocked[b].seconds; b++)
			ASSERT(test_is_near(t.lost[rows[i].blocked[b].cause],
					    rows[i].blocked[b].lost));
		ASSERT(test_is_near(t.lost[LOST_RUN_QUEUE], rows[i].queue_lost));
		ASSERT(test_is_near(t.lost[LOST_STOLEN], rows[i].stolen_lost));
		ASSERT(rows[i].unused == 0 || test_is_near(sum_of(&t), 400));
	}
}

TEST(without_causes_what_is_unused_is_known_and_why_is_not)
{
	_cleanup_(record_freep) struct record *r = made();
	struct core_time t;

	r->reading.values[METRIC_BLOCKED_LOCK].is_known = false;
	t = core_time_of(r);
	ASSERT(t.is_known && !t.has_causes);
	ASSERT(test_is_near(t.unused, 300));
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
	ASSERT(test_is_near(t.on_cpu, 20) && test_is_near(t.unused, 20));
	ASSERT(test_is_near(t.lost[CAUSE_FILE_READ], 5));
	ASSERT(test_is_near(t.idle, 15));
	ASSERT(test_is_near(sum_of(&t), 40));
}

TEST(waiting_beside_full_cores_loses_nothing)
{
	_cleanup_(record_freep) struct record *r = made_phases();
	struct core_time t;

	reading_set(&r->reading, METRIC_CPU_USER, 24 * SECOND);
	block(r, CAUSE_LOCK, 3);
	add_second(r);
	t = core_time_of(r);
	ASSERT(test_is_near(t.lost[CAUSE_LOCK], 0));
	ASSERT(test_is_near(t.lost[CAUSE_FILE_READ], 5));
	timeline_clear(&r->timeline); /* over the whole it would seem so */
	t = core_time_of(r);
	ASSERT_EQ((uint64_t)t.intervals, (uint64_t)1);
	ASSERT(test_is_near(t.lost[CAUSE_LOCK], 3));
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
	ASSERT(test_is_near(t.core, 80) && test_is_near(t.on_cpu, 40));
	ASSERT(test_is_near(t.lost[CAUSE_FILE_READ], 5));
	ASSERT(test_is_near(t.idle, 35));
	ASSERT(test_is_near(sum_of(&t), 80));
}

TEST(buckets_that_hold_too_much_leave_the_sum_whole)
{
	_cleanup_(record_freep) struct record *r = made_phases();
	struct core_time t;

	reading_set(&r->reading, METRIC_CPU_USER, 27 * SECOND); /* 7 s in one second of 4 cores */
	add_second(r);
	t = core_time_of(r);
	ASSERT(t.intervals >= 11);
	ASSERT(test_is_near(t.unused, 17));
	ASSERT(test_is_near(t.lost[CAUSE_FILE_READ], 5 * 17.0 / 20));
	ASSERT(test_is_near(sum_of(&t), 44));
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
	ASSERT(test_is_near(t.lost[CAUSE_LOCK], 3));
}
