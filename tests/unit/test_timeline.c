/* SPDX-License-Identifier: MIT */
#include "model/timeline.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/cause.h"
#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "model/json_place.h"
#include "basic/macro.h"
#include "model/section.h"
#include "model/sections.h"
#include "made.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define MORNING (UINT64_C(1790000000) * SECOND) /* a multiple of 128 s */

enum { USER, SYSTEM, MEMORY = 22 };

static uint64_t buckets[TIMELINE_BUCKETS_MAX];

/* Feed one moment of user time, system time and memory; UINT64_MAX: not known. */
static int feed(struct timeline *t, uint64_t ns, uint64_t user, uint64_t system, uint64_t memory)
{
	struct value values[TIMELINE_SERIES] = {
		[USER] = { user, user != UINT64_MAX },
		[SYSTEM] = { system, system != UINT64_MAX },
		[MEMORY] = { memory, memory != UINT64_MAX },
	};

	return timeline_feed(t, MORNING + ns, 1000 + ns, values);
}

static int begin(struct timeline *t)
{
	return timeline_begin(t, MORNING, 1000);
}

TEST(series_are_what_the_table_of_metrics_says)
{
	for (size_t i = 0; i < TIMELINE_SERIES; i++) {
		const struct metric *metric = metric_get(timeline_metric(i));

		ASSERT(metric->kind == KIND_COUNTER || metric->kind == KIND_GAUGE);
		ASSERT_EQ(timeline_find(metric->section, metric->key), i);
	}
	ASSERT_EQ(timeline_find("cpu", "flops"), (size_t)TIMELINE_SERIES);
	ASSERT_EQ((int)timeline_metric(MEMORY), (int)METRIC_MEMORY_USAGE);
}

TEST(every_cause_of_waiting_has_a_series)
{
	for (size_t cause = 0; cause < CAUSE_COUNT; cause++) {
		const struct metric *metric = metric_get(cause_metric((enum cause)cause));

		ASSERT(timeline_find(metric->section, metric->key) < TIMELINE_SERIES);
	}
}

TEST(what_came_between_two_readings_is_divided_by_time)
{
	_cleanup_(timeline_clear) struct timeline t = {};

	ASSERT_OK(begin(&t));
	ASSERT_OK(feed(&t, 500000000, 7, 0, 5));
	ASSERT_OK(feed(&t, 4 * SECOND, 7 + 350, 0, 9)); /* 3.5 s: 50, 100, 100, 100 */
	ASSERT_EQ(timeline_get(&t, USER, buckets), (size_t)4);
	ASSERT_EQ(buckets[0], UINT64_C(57));
	ASSERT_EQ(buckets[1], UINT64_C(100));
	ASSERT_EQ(buckets[3], UINT64_C(100));
	ASSERT_EQ(timeline_get(&t, SYSTEM, buckets), (size_t)4);
	ASSERT_EQ(buckets[2], UINT64_C(0));
}

TEST(what_cannot_be_divided_is_carried_and_not_lost)
{
	_cleanup_(timeline_clear) struct timeline t = {};

	ASSERT_OK(begin(&t));
	ASSERT_OK(feed(&t, 3 * SECOND, 11, 2, 0)); /* 3.67 each, 0.67 each */
	timeline_get(&t, USER, buckets);
	ASSERT_EQ(buckets[0], UINT64_C(3));
	ASSERT_EQ(buckets[1], UINT64_C(4));
	ASSERT_EQ(buckets[2], UINT64_C(4));
	timeline_get(&t, SYSTEM, buckets);
	ASSERT_EQ(buckets[0] + buckets[1] + buckets[2], UINT64_C(2));
}

