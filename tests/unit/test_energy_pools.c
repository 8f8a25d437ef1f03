/* SPDX-License-Identifier: MIT */
/*
 * Sensors that come late, fall silent, come back, see a part of the node alone or were made of
 * other powers before.  All readings and times are made: 10 s apart, but where a test says so.
 */
#include "energy/node_energy.h"
#include "sources/machine.h"

#include <stdio.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/sections/job_gpus.h"
#include "model/sample.h"
#include "model/snapshot.h"
#include "test.h"
#include "tree.h"

#define SECOND UINT64_C(1000000000)
#define JOULE UINT64_C(1000000)
#define BEGIN (100 * SECOND)
#define JOBS_MAX 4
#define BOOT "b0010000-0000-4000-8000-000000000001"

struct scene {
	int root_fd;
	struct node_energy *energy;
	struct energy_readings readings; /* of the reading that is made */
	struct job jobs[JOBS_MAX];
	struct snapshot_job shown[JOBS_MAX];
	size_t count;
	uint64_t busy_ns;
};

static struct scene open_scene(const char *name, uint64_t memory_kib)
{
	struct scene s = { .root_fd = tree_open(name) };
	char text[64];

	snprintf(text, sizeof(text), "MemTotal: %llu kB\n", (unsigned long long)memory_kib);
	tree_write(s.root_fd, "proc/meminfo", text);
	tree_write(s.root_fd, "proc/stat", "cpu  0 0 0 100 0 0 0 0 0 0\n");
	tree_write(s.root_fd, "sys/devices/system/cpu/online", "0-3\n");
	ASSERT_OK(node_energy_new(machine_for_energy(s.root_fd), POLICY_ALLOCATED, &s.energy));
	return s;
}

static void close_scene(struct scene *s)
{
	node_energy_free(s->energy);
	energy_readings_clear(&s->readings);
	close(s->root_fd);
}

static size_t add_job(struct scene *s, const char *id, uint64_t at_s, uint64_t millicores)
{
	const size_t i = s->count++;

	s->jobs[i] = (struct job){ .manager = (char *)"slurm",
				   .id = (char *)id,
				   .start_boot_ns = BEGIN + at_s * SECOND };
	s->shown[i] = (struct snapshot_job){ .job = &s->jobs[i], .is_live = true };
	s->shown[i].values[METRIC_CPU_USER] = (struct value){ 0, true };
	s->shown[i].values[METRIC_CPU_SYSTEM] = (struct value){ 0, true };
	s->shown[i].values[METRIC_CPU_ALLOCATED] = (struct value){ millicores, true };
	return i;
}

static void work(struct scene *s, size_t job, uint64_t ns)
{
	char text[64];

	s->shown[job].values[METRIC_CPU_USER].number += ns;
	s->busy_ns += ns;
	snprintf(text, sizeof(text), "cpu  %llu 0 0 100 0 0 0 0 0 0\n",
		 (unsigned long long)(s->busy_ns / 10000000));
	tree_write(s->root_fd, "proc/stat", text);
}

static struct energy_reading dcmi(uint64_t at_s, uint64_t joules)
{
	return (struct energy_reading){ .sensor = { .source = "dcmi",
						    .name = "node",
						    .level = ENERGY_NODE,
						    .rank = 30,
						    .idle_uw = 100 * JOULE },
					.total = { .total_uj = joules * JOULE },
					.boot_ns = BEGIN + at_s * SECOND };
}

static struct energy_reading component(const char *source, enum energy_part part, uint64_t at_s,
				       uint64_t joules)
{
	return (struct energy_reading){ .sensor = { .source = source,
						    .name = "one",
						    .level = ENERGY_COMPONENT,
						    .part = part,
						    .rank = 10,
						    .idle_uw = 10 * JOULE },
					.total = { .total_uj = joules * JOULE },
					.boot_ns = BEGIN + at_s * SECOND };
}

static struct energy_reading estimate(uint64_t at_s, uint64_t raw_joules, uint64_t joules)
{
	return (struct energy_reading){
		.sensor = { .source = "specpower",
			    .name = "epyc",
			    .level = ENERGY_NODE,
			    .quality = ENERGY_ESTIMATED,
			    .rank = 90,
			    .idle_uw = 100 * JOULE,
			    .max_uw = 200 * JOULE },
		.total = { .total_uj = joules * JOULE,
			   .has_raw = true,
			   .raw_uj = raw_joules * JOULE },
		.boot_ns = BEGIN + at_s * SECOND,
	};
}

