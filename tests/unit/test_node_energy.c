/* SPDX-License-Identifier: MIT */
/*
 * From the files of sensors to the energy of jobs and the ledger.  No machine of ours has RAPL: the
 * trees are layouts, drawn from Documentation/power/powercap/powercap.rst of Linux and its driver
 * (drivers/powercap/intel_rapl_common.c), with the ranges of Intel's and AMD's counters.
 */
#include "energy/node_energy.h"
#include "sources/machine.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "codec/ledger.h"
#include "energy/sensor_choice.h"
#include "model/sample.h"
#include "model/snapshot.h"
#include "sources/sources.h"
#include "test.h"
#include "tree.h"

#define CAP "sys/class/powercap/"
#define PMU "sys/bus/event_source/devices/power/"
#define INTEL_RANGE "262143328850\n"
#define AMD_RANGE "65532610987\n"
#define DRAM_RANGE "65712999613\n"
#define QUARTER UINT64_C(900000000000)
#define BOOT "b0010000-0000-4000-8000-000000000001"

struct bench {
	int root_fd;
	struct sources *sources;
	struct node_energy *energy;
	struct job job[2];
	struct snapshot_job shown[2];
	size_t count;
};

static void write_zone(int root_fd, const char *zone, const char *name, const char *uj,
		       const char *range)
{
	char path[128];

	snprintf(path, sizeof(path), CAP "%s/name", zone);
	tree_write(root_fd, path, name);
	snprintf(path, sizeof(path), CAP "%s/energy_uj", zone);
	tree_write(root_fd, path, uj);
	snprintf(path, sizeof(path), CAP "%s/max_energy_range_uj", zone);
	tree_write(root_fd, path, range);
}

static void write_busy(int root_fd, unsigned int ticks)
{
	char text[128];

	snprintf(text, sizeof(text), "cpu  %u 0 0 100 0 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\n",
		 ticks);
	tree_write(root_fd, "proc/stat", text);
	tree_write(root_fd, "sys/devices/system/cpu/online", "0-3\n");
}

static struct bench open_bench(int root_fd)
{
	static const char *const wanted = "rapl";
	const struct source_options options = { .root_fd = root_fd };
	bool is_wanted[SOURCES_MAX] = {};
	struct bench b = { .root_fd = root_fd };

	is_wanted[sources_index(wanted)] = true;
	write_busy(root_fd, 0);
	ASSERT_OK(sources_open(sources_all(), is_wanted, &options, &b.sources));
	ASSERT_OK(node_energy_new(machine_for_energy(root_fd), POLICY_ALLOCATED, &b.energy));
	return b;
}

static void close_bench(struct bench *b)
{
	node_energy_free(b->energy);
	sources_free(b->sources);
}

/* A reading; what jobs have then stays in the bench. */
static void take(struct bench *b, uint64_t real_ns)
{
	_cleanup_(energy_readings_clear) struct energy_readings readings = {};
	struct snapshot s = { .boot_ns = clock_now_ns(CLOCK_BOOTTIME),
			      .real_ns = real_ns,
			      .jobs = b->shown,
			      .job_count = b->count };

	ASSERT_OK(sources_sample(b->sources, s.boot_ns));
	ASSERT_OK(sources_put_energy(b->sources, &readings));
	ASSERT_OK(node_energy_take(b->energy, &readings, &s));
	for (size_t i = 0; i < b->count; i++)
		parts_clear(&b->shown[i].parts);
}

static void add_job(struct bench *b, const char *id, bool is_inside)
{
	struct job *job = &b->job[b->count];

	*job = (struct job){ .manager = (char *)(is_inside ? "run" : "slurm"),
			     .id = (char *)id,
			     .uid = 1000,
			     .is_inside = is_inside,
			     .start_ns = 17,
			     .start_boot_ns = clock_now_ns(CLOCK_BOOTTIME) };
	b->shown[b->count] = (struct snapshot_job){ .job = job, .is_live = true };
	b->shown[b->count].values[METRIC_CPU_SYSTEM] = (struct value){ 0, true };
	b->shown[b->count].values[METRIC_CPU_USER] = (struct value){ 0, true };
	b->shown[b->count++].values[METRIC_CPU_ALLOCATED] = (struct value){ 2000, true };
}

static void work(struct bench *b, size_t job, uint64_t ns)
{
	struct value *user = &b->shown[job].values[METRIC_CPU_USER];

	*user = (struct value){ user->number + ns, true };
}

static uint64_t joules_of(const struct bench *b, size_t job)
{
	return b->shown[job].values[METRIC_ENERGY].number;
}