TEST(edges_are_multiples_since_the_epoch)
{
	_cleanup_(timeline_clear) struct timeline t = {};
	struct value values[TIMELINE_SERIES] = { [USER] = { 10, true } };

	ASSERT_OK(timeline_begin(&t, MORNING + 3 * SECOND + 700000000, 0));
	ASSERT_EQ(t.start_ns, MORNING + 3 * SECOND);
	ASSERT_OK(timeline_feed(&t, 0, 600000000, values));
	ASSERT_EQ(timeline_get(&t, USER, buckets), (size_t)2); /* 0.3 s of one, 0.3 s of the next */
	ASSERT_EQ(buckets[0], UINT64_C(5));
	ASSERT_OK(timeline_double(&t));
	ASSERT_EQ(t.start_ns, MORNING + 2 * SECOND);
	ASSERT_EQ(timeline_get(&t, USER, buckets), (size_t)2); /* they are no neighbours */
	ASSERT_EQ(buckets[0], UINT64_C(5));
	ASSERT_OK(timeline_double(&t));
	ASSERT_EQ(t.start_ns, MORNING);
	ASSERT_EQ(timeline_get(&t, USER, buckets), (size_t)2);
	ASSERT_OK(timeline_double(&t));
	ASSERT_EQ(timeline_get(&t, USER, buckets), (size_t)1);
	ASSERT_EQ(buckets[0], UINT64_C(10));
}

TEST(a_gauge_has_the_greatest_of_each_bucket_and_holds_in_between)
{
	_cleanup_(timeline_clear) struct timeline t = {};

	ASSERT_OK(begin(&t));
	ASSERT_OK(feed(&t, 1500000000, 0, 0, 40));
	ASSERT_OK(feed(&t, 1600000000, 0, 0, 70));
	ASSERT_OK(feed(&t, 1700000000, 0, 0, 20));
	ASSERT_OK(feed(&t, 4500000000, 0, 0, 10));
	ASSERT_EQ(timeline_get(&t, MEMORY, buckets), (size_t)5);
	ASSERT_EQ(buckets[0], TIMELINE_UNKNOWN); /* nobody had looked */
	ASSERT_EQ(buckets[1], UINT64_C(70));
	ASSERT_EQ(buckets[2], UINT64_C(20));
	ASSERT_EQ(buckets[4], UINT64_C(20));
	ASSERT_OK(timeline_double(&t));
	timeline_get(&t, MEMORY, buckets);
	ASSERT_EQ(buckets[0], UINT64_C(70));
	ASSERT_EQ(buckets[1], UINT64_C(20));
}

TEST(what_nobody_knew_is_not_zero)
{
	_cleanup_(timeline_clear) struct timeline t = {};

	ASSERT_OK(begin(&t));
	ASSERT_OK(feed(&t, 2 * SECOND, 10, UINT64_MAX, UINT64_MAX));
	ASSERT(timeline_knows(&t, USER) && !timeline_knows(&t, SYSTEM));
	ASSERT_OK(feed(&t, 4 * SECOND, UINT64_MAX, UINT64_MAX, 8));
	ASSERT_OK(feed(&t, 6 * SECOND, 30, UINT64_MAX, UINT64_MAX));
	ASSERT_EQ(timeline_get(&t, USER, buckets), (size_t)6);
	ASSERT_EQ(buckets[1], UINT64_C(5));
	ASSERT_EQ(buckets[2], TIMELINE_UNKNOWN);
	ASSERT_EQ(buckets[3], TIMELINE_UNKNOWN);
	ASSERT_EQ(buckets[5], UINT64_C(10));
	ASSERT_EQ(timeline_sum(&t, USER), UINT64_C(30));
	timeline_get(&t, MEMORY, buckets);
	ASSERT_EQ(buckets[3], UINT64_C(8));
	ASSERT_EQ(buckets[4], TIMELINE_UNKNOWN);
}

