/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "made.h"
#include "model/record.h"
#include "test.h"

/* The same job some seconds later: 3 more reads of 1009 bytes on /scratch. */
static struct record *made_later(void)
{
	struct record *r = made_record(0);
	struct mount_row *row = reading_find_mount(&r->reading, ROW_MOUNT, "/scratch", "lustre");

	r->time.elapsed_ns += 17000000000;
	r->time.end_ns = 0;
	r->reading.values[METRIC_CPU_USER].number += 23;
	r->reading.values[METRIC_IO_CHARS_READ].number += 3 * 1009;
	row->ops[OP_READ].calls += 3;
	row->ops[OP_READ].bytes += 3 * 1009;
	row->ops[OP_READ].ns += 41;
	row->sizes[OP_READ].counts[10] += 3;
	row->latencies[OP_READ].counts[2] += 3;
	return r;
}

static struct record *made_earlier(void)
{
	struct record *r = made_record(0);

	r->time.end_ns = 0;
	return r;
}

static struct record *subtract(const struct record *later, const struct record *earlier)
{
	struct record *difference = NULL;
	struct error err = {};

	ASSERT_OK(record_subtract(later, earlier, &difference, &err));
	return difference;
}

TEST(what_was_done_in_between_is_left)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier();
	_cleanup_(record_freep) struct record *d = subtract(later, earlier);
	struct mount_row *row = &d->reading.mounts[0];

	ASSERT_EQ(d->reading.values[METRIC_CPU_USER].number, (uint64_t)23);
	ASSERT_EQ(d->reading.values[METRIC_CPU_SYSTEM].number, (uint64_t)0);
	ASSERT(d->reading.values[METRIC_CPU_SYSTEM].is_known);
	ASSERT_EQ(d->reading.mount_count, 1);
	ASSERT_STREQ(row->mount, "/scratch");
	ASSERT_EQ(row->ops[OP_READ].calls, (uint64_t)3);
	ASSERT_EQ(row->ops[OP_READ].bytes, (uint64_t)3 * 1009);
	ASSERT_EQ(row->ops[OP_READ].ns, (uint64_t)41);
	ASSERT_EQ(row->ops[OP_OPEN].calls, (uint64_t)0);
	ASSERT_EQ(row->sizes[OP_READ].counts[10], (uint64_t)3);
	ASSERT_EQ(row->sizes[OP_READ].counts[13], (uint64_t)0);
	ASSERT_EQ(row->latencies[OP_READ].counts[2], (uint64_t)3);
	ASSERT_STREQ(row->aliases[0], "/work");
}

TEST(a_timeline_begins_where_the_earlier_one_ended)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier(), *d;
	struct value values[TIMELINE_SERIES];
	size_t series = timeline_find("read", "bytes");
	uint64_t start_ns = 1790000000000000000, second = 1000000000;

	timeline_values(&earlier->reading, NULL, values);
	ASSERT_OK(timeline_begin(&earlier->timeline, start_ns, 0));
	ASSERT_OK(timeline_feed(&earlier->timeline, 0, 7 * second, values));
	ASSERT_OK(timeline_copy(&later->timeline, &earlier->timeline));
	timeline_values(&later->reading, NULL, values);
	ASSERT_OK(timeline_feed(&later->timeline, 0, 10 * second, values));
	d = subtract(later, earlier);
	ASSERT_EQ(timeline_sum(&d->timeline, series), (uint64_t)3 * 1009);
	ASSERT_EQ(d->timeline.start_ns, start_ns + 6 * second);
	ASSERT_EQ(timeline_count(&d->timeline), (size_t)4);
	record_free(d);
	timeline_clear(&earlier->timeline); /* an older agent's */
	d = subtract(later, earlier);
	ASSERT_EQ(timeline_count(&d->timeline), (size_t)0);
}

TEST(time_is_that_in_between_and_the_accounting_are_its_own)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier();
	_cleanup_(record_freep) struct record *d = subtract(later, earlier);

	ASSERT_EQ(d->time.elapsed_ns, (uint64_t)17000000000);
	ASSERT_EQ(d->time.start_ns, later->time.start_ns);
	ASSERT_EQ(d->time.measured_from_ns, earlier->time.start_ns + earlier->time.elapsed_ns);
	ASSERT(d->coverage.read_accounting.is_known);
	ASSERT_EQ(d->coverage.read_accounting.tasks_bytes, (uint64_t)3 * 1009);
	ASSERT_EQ(accounting_difference(&d->coverage.read_accounting), 0);
	ASSERT_STREQ(d->job.command[0], "./train.sh");
}

