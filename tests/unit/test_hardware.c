/* SPDX-License-Identifier: MIT */
#include "sources/hardware.h"

#include <errno.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "basic/cpulist.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "test.h"

/* ---- taking turns ---- */

TEST(one_that_always_counted_is_taken_as_it_is)
{
	struct hardware_counts t = {};

	hardware_counts_take(&t, 101, 1009, 1009);
	ASSERT_EQ(t.scaled, UINT64_C(101));
	hardware_counts_take(&t, 211, 2003, 2003);
	ASSERT_EQ(t.scaled, UINT64_C(211));
}

TEST(one_that_took_turns_is_scaled_by_the_share_of_its_time)
{
	struct hardware_counts t = {};

	hardware_counts_take(&t, 101, 4000, 1000);
	ASSERT_EQ(t.scaled, UINT64_C(404));
}

TEST(each_part_is_scaled_by_its_own_share)
{
	struct hardware_counts t = {};

	hardware_counts_take(&t, 100, 1000, 1000);
	hardware_counts_take(&t, 103, 4000, 2000); /* 3 in a third of the time */
	ASSERT_EQ(t.scaled, UINT64_C(109));
	hardware_counts_take(&t, 110, 5000, 3000);
	ASSERT_EQ(t.scaled, UINT64_C(116));
}

TEST(one_without_a_turn_waits_for_the_next)
{
	struct hardware_counts t = {};

	hardware_counts_take(&t, 100, 1000, 1000);
	hardware_counts_take(&t, 100, 7000, 1000);
	ASSERT_EQ(t.scaled, UINT64_C(100));
	ASSERT_EQ(t.enabled_ns, UINT64_C(1000));
	hardware_counts_take(&t, 107, 8000, 2000); /* 7 in a seventh of the time since its last turn
						    */
	ASSERT_EQ(t.scaled, UINT64_C(149));
}

TEST(what_falls_is_not_taken)
{
	struct hardware_counts t = {};

	hardware_counts_take(&t, 100, 1000, 1000);
	hardware_counts_take(&t, 99, 2000, 2000);
	hardware_counts_take(&t, 101, 999, 2000);
	hardware_counts_take(&t, 101, 2000, 999);
	ASSERT_EQ(t.scaled, UINT64_C(100));
	ASSERT_EQ(t.count, UINT64_C(100));
}

TEST(what_would_not_fit_stays_the_greatest)
{
	struct hardware_counts t = {};

	hardware_counts_take(&t, UINT64_MAX, UINT64_MAX, 1);
	ASSERT_EQ(t.scaled, VALUE_MAX);
	hardware_counts_take(&t, UINT64_MAX, UINT64_MAX, 2);
	ASSERT_EQ(t.scaled, VALUE_MAX);
}

/* ---- which events ---- */

static const struct hardware_event *find(const struct hardware_events *events,
					 enum metric_id metric, size_t skip)
{
	for (size_t i = 0; i < events->count; i++) {
		if (events->items[i].metric == metric && skip-- == 0)
			return &events->items[i];
	}
	return NULL;
}

static size_t count_of(const struct hardware_events *events, enum metric_id metric)
{
	size_t count = 0;

	while (find(events, metric, count))
		count++;
	return count;
}

TEST(a_processor_is_known_from_its_first_lines)
{
	struct processor p;

	processor_parse(
		"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon\n"
		"\nprocessor\t: 1\nvendor_id\t: AuthenticAMD\n",
		&p);
	ASSERT_STREQ(p.vendor, "GenuineIntel");
	ASSERT_EQ(p.family, 6u);
	ASSERT_EQ(p.model, 143u);
}

TEST(a_processor_that_does_not_say_is_none)
{
	static const char *const texts[] = {
		"",	      "vendor_id",
		"vendor_id:", "model\t: x\ncpu family\t: 99999999999999999999\n",
		"\n\n:\n",    "model name\t: 5\n",
	};
	struct processor p;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		processor_parse(texts[i], &p);
		ASSERT_STREQ(p.vendor, "");
		ASSERT_EQ(p.family, 0u);
		ASSERT_EQ(p.model, 0u);
	}
	processor_parse("vendor_id: AVeryLongNameOfAMaker\n", &p);
	ASSERT_STREQ(p.vendor, "AVeryLongNameOf");
}

TEST(every_processor_has_cycles_instructions_and_a_question_for_the_last_level)
{
	struct hardware_events events;

	hardware_events_of(&(struct processor){}, &events);
	ASSERT_EQ(events.count, UINT64_C(3));
	ASSERT_EQ(find(&events, METRIC_CPU_CYCLES, 0)->config, UINT64_C(0));
	ASSERT_EQ(find(&events, METRIC_CPU_INSTRUCTIONS, 0)->config, UINT64_C(1));
	ASSERT_EQ(find(&events, METRIC_CPU_LLC_MISSES, 0)->type, (unsigned int)PERF_TYPE_HW_CACHE);
	ASSERT(!find(&events, METRIC_CPU_FLOPS, 0));
}