static void say(struct scene *s, struct energy_reading one)
{
	ASSERT_OK(energy_readings_add(&s->readings, &one));
}

static void take(struct scene *s, uint64_t at_s)
{
	struct snapshot snapshot = { .boot_ns = BEGIN + at_s * SECOND,
				     .jobs = s->shown,
				     .job_count = s->count };

	ASSERT_OK(node_energy_take(s->energy, &s->readings, &snapshot));
	energy_readings_clear(&s->readings);
	for (size_t i = 0; i < s->count; i++)
		parts_clear(&s->shown[i].parts);
}

/* In joules, rounded. */
static uint64_t joules_of(const struct scene *s, size_t job)
{
	return (s->shown[job].values[METRIC_ENERGY].number + JOULE / 2) / JOULE;
}

static uint64_t owner(const struct scene *s, const char *name)
{
	_cleanup_(samples_clear) struct samples samples = {};
	const struct sample *found;

	ASSERT_OK(node_energy_put_samples(s->energy, &samples));
	found = samples_find(&samples, METRIC_NODE_ENERGY_UNBALANCED, NULL);
	ASSERT(found);
	ASSERT_EQ(found->number, UINT64_C(0));
	found = samples_find(&samples, METRIC_NODE_ENERGY_OWNER, name);
	ASSERT(found);
	return (found->number + JOULE / 2) / JOULE;
}

static uint64_t all_owners(const struct scene *s)
{
	return owner(s, "jobs") + owner(s, "system") + owner(s, "idle") + owner(s, "unattributed");
}

static size_t state_length(struct scene *s)
{
	_cleanup_free_ char *state = NULL;
	size_t length = 0;

	ASSERT_OK(node_energy_format_state(s->energy, BOOT, &state, &length));
	return length;
}

/* ---- jobs that are over ---- */

TEST(without_a_sensor_of_the_node_jobs_that_ended_are_forgotten)
{
	_cleanup_(close_scene) struct scene s = open_scene("forgotten", 1 << 20);
	size_t few = 0;

	for (uint64_t i = 0; i < 200; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%llu", 1000 + (unsigned long long)i);
		s.count = 0;
		work(&s, add_job(&s, id, 10 * i, 1000), SECOND);
		say(&s, component("rapl", ENERGY_PACKAGE, 10 * i, 500 * i));
		take(&s, 10 * i);
		if (i == 10)
			few = state_length(&s);
	}
	ASSERT(state_length(&s) < few + 64); /* numbers are longer, and there are no more of them */
	ASSERT_EQ(all_owners(&s), UINT64_C(500) * 199);
}

/* ---- one that answers late ---- */

TEST(energy_that_is_told_late_is_theirs_who_worked_then)
{
	_cleanup_(close_scene) struct scene s = open_scene("late", 1 << 20);
	size_t x, y;

	say(&s, dcmi(0, 0));
	take(&s, 0);
	x = add_job(&s, "x", 0, 4000);
	say(&s, dcmi(1, 100)); /* asked at 0, a second ago */
	work(&s, x, 40 * SECOND);
	take(&s, 10);
	y = add_job(&s, "y", 10, 4000);
	s.jobs[x].end_boot_ns = BEGIN + 10 * SECOND;
	s.shown[x].is_live = false;
	work(&s, y, SECOND / 10);
	say(&s, dcmi(11, 100 + 9 * 500 + 100)); /* of 1 s to 11 s: 500 W until 10 s, then 100 W */
	take(&s, 20);
	ASSERT(joules_of(&s, x) > 4500 && joules_of(&s, x) <= 4700);
	ASSERT(joules_of(&s, y) < 150);
	ASSERT_EQ(all_owners(&s), UINT64_C(4700));

	/* What it did after the last answer is divided with the next, though it is shown no more.
	 */
	s.shown[0] = s.shown[1];
	s.count = 1;
	say(&s, dcmi(21, 4700 + 1000));
	take(&s, 30);
	ASSERT_EQ(all_owners(&s), UINT64_C(5700));
}

/* ---- one that falls silent ---- */