TEST(what_was_there_before_us_stands_before_the_first_bucket)
{
	_cleanup_(timeline_clear) struct timeline t = {};

	ASSERT_OK(feed(&t, 1 * SECOND + 1, 5000, 0, 3));
	ASSERT_OK(feed(&t, 3 * SECOND, 5100, 0, 3));
	ASSERT_EQ(timeline_get(&t, USER, buckets), (size_t)2);
	ASSERT_EQ(buckets[0] + buckets[1], UINT64_C(100));
	ASSERT_EQ(t.series[USER].before, UINT64_C(5000));
	ASSERT_EQ(timeline_sum(&t, USER), UINT64_C(5100));
}

TEST(a_counter_that_falls_gives_back_what_came_last)
{
	_cleanup_(timeline_clear) struct timeline t = {};

	ASSERT_OK(begin(&t));
	ASSERT_OK(feed(&t, 1 * SECOND, 10, 0, 0));
	ASSERT_OK(feed(&t, 2 * SECOND, 20, 0, 0));
	ASSERT_OK(feed(&t, 3 * SECOND, 23, 0, 0));
	ASSERT_OK(feed(&t, 4 * SECOND, 12, 0, 0));
	ASSERT_EQ(timeline_sum(&t, USER), UINT64_C(12));
	timeline_get(&t, USER, buckets);
	ASSERT_EQ(buckets[0], UINT64_C(10));
	ASSERT_EQ(buckets[1], UINT64_C(2));
	ASSERT_EQ(buckets[2], UINT64_C(0));
}

TEST(a_clock_that_goes_back_stands_still)
{
	_cleanup_(timeline_clear) struct timeline t = {};

	ASSERT_OK(begin(&t));
	ASSERT_OK(feed(&t, 2 * SECOND, 10, 0, 0));
	ASSERT_OK(feed(&t, 1 * SECOND, 14, 0, 0));
	ASSERT_EQ(timeline_count(&t), (size_t)2);
	timeline_get(&t, USER, buckets);
	ASSERT_EQ(buckets[1], UINT64_C(9));
}

TEST(idle_time_takes_no_memory)
{
	_cleanup_(timeline_clear) struct timeline t = {};
	uint32_t used;

	ASSERT_OK(begin(&t));
	ASSERT_OK(feed(&t, SECOND, 10, 3, 4096));
	ASSERT_OK(feed(&t, 2 * SECOND, 20, 3, 4096));
	used = t.series[USER].closed.used + t.series[MEMORY].closed.used;
	for (uint64_t s = 3; s < 500; s++)
		ASSERT_OK(feed(&t, s * SECOND, 20, 3, 4096));
	ASSERT_EQ(t.series[USER].closed.used + t.series[MEMORY].closed.used, used);
	ASSERT_EQ(timeline_get(&t, USER, buckets), (size_t)499);
	ASSERT_EQ(buckets[498], UINT64_C(0));
	timeline_get(&t, MEMORY, buckets);
	ASSERT_EQ(buckets[498], UINT64_C(4096));
}

TEST(a_century_has_no_more_buckets_than_an_hour)
{
	_cleanup_(timeline_clear) struct timeline t = {};
	uint64_t year = UINT64_C(365) * 86400 * SECOND;

	ASSERT_OK(begin(&t));
	for (uint64_t i = 1; i <= 100; i++)
		ASSERT_OK(feed(&t, i * year, i * year, i, 0));
	ASSERT(timeline_count(&t) > TIMELINE_BUCKETS_MAX / 2 - 1);
	ASSERT(timeline_count(&t) <= TIMELINE_BUCKETS_MAX);
	ASSERT_EQ(timeline_sum(&t, USER), 100 * year);
	ASSERT_EQ(timeline_sum(&t, SYSTEM), UINT64_C(100));
	ASSERT_OK(feed(&t, UINT64_MAX - 1000, 101 * year, 101, 0)); /* as far as times go */
	ASSERT_EQ(timeline_sum(&t, USER), 101 * year);
}

/* ---- whatever comes: no count is lost ---- */

struct dice {
	uint64_t state;
};

static uint64_t roll(struct dice *d, uint64_t sides)
{
	d->state ^= d->state << 13;
	d->state ^= d->state >> 7;
	d->state ^= d->state << 17;
	return d->state % sides;
}