static uint64_t scraped(const struct bench *b, enum metric_id id, const char *label)
{
	_cleanup_(samples_clear) struct samples samples = {};
	const struct sample *found;

	ASSERT_OK(node_energy_put_samples(b->energy, &samples));
	found = samples_find(&samples, id, label);
	return found ? found->number : UINT64_MAX;
}

static uint64_t all_owners(const struct bench *b)
{
	return scraped(b, METRIC_NODE_ENERGY_OWNER, "jobs") +
	       scraped(b, METRIC_NODE_ENERGY_OWNER, "system") +
	       scraped(b, METRIC_NODE_ENERGY_OWNER, "idle") +
	       scraped(b, METRIC_NODE_ENERGY_OWNER, "unattributed");
}

/* Less than two microjoules for each of those who are there wait for the next interval, of each of
 * two pools. */
static void assert_all(const struct bench *b, uint64_t uj)
{
	ASSERT(all_owners(b) <= uj && all_owners(b) + 2 * 2 * 5 > uj);
	ASSERT_EQ(scraped(b, METRIC_NODE_ENERGY_UNBALANCED, NULL), UINT64_C(0));
}

TEST(two_intel_sockets_count_packages_and_memory_once)
{
	_cleanup_close_ int root = tree_open("intel-2-sockets");
	_cleanup_(close_bench) struct bench b;

	write_zone(root, "intel-rapl:0", "package-0\n", "1000000\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:0:0", "core\n", "700000\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:0:1", "dram\n", "500000\n", DRAM_RANGE);
	write_zone(root, "intel-rapl:1", "package-1\n", "262143328840\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:1:0", "dram\n", "500000\n", DRAM_RANGE);
	write_zone(root, "intel-rapl-mmio:0", "package-0\n", "1000000\n", INTEL_RANGE);
	b = open_bench(root);
	take(&b, 1);
	write_zone(root, "intel-rapl:0", "package-0\n", "9000000\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:0:0", "core\n", "6000000\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:0:1", "dram\n", "800000\n", DRAM_RANGE);
	write_zone(root, "intel-rapl:1", "package-1\n", "40\n", INTEL_RANGE); /* it wrapped */
	write_busy(root, 10);
	take(&b, 2);
	assert_all(&b, 8000000 + 50 + 300000);
}

TEST(a_platform_s_counter_is_the_node_and_its_packages_are_inside)
{
	_cleanup_close_ int root = tree_open("psys");
	_cleanup_(close_bench) struct bench b;

	write_zone(root, "intel-rapl:0", "package-0\n", "0\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:0:0", "core\n", "0\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:0:1", "uncore\n", "0\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:1", "psys\n", "0\n", INTEL_RANGE);
	b = open_bench(root);
	add_job(&b, "5", false);
	take(&b, 1);
	work(&b, 0, 50000000);
	write_busy(root, 10);
	write_zone(root, "intel-rapl:0", "package-0\n", "4000000\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:0:0", "core\n", "3000000\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:1", "psys\n", "6000000\n", INTEL_RANGE);
	take(&b, 2);
	assert_all(&b, 6000000);
	ASSERT(joules_of(&b, 0) > 0);
}

/* Zen 1 and 2: a zone for each die, and one counter for all of them. */
static void take_dies(const char *name, unsigned int second_uj, uint64_t wanted_uj)
{
	_cleanup_close_ int root = tree_open(name);
	_cleanup_(close_bench) struct bench b;
	char text[32];

	for (unsigned int i = 0; i <= 9; i++) {
		snprintf(text, sizeof(text), "%u\n", i * 3000000);
		write_zone(root, "intel-rapl:0", "package-0-die-0\n", text, AMD_RANGE);
		snprintf(text, sizeof(text), "%u\n", i * second_uj);
		write_zone(root, "intel-rapl:1", "package-0-die-1\n", text, AMD_RANGE);
		if (i == 0)
			b = open_bench(root);
		write_busy(root, i);
		take(&b, i + 1);
	}
	assert_all(&b, wanted_uj);
}

TEST(dies_that_mirror_one_counter_count_once_and_others_each)
{
	take_dies("mirrored", 3000000, 27000000);
	take_dies("apart", 5000000, 27000000 + 45000000);
}

TEST(amd_s_package_has_no_memory_beside_it)
{
	_cleanup_close_ int root = tree_open("amd");
	_cleanup_(close_bench) struct bench b;

	write_zone(root, "intel-rapl:0", "package-0\n", "65532610980\n", AMD_RANGE);
	write_zone(root, "intel-rapl:0:0", "core\n", "0\n", AMD_RANGE);
	b = open_bench(root);
	take(&b, 1);
	write_zone(root, "intel-rapl:0", "package-0\n", "93\n", AMD_RANGE);
	write_busy(root, 3);
	take(&b, 2);
	assert_all(&b, 100);
}

