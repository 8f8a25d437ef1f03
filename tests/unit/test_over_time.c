/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "basic/cleanup.h"
#include "report/over_time.h"
#include "model/record.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define EPOCH (UINT64_C(1770091506) * SECOND)

/* 4 s from half a second behind the edge of a bucket; 1 core all the time, memory not seen at
 * first. */
static struct record *made(void)
{
	struct value values[TIMELINE_SERIES] = {};
	struct record *r = record_new();
	size_t user = timeline_find("cpu", "user_seconds"),
	       memory = timeline_find("memory", "usage_bytes");

	r->time.start_ns = EPOCH + SECOND / 2;
	r->time.elapsed_ns = 4 * SECOND;
	ASSERT_OK(timeline_begin(&r->timeline, r->time.start_ns, 7 * SECOND));
	for (uint64_t i = 1; i <= 8; i++) {
		values[user] = (struct value){ i * SECOND / 2, true };
		values[memory] = (struct value){ i * 4096, i > 3 };
		ASSERT_OK(timeline_feed(&r->timeline, r->time.start_ns + i * SECOND / 2,
					7 * SECOND + i * SECOND / 2, values));
	}
	return r;
}

TEST(edges_are_those_of_buckets_within_the_job)
{
	_cleanup_(record_freep) struct record *r = made();
	struct over_time t;

	ASSERT(over_time_of(r, &t));
	ASSERT_EQ(t.count, (size_t)5);
	ASSERT(test_is_near(t.span, 4) && !t.has_gaps);
	ASSERT(test_is_near(t.edges[0], 0) && test_is_near(t.edges[1], 0.5) &&
	       test_is_near(t.edges[5], 4));
}

TEST(a_short_bucket_has_the_rate_of_its_part)
{
	_cleanup_(record_freep) struct record *r = made();
	double values[TIMELINE_BUCKETS_MAX], mean, most;
	struct over_time t;

	ASSERT(over_time_of(r, &t));
	ASSERT(over_time_values(&t, r, METRIC_CPU_USER, values));
	for (size_t i = 0; i < t.count; i++)
		ASSERT(test_is_near(values[i], 1));
	ASSERT(over_time_sum_up(&t, values, &mean, &most));
	ASSERT(test_is_near(mean, 1) && test_is_near(most, 1));
}

TEST(where_nobody_looked_nothing_is_known)
{
	_cleanup_(record_freep) struct record *r = made();
	double values[TIMELINE_BUCKETS_MAX], mean, most;
	struct over_time t;

	ASSERT(over_time_of(r, &t));
	ASSERT(over_time_values(&t, r, METRIC_MEMORY_USAGE, values));
	ASSERT(isnan(values[0]) && !isnan(values[4]));
	ASSERT(over_time_sum_up(&t, values, &mean, &most));
	ASSERT(test_is_near(most, 8 * 4096));
	ASSERT(!over_time_values(&t, r, METRIC_CPU_THROTTLED, values));
	ASSERT(!over_time_values(&t, r, METRIC_MEMORY_PEAK, values)); /* no series at all */
}

TEST(time_before_the_timeline_is_a_gap)
{
	_cleanup_(record_freep) struct record *r = made();
	struct over_time t;

	r->time.start_ns -= 10 * SECOND;
	r->time.elapsed_ns += 10 * SECOND;
	ASSERT(over_time_of(r, &t));
	ASSERT(t.has_gaps && test_is_near(t.edges[0], 9.5));
}

TEST(who_began_to_watch_later_sees_the_time_since_then)
{
	_cleanup_(record_freep) struct record *r = made();
	struct over_time t;

	r->time.measured_from_ns = r->time.start_ns;
	r->time.start_ns -= 100 * SECOND;
	ASSERT(over_time_of(r, &t));
	ASSERT(!t.has_gaps && test_is_near(t.edges[1], 0.5) && test_is_near(t.edges[5], 4));
}

TEST(without_a_timeline_there_is_nothing)
{
	_cleanup_(record_freep) struct record *r = record_new();
	struct over_time t;

	ASSERT(!over_time_of(r, &t));
}