/* A job of up to some 1,300 readings, and where its counters ended. */
static void live(struct timeline *t, struct dice *d, uint64_t ret[TIMELINE_SERIES])
{
	static const uint64_t steps[] = { 1000000, SECOND, 10 * SECOND, 3600 * SECOND };
	struct value values[TIMELINE_SERIES] = {};
	uint64_t now = roll(d, 100 * SECOND), boot = 5, step = steps[roll(d, 4)];
	size_t readings = 1 + roll(d, 1300);

	if (roll(d, 2))
		ASSERT_OK(timeline_begin(t, MORNING + now, boot));
	for (size_t i = 0; i < readings; i++) {
		boot += roll(d, 2 * step);
		for (size_t k = 0; k < TIMELINE_SERIES; k++) {
			values[k].is_known = roll(d, 200) != 0 || i + 1 == readings;
			if (metric_get(timeline_metric(k))->kind == KIND_GAUGE)
				values[k].number = roll(d, 1000);
			else if (!roll(d, 3))
				values[k].number += roll(d, UINT64_C(1) << roll(d, 40));
		}
		if (!roll(d, 1000) && values[0].number)
			values[0].number -= roll(d, values[0].number); /* after a restart */
		ASSERT_OK(timeline_feed(t, MORNING + now, boot, values));
	}
	for (size_t k = 0; k < TIMELINE_SERIES; k++)
		ret[k] = values[k].number;
}

static void check_sums(const struct timeline *t, const uint64_t totals[TIMELINE_SERIES])
{
	ASSERT(timeline_count(t) > 0 && timeline_count(t) <= TIMELINE_BUCKETS_MAX);
	ASSERT_EQ(t->start_ns % timeline_interval_ns(t), UINT64_C(0));
	for (size_t k = 0; k < TIMELINE_SERIES; k++) {
		if (metric_get(timeline_metric(k))->kind != KIND_GAUGE)
			ASSERT_EQ(timeline_sum(t, k), totals[k]);
	}
}

TEST(whatever_is_fed_and_doubled_the_integral_is_the_total)
{
	struct dice d = { 88172645463325252 };

	for (int i = 0; i < 60; i++) {
		_cleanup_(timeline_clear) struct timeline t = {};
		uint64_t totals[TIMELINE_SERIES];

		live(&t, &d, totals);
		check_sums(&t, totals);
		for (int k = 0; k < 12 && t.shift < TIMELINE_SHIFT_MAX; k++) {
			ASSERT_OK(timeline_double(&t));
			check_sums(&t, totals);
		}
	}
}

static void check_equal(const struct timeline *a, const struct timeline *b)
{
	uint64_t other[TIMELINE_BUCKETS_MAX];

	ASSERT_EQ(a->start_ns, b->start_ns);
	ASSERT_EQ(a->shift, b->shift);
	for (size_t k = 0; k < TIMELINE_SERIES; k++) {
		size_t count = timeline_get(a, k, buckets);

		ASSERT_EQ(timeline_knows(a, k), timeline_knows(b, k));
		ASSERT_EQ(timeline_get(b, k, other), count);
		ASSERT(memcmp(buckets, other, count * sizeof(*other)) == 0);
	}
}

TEST(merging_adds_up_in_any_order)
{
	struct dice d = { 88172645463393 };

	for (int i = 0; i < 40; i++) {
		_cleanup_(timeline_clear) struct timeline a = {}, b = {}, c = {}, ab = {}, ba = {};
		const struct timeline *forth[] = { &a, &b, &c }, *back[] = { &c, &b, &a };
		uint64_t of_a[TIMELINE_SERIES], of_b[TIMELINE_SERIES], of_c[TIMELINE_SERIES];

		live(&a, &d, of_a);
		live(&b, &d, of_b);
		live(&c, &d, of_c);
		ASSERT_OK(timeline_merge(forth, 3, &ab));
		ASSERT_OK(timeline_merge(back, 3, &ba));
		for (size_t k = 0; k < TIMELINE_SERIES; k++)
			of_a[k] += of_b[k] + of_c[k];
		check_sums(&ab, of_a);
		check_equal(&ab, &ba);
	}
}