/* What RAPL says now, by names with a blank behind each. */
static void assert_sensors(struct sources *sources, const char *expected)
{
	_cleanup_(energy_readings_clear) struct energy_readings readings = {};
	char names[256] = "";

	ASSERT_OK(sources_sample(sources, clock_now_ns(CLOCK_BOOTTIME)));
	ASSERT_OK(sources_put_energy(sources, &readings));
	for (size_t i = 0; i < readings.count; i++)
		strcat(strcat(names, readings.items[i].sensor.name), " ");
	ASSERT_STREQ(names, expected);
}

TEST(a_platform_and_memory_that_stand_still_at_0_are_no_sensors)
{
	_cleanup_close_ int root = tree_open("dead-psys");
	_cleanup_(close_bench) struct bench b;

	write_zone(root, "intel-rapl:0", "package-0\n", "1000000\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:0:0", "uncore\n", "0\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:0:1", "dram\n", "0\n", DRAM_RANGE);
	write_zone(root, "intel-rapl:1", "psys\n", "0\n", INTEL_RANGE);
	b = open_bench(root);
	assert_sensors(b.sources, "package-0 package-0 uncore package-0 dram psys ");
	nanosleep(&(struct timespec){ .tv_sec = 1, .tv_nsec = 10000000 }, NULL);
	write_zone(root, "intel-rapl:0", "package-0\n", "2000000\n", INTEL_RANGE);
	assert_sensors(b.sources, "package-0 package-0 uncore "); /* graphics may be off */
	write_zone(root, "intel-rapl:1", "psys\n", "1000000\n", INTEL_RANGE);
	assert_sensors(b.sources, "package-0 package-0 uncore psys ");
}

/* The kernel's own clock and its event that never counts stand for counters of energy. */
TEST(events_that_stand_still_at_0_are_no_sensors)
{
	_cleanup_close_ int root = tree_open("dead-event");
	_cleanup_(sources_freep) struct sources *sources = NULL;
	const struct source_options options = { .root_fd = root };
	bool is_wanted[SOURCES_MAX] = {};
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK };
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return; /* not for users */
	close(fd);
	is_wanted[sources_index("rapl")] = true;
	tree_write(root, PMU "type", "1\n");
	tree_write(root, PMU "cpumask", "0\n");
	tree_write(root, PMU "events/energy-psys", "event=0x09\n");
	tree_write(root, PMU "events/energy-psys.scale", "2.3283064365386962890625e-10\n");
	ASSERT_OK(sources_open(sources_all(), is_wanted, &options, &sources));
	assert_sensors(sources, "");
	sources_free(sources);
	sources = NULL;
	tree_write(root, PMU "events/energy-pkg", "event=0x00\n");
	tree_write(root, PMU "events/energy-pkg.scale", "2.3283064365386962890625e-10\n");
	ASSERT_OK(sources_open(sources_all(), is_wanted, &options, &sources));
	assert_sensors(sources, "energy-pkg 0 ");
}

TEST(one_intel_socket_divides_by_work_and_tells_a_run_inside_its_part)
{
	_cleanup_close_ int root = tree_open("intel-1-socket");
	_cleanup_(close_bench) struct bench b;

	write_zone(root, "intel-rapl:0", "package-0\n", "0\n", INTEL_RANGE);
	b = open_bench(root);
	take(&b, 1);
	add_job(&b, "7", false);
	add_job(&b, "within-7", true);
	work(&b, 0, 90000000);
	work(&b, 1, 30000000);
	write_busy(root, 10); /* 100 ms: the system has 10 */
	write_zone(root, "intel-rapl:0", "package-0\n", "1000000\n", INTEL_RANGE);
	take(&b, 2);
	ASSERT_EQ(joules_of(&b, 0), UINT64_C(900000)); /* too short for an idle power */
	ASSERT_EQ(joules_of(&b, 1), UINT64_C(300000));
	assert_all(&b, 1000000);
}

/* ---- the processor's counters ---- */

static void count(struct bench *b, size_t job, uint64_t cycles, uint64_t instructions,
		  uint64_t misses)
{
	struct value *values = b->shown[job].values;

	values[METRIC_CPU_CYCLES] = (struct value){ cycles, true };
	values[METRIC_CPU_INSTRUCTIONS] = (struct value){ instructions, true };
	values[METRIC_CPU_LLC_MISSES] = (struct value){ misses, true };
}