TEST(intels_vectors_count_by_their_elements)
{
	static const uint64_t weights[] = { 1, 2, 4, 8, 16 },
			      masks[] = { 0x03, 0x04, 0x18, 0x60, 0x80 };
	struct hardware_events events;

	hardware_events_of(&(struct processor){ "GenuineIntel", 6, 0x8f }, &events);
	ASSERT_EQ(count_of(&events, METRIC_CPU_FLOPS), UINT64_C(5));
	for (size_t i = 0; i < ARRAY_SIZE(weights); i++) {
		ASSERT_EQ(find(&events, METRIC_CPU_FLOPS, i)->weight, weights[i]);
		ASSERT_EQ(find(&events, METRIC_CPU_FLOPS, i)->config, masks[i] << 8 | 0xc7);
	}
	ASSERT_EQ(find(&events, METRIC_CPU_LLC_MISSES, 0)->config,
		  (uint64_t)PERF_COUNT_HW_CACHE_MISSES);
	hardware_events_of(&(struct processor){ "GenuineIntel", 6, 0x4f }, &events);
	ASSERT_EQ(count_of(&events, METRIC_CPU_FLOPS), UINT64_C(4)); /* no vectors of 512 bits */
	hardware_events_of(&(struct processor){ "GenuineIntel", 6, 0x97 }, &events); /* hybrid */
	ASSERT_EQ(count_of(&events, METRIC_CPU_FLOPS), UINT64_C(0));
	hardware_events_of(&(struct processor){ "GenuineIntel", 15, 0x8f }, &events);
	ASSERT_EQ(count_of(&events, METRIC_CPU_FLOPS), UINT64_C(0));
}

TEST(amds_operations_are_counted_where_they_are_documented)
{
	struct hardware_events events;

	hardware_events_of(&(struct processor){ "AuthenticAMD", 0x17, 0x31 }, &events);
	ASSERT_EQ(find(&events, METRIC_CPU_FLOPS, 0)->config, UINT64_C(0xff03));
	hardware_events_of(&(struct processor){ "AuthenticAMD", 0x19, 0x11 }, &events);
	ASSERT_EQ(find(&events, METRIC_CPU_FLOPS, 0)->config, UINT64_C(0x0f03));
	/* the generic event would be misses of level 2 */
	ASSERT_EQ(find(&events, METRIC_CPU_LLC_MISSES, 0)->type, (unsigned int)PERF_TYPE_HW_CACHE);
	hardware_events_of(&(struct processor){ "AuthenticAMD", 0x15, 0x02 }, &events);
	ASSERT(!find(&events, METRIC_CPU_FLOPS, 0));
}

/* ---- what cannot be opened ---- */

TEST(events_that_no_machine_has_are_told)
{
	const struct hardware_events events = {
		{ { METRIC_CPU_CYCLES, PERF_TYPE_SOFTWARE, 4711, 1 } }, 1
	};
	struct hardware *h = NULL;
	struct error err = {};

	ASSERT_ERR(hardware_open_process(&events, getpid(), false, &h, &err), -ENODEV);
	ASSERT_STREQ(err.text, "not offered by this machine");
	ASSERT(!h);
}

TEST(a_group_of_more_cpus_than_there_are_descriptors_for_is_refused)
{
	const struct hardware_events events = {
		{ { METRIC_CPU_CYCLES, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1 } }, 1
	};
	struct cpulist cpus = {};
	struct hardware *h = NULL;
	struct error err = {};

	for (unsigned int cpu = 0; cpu < 7; cpu++)
		cpulist_set(&cpus, cpu);
	ASSERT_ERR(hardware_open_group(&events, -1, &cpus, 6, &h, &err), -E2BIG);
	ASSERT_CONTAINS(err.text, "7 descriptors");
	ASSERT(!h);
}

/* The machine's own counters, through the road that tests of counts take with software's. */
TEST(cycles_are_counted_or_told_as_absent)
{
	struct hardware_events events;
	struct value values[METRIC_JOB_COUNT] = {};
	struct hardware *h = NULL;
	struct error err = {};

	hardware_events_of(&(struct processor){}, &events);
	if (hardware_open_process(&events, getpid(), false, &h, &err) < 0) {
		ASSERT(*err.text);
		return;
	}
	hardware_read(h, values);
	ASSERT(values[METRIC_CPU_CYCLES].is_known && values[METRIC_CPU_CYCLES].number > 0);
	hardware_close(h);
}