TEST(what_one_does_not_know_nobody_knows_together)
{
	_cleanup_(timeline_clear) struct timeline a = {}, b = {}, sum = {}, none = {}, other = {};
	const struct timeline *both[] = { &a, &b }, *with_none[] = { &a, &none };

	ASSERT_OK(begin(&a));
	ASSERT_OK(begin(&b));
	ASSERT_OK(feed(&a, 2 * SECOND, 20, 6, 100));
	ASSERT_OK(feed(&b, 4 * SECOND, 40, UINT64_MAX, 30));
	ASSERT_OK(timeline_merge(both, 2, &sum));
	ASSERT_EQ(timeline_get(&sum, USER, buckets), (size_t)4);
	ASSERT_EQ(buckets[1], UINT64_C(20));
	ASSERT_EQ(buckets[3], UINT64_C(10)); /* the other one was over */
	ASSERT(!timeline_knows(&sum, SYSTEM));
	timeline_get(&sum, MEMORY, buckets);
	ASSERT_EQ(buckets[0], TIMELINE_UNKNOWN);
	ASSERT_EQ(buckets[1], UINT64_C(100));
	ASSERT_EQ(buckets[3], UINT64_C(30));
	ASSERT_OK(timeline_merge(with_none, 2, &other));
	ASSERT_EQ(timeline_count(&other), (size_t)0);
}

TEST(cpus_of_two_nodes_are_as_fast_and_as_warm_as_the_greatest)
{
	static const struct {
		const char *key;
		uint64_t together;
	} cases[] = { { "frequency_hertz", 7 },
		      { "temperature_celsius", 7 },
		      { "core_throttles", 11 } };
	_cleanup_(timeline_clear) struct timeline a = {}, b = {}, sum = {};
	const struct timeline *both[] = { &a, &b };
	const uint64_t of_a[] = { 7, 4 }, of_b[] = { 4, TIMELINE_UNKNOWN };

	ASSERT_OK(begin(&a));
	ASSERT_OK(begin(&b));
	a.last_ns += 2 * SECOND;
	b.last_ns += 2 * SECOND;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ASSERT_OK(timeline_put(&a, timeline_find("thermal", cases[i].key), of_a, 2));
		ASSERT_OK(timeline_put(&b, timeline_find("thermal", cases[i].key), of_b, 2));
	}
	ASSERT_OK(timeline_merge(both, 2, &sum));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		timeline_get(&sum, timeline_find("thermal", cases[i].key), buckets);
		ASSERT_EQ(buckets[0], cases[i].together);
		ASSERT_EQ(buckets[1], UINT64_C(4));
	}
}

TEST(the_difference_of_two_moments_is_what_came_between)
{
	struct dice d = { 4711 };

	for (int i = 0; i < 40; i++) {
		_cleanup_(timeline_clear) struct timeline earlier = {}, later = {};
		struct value values[TIMELINE_SERIES] = {};
		uint64_t totals[TIMELINE_SERIES], gains[TIMELINE_SERIES];

		live(&earlier, &d, totals);
		ASSERT_OK(timeline_copy(&later, &earlier));
		for (size_t k = 0; k < TIMELINE_SERIES; k++) {
			gains[k] = roll(&d, 1000000);
			values[k] = (struct value){ totals[k] + gains[k], true };
		}
		ASSERT_OK(timeline_feed(&later, 0, later.last_boot_ns + roll(&d, 900 * SECOND),
					values));
		ASSERT_OK(timeline_subtract(&later, &earlier));
		check_sums(&later, gains);
		ASSERT(later.start_ns + 2 * timeline_interval_ns(&later) > earlier.last_ns);
	}
}