TEST(what_a_sensor_tells_after_a_short_silence_is_counted_once)
{
	_cleanup_(close_scene) struct scene s = open_scene("silence", 1 << 20);
	size_t job = 0;

	for (uint64_t at = 0; at <= 90; at += 10) {
		if (at == 10)
			job = add_job(&s, "7", 10, 4000);
		if (at >= 10)
			work(&s, job, SECOND);
		if (at < 40 || at > 60)
			say(&s, dcmi(at, 200 * at));
		say(&s, estimate(at, 120 * at, 120 * at));
		take(&s, at);
	}
	ASSERT_EQ(all_owners(&s), UINT64_C(18000));
}

TEST(after_a_long_silence_the_estimate_was_in_its_place)
{
	_cleanup_(close_scene) struct scene s = open_scene("long-silence", 1 << 20);

	for (uint64_t at = 0; at <= 200; at += 10) {
		if (at < 40 || at > 150)
			say(&s, dcmi(at, 200 * at));
		say(&s, estimate(at, 120 * at, 120 * at));
		take(&s, at);
	}
	/* 200 W until 30 s; from 100 s to 150 s the estimate; from 160 s on 200 W */
	ASSERT_EQ(all_owners(&s), UINT64_C(6000) + 5 * 1200 + 4 * 2000);
}

TEST(beside_components_the_node_s_sensor_may_miss_a_reading)
{
	_cleanup_(close_scene) struct scene s = open_scene("missed", 1 << 20);

	for (uint64_t at = 0; at <= 60; at += 10) {
		say(&s, component("rapl", ENERGY_PACKAGE, at, 100 * at));
		if (at != 30)
			say(&s, dcmi(at, 200 * at));
		take(&s, at);
	}
	ASSERT_EQ(all_owners(&s), UINT64_C(12000));
}

/* ---- an estimate that is made of other powers ---- */

static uint64_t after_restart(const char *name, const char *next_name, uint64_t raw_joules)
{
	struct scene s = open_scene(name, 1 << 20), next = open_scene(next_name, 1 << 20);
	_cleanup_free_ char *state = NULL;
	struct error err = {};
	size_t length;
	uint64_t all;

	say(&s, estimate(0, 1000000, 0));
	take(&s, 0);
	say(&s, estimate(10, 1001000, 1000));
	take(&s, 10);
	ASSERT_OK(node_energy_format_state(s.energy, BOOT, &state, &length));
	ASSERT_OK(node_energy_parse_state(next.energy, BOOT, state, length, &err));
	say(&next, estimate(30, raw_joules, 0));
	take(&next, 30);
	say(&next, estimate(40, raw_joules + 1000, 1000));
	take(&next, 40);
	all = all_owners(&next);
	close_scene(&s);
	close_scene(&next);
	return all;
}

TEST(an_estimate_goes_on_after_a_restart_unless_it_is_of_another_server)
{
	ASSERT_EQ(after_restart("server", "same-server", 1003000), UINT64_C(4000));
	ASSERT_EQ(after_restart("one", "another", 2000000), UINT64_C(2000));
}

/* ---- a sensor of GPUs alone ---- */

TEST(a_sensor_of_gpus_alone_hides_no_estimate)
{
	_cleanup_(close_scene) struct scene s = open_scene("gpu", 1 << 20);
	size_t job = 0;

	for (uint64_t at = 0; at <= 10; at += 10) {
		if (at) {
			job = add_job(&s, "7", 0, 4000);
			work(&s, job, 20 * SECOND);
		}
		say(&s, component("hwmon", ENERGY_GPU, at, 100 * at));
		say(&s, estimate(at, 150 * at, 150 * at));
		take(&s, at);
	}
	ASSERT_EQ(joules_of(&s, job), UINT64_C(1500));
	ASSERT_EQ(owner(&s, "unattributed"), UINT64_C(1000));
}

TEST(beside_gpus_the_rest_of_the_node_is_divided_by_work)
{
	_cleanup_(close_scene) struct scene s = open_scene("gpu-node", 1 << 20);
	size_t job = 0;

	for (uint64_t at = 0; at <= 20; at += 10) {
		if (at == 10)
			job = add_job(&s, "7", 0, 4000);
		if (at)
			work(&s, job, 20 * SECOND);
		say(&s, component("hwmon", ENERGY_GPU, at, 100 * at));
		say(&s, dcmi(at, 500 * at));
		take(&s, at);
	}
	ASSERT_EQ(joules_of(&s, job), UINT64_C(8000));
	ASSERT_EQ(owner(&s, "unattributed"), UINT64_C(2000));
}