TEST(a_row_that_began_in_between_stays_as_it_is)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier();
	struct mount_row *row = reading_get_mount(&later->reading, ROW_MOUNT, "/new", "tmpfs");

	row->has_seconds = true;
	row->ops[OP_WRITE] = (struct op_counts){ .calls = 7, .bytes = 7919 };
	_cleanup_(record_freep) struct record *d = subtract(later, earlier);
	row = reading_find_mount(&d->reading, ROW_MOUNT, "/new", "tmpfs");
	ASSERT(row);
	ASSERT_EQ(row->ops[OP_WRITE].bytes, (uint64_t)7919);
	ASSERT(row->has_seconds && !row->has_histograms);
	ASSERT_EQ(d->reading.mount_count, 2);
	ASSERT_STREQ(d->reading.mounts[0].mount, "/new"); /* more bytes */
}

TEST(a_row_that_is_gone_is_said)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier();
	struct mount_row *row = reading_get_mount(&earlier->reading, ROW_MOUNT, "/gone", "tmpfs");

	row->ops[OP_STAT].calls = 1;
	_cleanup_(record_freep) struct record *d = subtract(later, earlier);
	ASSERT(!reading_find_mount(&d->reading, ROW_MOUNT, "/gone", "tmpfs"));
	ASSERT_EQ(d->coverage.notes.count, 2); /* and that of the peak */
	ASSERT_CONTAINS(d->coverage.notes.items[1], "/gone fell meanwhile");
}

TEST(what_one_side_does_not_know_is_unknown)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier();

	earlier->reading.values[METRIC_CPU_USER].is_known = false;
	later->reading.values[METRIC_CPU_SYSTEM].is_known = false;
	earlier->reading.mounts[0].has_seconds = false;
	_cleanup_(record_freep) struct record *d = subtract(later, earlier);
	ASSERT(!d->reading.values[METRIC_CPU_USER].is_known);
	ASSERT(!d->reading.values[METRIC_CPU_SYSTEM].is_known);
	ASSERT(!d->reading.mounts[0].has_seconds);
	ASSERT(d->reading.mounts[0].has_histograms);
}

TEST(without_rows_on_one_side_there_are_none)
{
	for (int side = 0; side < 2; side++) {
		_cleanup_(record_freep) struct record *later = made_later(),
						      *earlier = made_earlier();
		struct record *bare = side ? later : earlier;
		struct reading values = {};

		memcpy(values.values, bare->reading.values, sizeof(values.values));
		reading_clear(&bare->reading);
		bare->reading = values;
		_cleanup_(record_freep) struct record *d = subtract(later, earlier);
		ASSERT(!d->reading.has_mounts);
		ASSERT_EQ(d->reading.mount_count, 0);
		ASSERT(!d->coverage.read_accounting.is_known);
		ASSERT_EQ(d->reading.values[METRIC_CPU_USER].number, (uint64_t)23);
	}
}

TEST(what_fell_is_unknown_and_said)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier();

	later->reading.values[METRIC_CPU_SYSTEM].number = 1;
	later->reading.mounts[0].ops[OP_OPEN].calls = 1;
	_cleanup_(record_freep) struct record *d = subtract(later, earlier);
	ASSERT(!d->reading.values[METRIC_CPU_SYSTEM].is_known);
	ASSERT_EQ(d->reading.mounts[0].ops[OP_OPEN].calls, (uint64_t)0);
	ASSERT_EQ(d->coverage.notes.count, 3);
	ASSERT_CONTAINS(d->coverage.notes.items[0],
			"jobmeter_job_cpu_seconds_total fell meanwhile");
}

TEST(a_peak_that_did_not_rise_is_labelled)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier();
	_cleanup_(record_freep) struct record *d = subtract(later, earlier);

	ASSERT_EQ(d->reading.values[METRIC_MEMORY_PEAK].number, UINT64_C(3328599654));
	ASSERT_EQ(d->coverage.notes.count, 1);
	ASSERT_STREQ(d->coverage.notes.items[0],
		     "memory.peak_bytes, 3.1 GiB, is from before: since then it was no higher");
	later->reading.values[METRIC_MEMORY_PEAK].number++;
	_cleanup_(record_freep) struct record *risen = subtract(later, earlier);
	ASSERT_EQ(risen->coverage.notes.count, 0);
}

TEST(another_job_is_no_later_record_of_this_one)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier(),
					      *d = NULL;
	struct error err = {};

	later->time.start_ns++;
	ASSERT_ERR(record_subtract(later, earlier, &d, &err), -ESTALE);
	ASSERT_STREQ(err.text, "that is another job by now");
	later->time.start_ns--;
	later->job.id = strdup("8");
	ASSERT_ERR(record_subtract(later, earlier, &d, &err), -ESTALE);
	ASSERT(!d);
}

/* ---- steps ---- */

