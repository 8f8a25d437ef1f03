/* SPDX-License-Identifier: MIT */
/* Intervals that are cut where jobs begin and end.  All times are made. */
#include "energy/node_energy.h"
#include "sources/machine.h"

#include <math.h>
#include <stdio.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "model/sample.h"
#include "model/snapshot.h"
#include "test.h"
#include "tree.h"

#define HISTORIES 3000
#define JOBS 5
#define MARKS 6
#define CORES 4
#define MS UINT64_C(1000000)
#define BEGIN (UINT64_C(1000) * MS) /* of the interval, by CLOCK_BOOTTIME */
#define LENGTH 10000 /* of it, in ms */

struct life { /* in ms of the interval */
	uint64_t from, until, cpu_ns, millicores;
	bool has_ended;
	uint64_t groupless; /* since when, of one that goes on; 0: it has a group */
};

struct history {
	struct life jobs[JOBS];
	size_t job_count;
	uint64_t at[MARKS + 1], uj[MARKS + 1]; /* what came until then; the last is the reading */
	size_t mark_count;
	uint64_t idle_uw;
};

static int open_root(const char *name)
{
	const int root = tree_open(name);

	tree_write(root, "proc/stat", "cpu  0 0 0 100 0 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\n");
	tree_write(root, "sys/devices/system/cpu/online", "0-3\n");
	return root;
}

static void read_package(struct energy_readings *to, const struct history *h, uint64_t ms,
			 uint64_t uj)
{
	const struct energy_reading one = {
		.sensor = { .source = "rapl",
			    .name = "package-0",
			    .level = ENERGY_COMPONENT,
			    .part = ENERGY_PACKAGE,
			    .idle_uw = h->idle_uw },
		.total = { .total_uj = 1000 + uj },
		.boot_ns = BEGIN + ms * MS,
	};

	ASSERT_OK(energy_readings_add(to, &one));
}

static void take(struct node_energy *e, const struct history *h, uint64_t ms, uint64_t uj,
		 struct snapshot_job *jobs, size_t count)
{
	_cleanup_(energy_readings_clear) struct energy_readings readings = {};
	struct snapshot s = { .boot_ns = BEGIN + ms * MS, .jobs = jobs, .job_count = count };

	read_package(&readings, h, ms, uj);
	ASSERT_OK(node_energy_take(e, &readings, &s));
	for (size_t i = 0; i < count; i++)
		parts_clear(&jobs[i].parts);
}

struct outcome {
	uint64_t uj[JOBS], idle_uj[JOBS], all; /* all: that owners have */
};

static uint64_t scraped(const struct node_energy *e, enum metric_id id, const char *label)
{
	_cleanup_(samples_clear) struct samples samples = {};
	const struct sample *found;

	ASSERT_OK(node_energy_put_samples(e, &samples));
	found = samples_find(&samples, id, label);
	ASSERT(found);
	return found->number;
}

static struct snapshot_job show(const struct life *life, struct job *job)
{
	struct snapshot_job shown = { .job = job, .is_live = !life->has_ended };

	job->start_boot_ns = BEGIN + life->from * MS;
	job->end_boot_ns = life->has_ended ? BEGIN + life->until * MS : 0;
	shown.groupless_ns = life->groupless ? BEGIN + life->groupless * MS : 0;
	shown.values[METRIC_CPU_USER] = (struct value){ life->cpu_ns, true };
	shown.values[METRIC_CPU_SYSTEM] = (struct value){ 0, true };
	shown.values[METRIC_CPU_ALLOCATED] = (struct value){ life->millicores, true };
	return shown;
}

/* @is_backward: jobs are shown in the other order. */
static struct outcome run(int root, const struct history *h, bool is_backward)
{
	static char *ids[JOBS] = { (char *)"2", (char *)"3", (char *)"5", (char *)"7",
				   (char *)"11" };
	static const char *const owners[] = { "jobs", "system", "idle", "unattributed" };
	struct snapshot_job shown[JOBS];
	struct job known[JOBS] = {};
	struct node_energy *e = NULL;
	struct outcome o = {};

	ASSERT_OK(node_energy_new(machine_for_energy(root), POLICY_ALLOCATED, &e));
	take(e, h, 0, 0, NULL, 0);
	for (size_t i = 0; i < h->mark_count; i++) {
		_cleanup_(energy_readings_clear) struct energy_readings readings = {};

		read_package(&readings, h, h->at[i], h->uj[i]);
		node_energy_mark(e, &readings);
	}
	for (size_t i = 0; i < h->job_count; i++) {
		const size_t of = is_backward ? h->job_count - 1 - i : i;

		known[i] = (struct job){ .manager = (char *)"slurm", .id = ids[of], .uid = 1000 };
		shown[i] = show(&h->jobs[of], &known[i]);
	}
	take(e, h, LENGTH, h->uj[h->mark_count], shown, h->job_count);
	for (size_t i = 0; i < h->job_count; i++) {
		const size_t of = is_backward ? h->job_count - 1 - i : i;

		o.uj[of] = shown[i].values[METRIC_ENERGY].number;
		o.idle_uj[of] = shown[i].values[METRIC_ENERGY_IDLE].number;
	}
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
		o.all += scraped(e, METRIC_NODE_ENERGY_OWNER, owners[i]);
	ASSERT_EQ(scraped(e, METRIC_NODE_ENERGY_UNBALANCED, NULL), UINT64_C(0));
	node_energy_free(e);
	return o;
}