TEST(numbers_as_large_as_any_are_no_crash)
{
	_cleanup_(timeline_clear) struct timeline later = {}, earlier = {}, sum = {};
	const struct timeline *both[] = { &later, &later };
	uint64_t large[3] = { PACKED_MAX, PACKED_MAX, PACKED_MAX };

	ASSERT_OK(begin(&later));
	later.last_ns += 3 * SECOND;
	ASSERT_OK(timeline_put(&later, USER, large, 3));
	ASSERT_EQ(timeline_sum(&later, USER), PACKED_MAX);
	ASSERT_OK(timeline_merge(both, 2, &sum));
	ASSERT_EQ(timeline_sum(&sum, USER), PACKED_MAX);
	ASSERT_OK(begin(&earlier));
	earlier.last_ns += 9 * SECOND;
	for (size_t i = 0; i < 9; i++)
		buckets[i] = TIMELINE_UNKNOWN;
	ASSERT_OK(timeline_put(&earlier, USER, buckets, 9));
	ASSERT_OK(timeline_subtract(&later, &earlier));
	timeline_get(&later, USER, buckets);
	ASSERT_EQ(timeline_count(&later), (size_t)1);
	ASSERT_EQ(buckets[0], PACKED_MAX);
	ASSERT_OK(timeline_double(&sum));
	ASSERT_EQ(timeline_sum(&sum, USER), PACKED_MAX);
}

TEST(the_last_word_becomes_the_end_of_what_was_known)
{
	_cleanup_(timeline_clear) struct timeline t = {};
	struct value values[TIMELINE_SERIES] = { [USER] = { 12, true }, [SYSTEM] = { 7, true } };

	ASSERT_OK(begin(&t));
	ASSERT_OK(feed(&t, 2 * SECOND, 10, UINT64_MAX, 5));
	ASSERT_OK(timeline_settle(&t, values));
	ASSERT_EQ(timeline_sum(&t, USER), UINT64_C(12));
	ASSERT(!timeline_knows(&t, SYSTEM));
	timeline_get(&t, USER, buckets);
	ASSERT_EQ(buckets[1], UINT64_C(7));
}

/* ---- as text ---- */

static char *text_of(const struct timeline *t, bool is_saved)
{
	struct made_text written = {};
	struct document *d = made_text_document(&written, DOCUMENT_ONE_LINE);

	if (is_saved)
		ASSERT_OK(timeline_save(t, d));
	else
		timeline_section.format(t, d);
	return made_text_end(&written);
}

static int read_back(const char *text, bool is_saved, struct timeline *ret, struct error *err)
{
	json_t *root = json_loads(text, 0, NULL);
	struct place place = { .key = "timeline", .err = err };
	int r = is_saved ? timeline_restore(&place, root, ret)
			 : timeline_section.parse(&place, root, ret);

	json_decref(root);
	return r;
}

TEST(a_record_tells_it_in_its_units)
{
	_cleanup_(timeline_clear) struct timeline t = {};

	ASSERT_OK(begin(&t));
	ASSERT_OK(feed(&t, 2 * SECOND, 3 * SECOND, UINT64_MAX, 4096));
	ASSERT_TOLD(text_of(&t, false),
		    "{\"start\":\"2026-09-21T14:13:20.000000000Z\",\"interval_seconds\":1,",
		    "\"cpu.user_seconds\":{\"unit\":\"seconds\",\"values\":[1.5,1.5]}",
		    "\"cpu.system_seconds\":{\"unit\":\"seconds\",\"values\":null}",
		    "\"memory.usage_bytes\":{\"unit\":\"bytes\",\"values\":[null,4096]}");
}