static struct step *add_step(struct record *r, const char *id, uint64_t user_ns,
			     uint64_t peak_bytes)
{
	struct step *step = steps_add(&r->steps, id);

	step->values[METRIC_CPU_USER] = (struct value){ user_ns, true };
	step->values[METRIC_MEMORY_PEAK] = (struct value){ peak_bytes, true };
	step->values[METRIC_TASKS_LIVE] = (struct value){ 13, true };
	step->network = (struct network){ .is_known = true, .numbers = { user_ns / 7 } };
	return step;
}

TEST(steps_have_what_they_did_in_between)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier(), *d;
	const struct step *step;

	add_step(earlier, "0", 7 * 1009, 4096);
	add_step(later, "0", 7 * 2017, 8192);
	add_step(later, "1", 7 * 11, 4096);
	d = subtract(later, earlier);
	step = steps_find(&d->steps, "0");
	ASSERT_EQ(step->values[METRIC_CPU_USER].number, (uint64_t)7 * 1008);
	ASSERT_EQ(step->network.numbers[0], (uint64_t)1008);
	ASSERT_EQ(step->values[METRIC_MEMORY_PEAK].number, (uint64_t)8192);
	ASSERT_EQ(step->values[METRIC_TASKS_LIVE].number, (uint64_t)13);
	step = steps_find(&d->steps, "1"); /* began meanwhile */
	ASSERT_EQ(step->values[METRIC_CPU_USER].number, (uint64_t)7 * 11);
	ASSERT_EQ(step->network.numbers[0], (uint64_t)11);
	ASSERT(step->values[METRIC_MEMORY_PEAK].is_known);
}

TEST(a_step_that_had_ended_before_is_none_of_this_time)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier(), *d;

	add_step(earlier, "0", 7, 4096)->end_ns = 1790000000000000001;
	add_step(later, "0", 7, 4096)->end_ns = 1790000000000000001;
	add_step(earlier, "1", 7, 4096);
	add_step(later, "1", 14, 4096)->end_ns = 1790000000000000007;
	d = subtract(later, earlier);
	ASSERT(!steps_find(&d->steps, "0"));
	ASSERT_EQ(steps_find(&d->steps, "1")->values[METRIC_CPU_USER].number, (uint64_t)7);
	ASSERT_EQ(d->steps.count, (size_t)1);
}

TEST(what_is_not_known_of_a_step_in_between_is_unknown)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier(), *d;
	const struct step *step;

	add_step(earlier, "0", 7 * 1009, 4096);
	add_step(later, "0", 7 * 1008, 4096);
	add_step(earlier, "gone", 7, 4096);
	d = subtract(later, earlier);
	step = steps_find(&d->steps, "0");
	ASSERT(!step->values[METRIC_CPU_USER].is_known && !step->network.is_known);
	ASSERT(!step->values[METRIC_MEMORY_PEAK].is_known); /* reached before: nobody knows how high
							       it was meanwhile */
	ASSERT_EQ(d->coverage.notes.count, 3); /* and that of the job's peak */
	ASSERT_CONTAINS(d->coverage.notes.items[1],
			"step 0's jobmeter_job_cpu_seconds_total fell meanwhile");
	ASSERT_CONTAINS(d->coverage.notes.items[2], "step gone fell meanwhile");
}

TEST(samples_of_frequency_are_those_in_between_where_none_was_before)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier();

	later->thermal = thermal_samples_of(&(struct thermal_sums){ .samples = 3,
								    .frequency_samples = 3,
								    .frequency_sum_hz = 21,
								    .frequency_min_hz = 5 });
	earlier->thermal = (struct thermal_samples){};
	_cleanup_(record_freep) struct record *d = subtract(later, earlier);
	ASSERT_EQ(d->thermal.frequency_hz.number, (uint64_t)7);
	earlier->thermal = thermal_samples_of(&(struct thermal_sums){ .samples = 1 });
	_cleanup_(record_freep) struct record *unknown = subtract(later, earlier);
	ASSERT(!unknown->thermal.samples.is_known && !unknown->thermal.frequency_hz.is_known);
}

TEST(which_cpus_were_used_meanwhile_is_not_known_where_some_were_used_before)
{
	_cleanup_(record_freep) struct record *later = made_later(), *earlier = made_earlier();
	_cleanup_(record_freep) struct record *first = NULL, *d = NULL;

	later->job.cpus_used = strdup("0-1");
	later->job.numa_used = strdup("0");
	first = subtract(later, earlier);
	ASSERT_STREQ(first->job.cpus_used, "0-1");
	earlier->job.cpus_used = strdup("0");
	d = subtract(later, earlier);
	ASSERT(!d->job.cpus_used && !d->job.numa_used);
	ASSERT_STREQ(d->job.cpus_allowed, later->job.cpus_allowed);
}