/* What it has had of a card by now. */
static void hold(struct scene *s, size_t job, uint64_t joules)
{
	struct job_gpus g = { .is_known = true };

	job_gpu_add(job_gpus_get(&g, "GPU-1", "0", "H100"), METRIC_GPU_ENERGY, joules * JOULE);
	ASSERT_OK(parts_put(&s->shown[job].parts, &gpu_section, &g));
}

TEST(the_energy_of_gpus_goes_to_who_held_them)
{
	_cleanup_(close_scene) struct scene s = open_scene("gpu-held", 1 << 20);
	size_t a = 0, b = 0;

	say(&s, component("nvml", ENERGY_GPU, 0, 0));
	take(&s, 0);
	a = add_job(&s, "7", 0, 4000);
	b = add_job(&s, "9", 0, 1000);
	work(&s, b, 20 * SECOND); /* which says nothing of cards */
	hold(&s, a, 600);
	hold(&s, b, 100);
	say(&s, component("nvml", ENERGY_GPU, 8, 1000)); /* its sample ended before the reading */
	s.readings.unheld_uj = 250 * JOULE;
	take(&s, 10);
	ASSERT_EQ(joules_of(&s, a), UINT64_C(600));
	ASSERT_EQ(joules_of(&s, b), UINT64_C(100));
	ASSERT_EQ(owner(&s, "idle"), UINT64_C(250));
	ASSERT_EQ(owner(&s, "unattributed"), UINT64_C(50));

	/* another sensor, that says less: all have their part of it */
	hold(&s, a, 600 + 300);
	say(&s, component("nvml", ENERGY_GPU, 18, 1000 + 150));
	s.readings.unheld_uj = 250 * JOULE;
	take(&s, 20);
	ASSERT_EQ(joules_of(&s, a), UINT64_C(750));
	ASSERT_EQ(owner(&s, "unattributed"), UINT64_C(50));
	parts_clear(&s.shown[a].parts);
	parts_clear(&s.shown[b].parts);
}

/* One that counts on while no agent is there, and was opened at @from_joules. */
static struct energy_reading opened(struct energy_reading r, uint64_t from_joules)
{
	r.total.has_raw = true;
	r.total.raw_uj = r.total.total_uj;
	r.total.total_uj -= from_joules * JOULE;
	return r;
}

/* What jobs that are gone had of the GPUs is none of the node's rest. */
static uint64_t rest_after_a_job(const char *name, bool restarts)
{
	struct scene s = open_scene(name, 1 << 20);
	_cleanup_free_ char *state = NULL;
	struct error err = {};
	uint64_t all, from = 0;
	size_t length;

	for (uint64_t at = 0; at <= 50; at += 10) {
		if (at == 10)
			hold(&s, add_job(&s, "7", 10, 0), 600);
		if (at == 20)
			s.count = 0;
		say(&s, opened(component("hwmon", ENERGY_GPU, at, 100 * at), from * 100));
		if (at == 0 || at == 50)
			say(&s, opened(dcmi(at, 300 * at), from * 300));
		take(&s, at);
		if (at == 40 && restarts) {
			struct scene next = open_scene("rest-next", 1 << 20);

			ASSERT_OK(node_energy_format_state(s.energy, BOOT, &state, &length));
			ASSERT_OK(node_energy_parse_state(next.energy, BOOT, state, length, &err));
			close_scene(&s);
			s = next;
			from = 50;
		}
	}
	all = all_owners(&s);
	close_scene(&s);
	return all;
}

TEST(a_restart_changes_no_rest_of_a_node_whose_jobs_are_gone)
{
	ASSERT_EQ(rest_after_a_job("rest-one", false), UINT64_C(15000));
	ASSERT_EQ(rest_after_a_job("rest-two", true), UINT64_C(15000));
}

/* ---- much memory ---- */

TEST(two_tebibytes_of_memory_are_not_taken_for_few)
{
	_cleanup_(close_scene) struct scene s = open_scene("memory", UINT64_C(2) << 30);
	size_t job = 0;

	for (uint64_t at = 0; at <= 10; at += 10) {
		if (at) {
			job = add_job(&s, "7", 0, 1000);
			s.shown[job].values[METRIC_MEMORY_LIMIT] =
				(struct value){ UINT64_C(20) << 30, true };
		}
		say(&s, component("rapl", ENERGY_MEMORY, at, 10 * at)); /* idle, all of it */
		take(&s, at);
	}
	ASSERT_EQ(joules_of(&s, job), UINT64_C(1)); /* of 100 */
	ASSERT_EQ(owner(&s, "idle"), UINT64_C(99));
}