TEST(what_was_written_comes_back)
{
	struct dice d = { 99 };

	for (int i = 0; i < 60; i++) {
		_cleanup_(timeline_clear) struct timeline t = {}, back = {};
		_cleanup_free_ char *text = NULL, *again = NULL;
		struct error err = {};
		uint64_t totals[TIMELINE_SERIES];

		live(&t, &d, totals);
		text = text_of(&t, i % 2);
		ASSERT_OK(read_back(text, i % 2, &back, &err));
		again = text_of(&back, i % 2);
		ASSERT_STREQ(text, again);
		check_sums(&back, totals);
	}
}

TEST(what_was_restored_goes_on_exactly)
{
	struct dice d = { 1234567 };

	for (int i = 0; i < 20; i++) {
		_cleanup_(timeline_clear) struct timeline t = {}, back = {};
		_cleanup_free_ char *text = NULL;
		struct value values[TIMELINE_SERIES];
		struct error err = {};
		uint64_t totals[TIMELINE_SERIES];

		live(&t, &d, totals);
		text = text_of(&t, true);
		ASSERT_OK(read_back(text, true, &back, &err));
		for (size_t k = 0; k < TIMELINE_SERIES; k++) {
			totals[k] += roll(&d, 1000);
			values[k] = (struct value){ totals[k], true };
		}
		ASSERT_OK(timeline_feed(&back, 0, back.last_boot_ns + 40 * SECOND, values));
		check_sums(&back, totals);
	}
}

static void refuse(const char *text, bool is_saved, const char *why)
{
	struct timeline t = {};
	struct error err = {};

	ASSERT_ERR(read_back(text, is_saved, &t, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, why);
	ASSERT(!t.series);
}

TEST(odd_timelines_are_refused_with_the_place)
{
	refuse("{\"start\":\"2026-09-21T14:13:21Z\",\"interval_seconds\":2,\"series\":{\"read."
	       "bytes\":"
	       "{\"values\":[1]}}}",
	       false, "is no multiple of the interval");
	refuse("{\"start\":\"2026-09-21T14:13:20Z\",\"interval_seconds\":3,\"series\":{}}", false,
	       "timeline.interval_seconds is no power of two");
	refuse("{\"start\":\"2026-09-21T14:13:20Z\",\"interval_seconds\":1,\"series\":{\"read."
	       "bytes\":"
	       "{\"values\":[1]},\"read.calls\":{\"values\":[1,2]}}}",
	       false, "timeline.series.read.calls.values has 2 entries and another series 1");
	refuse("{\"start\":\"2026-09-21T14:13:20Z\",\"interval_seconds\":1,\"series\":{\"read."
	       "bytes\":"
	       "{\"values\":[-1]}}}",
	       false, "timeline.series.read.bytes.values is out of range");
	refuse("{\"start\":\"2026-09-21T14:13:20Z\",\"interval_seconds\":1,\"series\":{}}", false,
	       "has no buckets");
	refuse("{\"start_ns\":0,\"last_ns\":900000000000,\"last_boot_ns\":0,\"interval_seconds\":"
	       "1}",
	       true, "ends where it cannot");
	refuse("{\"start_ns\":0,\"last_ns\":5000000000,\"last_boot_ns\":0,\"interval_seconds\":1,"
	       "\"series\":{\"read.bytes\":{\"runs\":[-1]}}}",
	       true, "is longer");
	refuse("{\"start_ns\":0,\"last_ns\":5000000000,\"last_boot_ns\":0,\"interval_seconds\":1,"
	       "\"series\":{\"read.bytes\":{\"runs\":[7,-5]}}}",
	       true, "is longer");
	refuse("{\"start_ns\":0,\"last_ns\":5000000000,\"last_boot_ns\":0,\"interval_seconds\":1,"
	       "\"series\":{\"read.bytes\":{\"runs\":[7,-3]}}}",
	       true, "is shorter");
	refuse("{\"start_ns\":0,\"last_ns\":5000000000,\"last_boot_ns\":0,\"interval_seconds\":1,"
	       "\"series\":{\"sheep\":{\"runs\":[7,-4]}}}",
	       true, "something else: 'sheep'");
}