/* Of a bench: its readings stand in it, so that it is not copied. */
static void open_counted(struct bench *b, int root, bool is_second_counted)
{
	write_zone(root, "intel-rapl:0", "package-0\n", "0\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:0:0", "dram\n", "0\n", DRAM_RANGE);
	*b = open_bench(root);
	add_job(b, "7", false);
	add_job(b, "8", false);
	count(b, 0, 17, 19, 23);
	if (is_second_counted)
		count(b, 1, 29, 31, 37);
	take(b, 1);
	write_zone(root, "intel-rapl:0", "package-0\n", "1000000\n", INTEL_RANGE);
	write_zone(root, "intel-rapl:0:0", "dram\n", "1000000\n", DRAM_RANGE);
	write_busy(root, 10); /* 100 ms: the system has 30 */
	work(b, 0, 35000000);
	work(b, 1, 35000000);
}

TEST(of_equal_cpu_time_who_misses_the_caches_has_more)
{
	_cleanup_close_ int root = tree_open("counted");
	_cleanup_(close_bench) struct bench b;

	open_counted(&b, root, true);
	count(&b, 0, 17 + 1000000, 19 + 2000000, 23);
	count(&b, 1, 29 + 1000000, 31, 37 + 3000);
	take(&b, 2);
	ASSERT_EQ(joules_of(&b, 0), UINT64_C(299381) + 115874);
	ASSERT_EQ(joules_of(&b, 1), UINT64_C(400618) + 584125);
	ASSERT_EQ((joules_of(&b, 0) + joules_of(&b, 1) + 5) / 10, UINT64_C(140000));
	assert_all(&b, 2000000); /* the system's part is as it was */
}

TEST(who_is_not_counted_has_his_cpu_time)
{
	_cleanup_close_ int root = tree_open("half-counted");
	_cleanup_(close_bench) struct bench b;

	open_counted(&b, root, false);
	count(&b, 0, 17 + 5, 19 + 7, 23 + 1000);
	take(&b, 2);
	/* one alone shares with nobody, and less than a nanosecond is lost of it */
	ASSERT(joules_of(&b, 0) <= 700000 && joules_of(&b, 0) >= 700000 - 4);
	ASSERT(joules_of(&b, 1) <= 700000 + 4 && joules_of(&b, 1) >= 700000);
	assert_all(&b, 2000000);
}

/* ---- the ledger, and a restart ---- */

static uint64_t sum_of(const struct ledger *l)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->count; i++)
		sum += (uint64_t)l->entries[i].microjoules;
	return sum;
}

TEST(lines_of_the_ledger_are_all_of_it_once)
{
	_cleanup_close_ int root = tree_open("ledger");
	struct ledger first = {}, second = {};
	_cleanup_(close_bench) struct bench b;

	write_zone(root, "intel-rapl:0", "package-0\n", "0\n", INTEL_RANGE);
	b = open_bench(root);
	node_energy_want_ledger(b.energy, true, 1);
	take(&b, 1);
	add_job(&b, "7", false);
	work(&b, 0, 60000000);
	write_busy(root, 10);
	write_zone(root, "intel-rapl:0", "package-0\n", "1000003\n", INTEL_RANGE);
	take(&b, 2);
	ASSERT(!node_energy_get_ledger(b.energy, QUARTER - 1, &first));
	ASSERT(node_energy_get_ledger(b.energy, QUARTER + 5, &first));
	ASSERT_EQ(first.end_ns, QUARTER);
	ASSERT_EQ(first.count, UINT64_C(2));
	ASSERT_STREQ(first.entries[0].job, "7");
	ASSERT_EQ(first.entries[0].microjoules, INT64_C(600001));
	node_energy_set_written(b.energy, &first);
	ASSERT(!node_energy_get_ledger(b.energy, QUARTER + 5, &second));

	work(&b, 0, 60000000);
	write_busy(root, 20);
	write_zone(root, "intel-rapl:0", "package-0\n", "3000003\n", INTEL_RANGE);
	take(&b, 3);
	b.count = 0; /* it is shown no longer: what it had is in the ledger still */
	take(&b, 4);
	ASSERT(node_energy_get_ledger(b.energy, 2 * QUARTER, &second));
	ASSERT_EQ(second.start_ns, first.end_ns);
	ASSERT_EQ(second.sequence, first.sequence + 1);
	ASSERT_STREQ(second.entries[0].job, "7");
	ASSERT_EQ(sum_of(&first) + sum_of(&second), all_owners(&b));
	assert_all(&b, 3000003);
	ledger_clear(&first);
	ledger_clear(&second);
}