/* ---- by hand ---- */

/* The first has 1 J in 4 s, the second 8 J in the 6 s behind it; both use as much CPU time. */
static struct history one_behind_the_other(void)
{
	return (struct history){
		.jobs = { { 0, 4000, 2000 * MS, 1000, true },
			  { 4000, LENGTH, 2000 * MS, 1000, false } },
		.job_count = 2,
		.at = { 4000, LENGTH },
		.uj = { 1000000, 9000000 },
		.mark_count = 1,
		.idle_uw = 1,
	};
}

TEST(each_of_two_that_follow_one_another_has_what_came_in_its_time)
{
	_cleanup_close_ int root = open_root("follow");
	struct history h = one_behind_the_other();
	struct outcome o = run(root, &h, false);

	ASSERT(o.uj[0] <= 1000000 && o.uj[0] + 20 > 1000000);
	ASSERT(o.uj[1] <= 8000000 && o.uj[1] + 20 > 8000000);

	h.uj[0] = h.uj[1]; /* without a mark both have half of it */
	h.mark_count = 0;
	o = run(root, &h, false);
	ASSERT(o.uj[0] <= 4500000 && o.uj[0] + 20 > 4500000);
	ASSERT(o.uj[1] <= 4500000 && o.uj[1] + 20 > 4500000);
}

/* A third is there all the time, and uses 3 s of CPU time: 1.2 s beside the first one's 2, 1.8 s
 * beside the second one's 2. */
TEST(who_is_there_all_the_time_works_evenly)
{
	_cleanup_close_ int root = open_root("evenly");
	struct history h = one_behind_the_other();
	struct outcome o;

	h.jobs[h.job_count++] = (struct life){ 0, LENGTH, 3000 * MS, 1000, false };
	o = run(root, &h, false);
	ASSERT(llabs((long long)o.uj[0] - 1000000LL * 20 / 32) < 20);
	ASSERT(llabs((long long)o.uj[1] - 8000000LL * 20 / 38) < 20);
	ASSERT(llabs((long long)o.uj[2] - (1000000LL * 12 / 32 + 8000000LL * 18 / 38)) < 20);
}

/* As a reading sees it that comes some seconds behind its end: it may go on. */
TEST(who_waits_for_its_next_group_does_nothing_meanwhile)
{
	_cleanup_close_ int root = open_root("groupless");
	struct history h = one_behind_the_other();
	struct outcome o;

	h.jobs[0].until = LENGTH;
	h.jobs[0].has_ended = false;
	h.jobs[0].groupless = 4000;
	o = run(root, &h, false);
	ASSERT(o.uj[0] <= 1000000 && o.uj[0] + 20 > 1000000);
	ASSERT(o.uj[1] <= 8000000 && o.uj[1] + 20 > 8000000);
}

/* 160 mW of idle power in 4 cores; each job has one of them. */
TEST(idle_power_is_charged_for_the_time_that_a_job_was_there)
{
	_cleanup_close_ int root = open_root("idle");
	struct history h = one_behind_the_other();
	struct outcome o;

	h.idle_uw = 160000;
	o = run(root, &h, false);
	ASSERT(llabs((long long)o.idle_uj[0] - 160000 * 4 / 4) < 20);
	ASSERT(llabs((long long)o.idle_uj[1] - 160000 * 6 / 4) < 20);
	ASSERT(llabs((long long)o.uj[0] - (1000000 - 160000 * 4 * 3 / 4)) < 20);
}

/* ---- histories ---- */

static struct history by_chance(void)
{
	struct history h = { .job_count = 1 + test_below(JOBS),
			     .mark_count = test_below(MARKS + 1) };
	uint64_t ms = 0, uj = 0;

	h.idle_uw = 1 + test_below(300000);
	for (size_t i = 0; i < h.mark_count; i++) {
		ms += test_below(LENGTH / MARKS); /* two may be of one moment */
		uj += test_below(3) ? test_below(2000000) : 0;
		h.at[i] = ms;
		h.uj[i] = uj;
	}
	h.at[h.mark_count] = LENGTH;
	h.uj[h.mark_count] = uj + test_below(5000000);
	for (size_t i = 0; i < h.job_count; i++) {
		struct life *j = &h.jobs[i];

		/* half of them at an edge, as they are told */
		j->from = h.mark_count && test_below(2) ? h.at[test_below(h.mark_count)]
							: test_below(LENGTH);
		j->has_ended = test_below(2);
		j->until = j->has_ended ? j->from + test_below(LENGTH - j->from + 1) : LENGTH;
		j->cpu_ns = test_below(4) && j->until > j->from ? test_below(4000) * MS : 0;
		j->millicores = test_below(2) ? 1000 * test_below(CORES + 1) : 0;
	}
	return h;
}