/* ---- an edge at which one of two pools was read ---- */

/* Joules of a job of @millicores, and of two idle runs beside it, of 100 idle ones on 4 CPUs. */
static void divide_idle(const char *name, uint64_t millicores, uint64_t ret[3])
{
	struct scene s = open_scene(name, 1 << 20);

	add_job(&s, "7", 0, millicores);
	for (int i = 0; i < 2; i++)
		s.shown[add_job(&s, i ? "9" : "8", 0, 0)].values[METRIC_CPU_ALLOCATED].is_known =
			false;
	say(&s, component("rapl", ENERGY_PACKAGE, 0, 0));
	take(&s, 0);
	say(&s, component("rapl", ENERGY_PACKAGE, 10, 100));
	take(&s, 10);
	for (size_t i = 0; i < 3; i++)
		ret[i] = joules_of(&s, i);
	close_scene(&s);
}

TEST(runs_share_the_cores_that_no_job_was_allocated)
{
	uint64_t joules[3];

	divide_idle("three-cores", 3000, joules);
	ASSERT_EQ(joules[0], UINT64_C(75));
	ASSERT_EQ(joules[1], UINT64_C(13)); /* 12.5 */
	ASSERT_EQ(joules[2], UINT64_C(13));
	divide_idle("four-cores", 4000, joules);
	ASSERT_EQ(joules[0], UINT64_C(100));
	ASSERT_EQ(joules[1] + joules[2], UINT64_C(0));
	divide_idle("no-core", 0, joules);
	ASSERT_EQ(joules[0], UINT64_C(0));
	ASSERT_EQ(joules[1], UINT64_C(50));
}

TEST(an_edge_cuts_what_was_read_there_alone)
{
	_cleanup_(energy_readings_clear) struct energy_readings edge = {};
	struct energy_reading package = component("rapl", ENERGY_PACKAGE, 5, 425);
	_cleanup_(close_scene) struct scene s = open_scene("edge", 1 << 20);

	say(&s, component("rapl", ENERGY_PACKAGE, 0, 0));
	say(&s, component("pm_counters", ENERGY_MEMORY, 0, 0));
	take(&s, 0);
	ASSERT_OK(energy_readings_add(&edge, &package));
	node_energy_mark(s.energy, &edge);
	for (size_t i = 0; i < 2; i++) {
		const size_t job = add_job(&s, i ? "b" : "a", 5 * i, 4000);

		s.jobs[job].end_boot_ns = i ? 0 : BEGIN + 5 * SECOND;
		s.shown[job].is_live = i;
		s.shown[job].values[METRIC_MEMORY_LIMIT] = (struct value){ 1 << 30, true };
		work(&s, job, 5 * SECOND);
	}
	say(&s, component("rapl", ENERGY_PACKAGE, 10, 850));
	say(&s, component("pm_counters", ENERGY_MEMORY, 10, 400));
	take(&s, 10);
	ASSERT_EQ(joules_of(&s, 0), UINT64_C(425) + 200);
	ASSERT_EQ(joules_of(&s, 1), UINT64_C(425) + 200);
}

/* ---- a run without an agent ---- */

TEST(of_a_run_a_sensor_that_comes_later_does_not_hide_the_estimate)
{
	_cleanup_(close_scene) struct scene s = open_scene("run", 1 << 20);
	_cleanup_(record_freep) struct record *record = record_new();

	ASSERT(record);
	record->reading.values[METRIC_CPU_USER] = (struct value){ 4 * SECOND, true };
	record->reading.values[METRIC_CPU_SYSTEM] = (struct value){ 0, true };
	say(&s, estimate(0, 0, 0));
	ASSERT_OK(node_energy_take_run(s.energy, &s.readings, BEGIN, 0, NULL));
	energy_readings_clear(&s.readings);
	work(&s, add_job(&s, "run", 0, 4000), 4 * SECOND);
	say(&s, estimate(10, 1200, 1200));
	say(&s, dcmi(9, 2000));
	ASSERT_OK(node_energy_take_run(s.energy, &s.readings, BEGIN, BEGIN + 10 * SECOND, record));
	ASSERT_EQ(record->reading.values[METRIC_ENERGY].number / JOULE, UINT64_C(1200));
}