TEST(a_clock_that_is_set_back_stops_no_ledger)
{
	_cleanup_close_ int root = tree_open("set-back");
	_cleanup_(close_bench) struct bench b;
	struct ledger line = {};

	write_zone(root, "intel-rapl:0", "package-0\n", "0\n", INTEL_RANGE);
	b = open_bench(root);
	node_energy_want_ledger(b.energy, true, 40 * QUARTER);
	take(&b, 1);
	write_zone(root, "intel-rapl:0", "package-0\n", "3000003\n", INTEL_RANGE);
	take(&b, 2);
	ASSERT(!node_energy_get_ledger(b.energy, 40 * QUARTER - 5, &line)); /* a little */
	ASSERT(node_energy_get_ledger(b.energy, 8 * QUARTER + 5, &line));
	ASSERT(line.start_ns == 7 * QUARTER && line.end_ns == 8 * QUARTER);
	ASSERT_EQ(sum_of(&line), all_owners(&b));
	node_energy_set_written(b.energy, &line);
	ledger_clear(&line);
	write_zone(root, "intel-rapl:0", "package-0\n", "4000003\n", INTEL_RANGE);
	take(&b, 3);
	ASSERT(!node_energy_get_ledger(b.energy, 8 * QUARTER + 6, &line));
	ASSERT(node_energy_get_ledger(b.energy, 9 * QUARTER + 1, &line));
	ASSERT_EQ(line.start_ns, 8 * QUARTER);
	ledger_clear(&line);
}

TEST(the_next_agent_goes_on_and_what_came_meanwhile_is_divided)
{
	_cleanup_close_ int root = tree_open("restart");
	_cleanup_free_ char *state = NULL;
	struct error err = {};
	struct bench b, next;
	uint64_t before;
	size_t length;

	write_zone(root, "intel-rapl:0", "package-0\n", "262143328000\n", INTEL_RANGE);
	b = open_bench(root);
	take(&b, 1);
	add_job(&b, "7", false);
	work(&b, 0, 60000000);
	write_busy(root, 10);
	write_zone(root, "intel-rapl:0", "package-0\n", "262143328800\n", INTEL_RANGE);
	take(&b, 2);
	before = joules_of(&b, 0);
	ASSERT_EQ(before, UINT64_C(480));
	ASSERT_OK(node_energy_format_state(b.energy, BOOT, &state, &length));

	write_zone(root, "intel-rapl:0", "package-0\n", "50\n", INTEL_RANGE); /* 100, over a wrap */
	next = open_bench(root);
	write_busy(root, 20);
	ASSERT_OK(node_energy_parse_state(next.energy, BOOT, state, length, &err));
	next.job[0] = b.job[0];
	next.shown[0] = b.shown[0];
	next.shown[0].job = &next.job[0];
	next.count = 1;
	work(&next, 0, 50000000);
	take(&next, 3);
	ASSERT_EQ(joules_of(&next, 0), before + 50);
	assert_all(&next, 900);
	ASSERT_EQ(scraped(&next, METRIC_NODE_ENERGY, NULL), UINT64_C(900)); /* no sum falls */
	close_bench(&next);

	next = open_bench(root); /* of another boot nothing goes on */
	ASSERT_OK(node_energy_parse_state(next.energy, "another", state, length, &err));
	take(&next, 3);
	ASSERT_EQ(scraped(&next, METRIC_NODE_ENERGY_OWNER, "jobs"), UINT64_MAX);
	close_bench(&next);
	close_bench(&b);
}

TEST(a_torn_state_is_refused)
{
	_cleanup_close_ int root = tree_open("torn");
	_cleanup_free_ char *state = NULL;
	struct error err = {};
	struct bench b;
	size_t length;

	write_zone(root, "intel-rapl:0", "package-0\n", "0\n", INTEL_RANGE);
	b = open_bench(root);
	add_job(&b, "7", false);
	take(&b, 1);
	ASSERT_OK(node_energy_format_state(b.energy, BOOT, &state, &length));
	close_bench(&b);
	for (size_t i = 0; i <= length + 1; i++) {
		_cleanup_free_ char *torn = calloc(1, length + 2); /* or with something behind it */

		memcpy(torn, state, MIN(i, length));
		b = open_bench(root);
		ASSERT_EQ(node_energy_parse_state(b.energy, BOOT, torn, i, &err),
			  i == length ? 0 : -EINVAL);
		ASSERT(i == length || *err.text);
		close_bench(&b);
	}
	*(char *)memchr(state, '3', length) = '2'; /* an older agent's: without its last word, a 0
						    */
	b = open_bench(root);
	ASSERT_OK(node_energy_parse_state(b.energy, BOOT, state, length - 1, &err));
	close_bench(&b);
}