static double overlap(const struct life *j, uint64_t from, uint64_t until)
{
	const uint64_t begin = MAX(j->from, from), end = MIN(j->until, until);

	return end > begin ? (double)(end - begin) : 0;
}

static double work_in(const struct life *j, uint64_t from, uint64_t until)
{
	return j->until > j->from
		       ? (double)j->cpu_ns * overlap(j, from, until) / (double)(j->until - j->from)
		       : 0;
}

/* The same with fractions and without order, part by part. */
static double expected(const struct history *h, size_t job)
{
	uint64_t from = 0, before = 0;
	double sum = 0;

	for (size_t i = 0; i <= h->mark_count; i++) {
		const double ms = (double)(h->at[i] - from), uj = (double)(h->uj[i] - before),
			     idle = fmin((double)h->idle_uw * ms / 1000, uj);
		double work = 0, allocated = 0;

		if (h->at[i] <= from)
			continue;
		for (size_t k = 0; k < h->job_count; k++) {
			work += work_in(&h->jobs[k], from, h->at[i]);
			allocated += (double)h->jobs[k].millicores *
				     overlap(&h->jobs[k], from, h->at[i]);
		}
		allocated = fmax(allocated, CORES * 1000 * ms);
		if (work > 0)
			sum += (uj - idle) * work_in(&h->jobs[job], from, h->at[i]) / work;
		sum += idle * (double)h->jobs[job].millicores *
		       overlap(&h->jobs[job], from, h->at[i]) / allocated;
		from = h->at[i];
		before = h->uj[i];
	}
	return sum;
}

TEST(over_random_histories_sums_are_exact_and_shares_those_of_the_parts)
{
	_cleanup_close_ int root = open_root("random");

	for (size_t i = 0; i < HISTORIES; i++) {
		const struct history h = by_chance();
		const uint64_t came = h.uj[h.mark_count];
		const struct outcome o = run(root, &h, false), back = run(root, &h, true);

		/* less than two microjoules an owner wait for the next interval */
		ASSERT(o.all <= came && o.all + 2 * (JOBS + 3) > came);
		for (size_t k = 0; k < h.job_count; k++) {
			ASSERT(fabs((double)o.uj[k] - expected(&h, k)) < 50);
			ASSERT_EQ(o.uj[k], back.uj[k]); /* whoever is shown first */
			ASSERT_EQ(o.idle_uj[k], back.idle_uj[k]);
		}
	}
}

/* The energy came in parts in which it was not there. */
TEST(a_job_has_nothing_of_a_part_in_which_it_was_not_there)
{
	_cleanup_close_ int root = open_root("absent");

	for (size_t i = 0; i < HISTORIES; i++) {
		struct history h = by_chance();
		struct outcome o;

		h.mark_count = 2;
		h.at[0] = 2000 + test_below(2000);
		h.at[1] = h.at[0] + 1 + test_below(4000);
		h.at[2] = LENGTH;
		h.uj[0] = test_below(1000000);
		h.uj[1] = h.uj[0];
		h.uj[2] = h.uj[1] + test_below(1000000);
		h.jobs[0] = (struct life){ h.at[0], h.at[1], (1 + test_below(8000)) * MS, 4000,
					   true };
		o = run(root, &h, false);
		ASSERT(o.uj[0] <= 2 * (JOBS + 3)); /* what was left over of the part before */
		ASSERT(o.all <= h.uj[2] && o.all + 2 * (JOBS + 3) > h.uj[2]);
	}
}

TEST(more_marks_than_there_is_room_for_lose_no_energy)
{
	_cleanup_close_ int root = open_root("many");
	struct history h = one_behind_the_other();
	struct snapshot_job shown;
	struct job known = { .manager = (char *)"slurm", .id = (char *)"2", .uid = 1000 };
	struct node_energy *e = NULL;

	h.idle_uw = 1;
	ASSERT_OK(node_energy_new(machine_for_energy(root), POLICY_ALLOCATED, &e));
	take(e, &h, 0, 0, NULL, 0);
	for (uint64_t i = 1; i < 199; i++) {
		_cleanup_(energy_readings_clear) struct energy_readings readings = {};

		read_package(&readings, &h, i * 50, i * 1000);
		node_energy_mark(e, &readings);
	}
	shown = show(&(struct life){ 0, LENGTH, 977 * MS, 1000, false }, &known);
	take(e, &h, LENGTH, 200000, &shown, 1);
	ASSERT(shown.values[METRIC_ENERGY].number > 200000 - 1000);
	ASSERT_EQ(scraped(e, METRIC_NODE_ENERGY_UNBALANCED, NULL), UINT64_C(0));
	node_energy_free(e);
}
