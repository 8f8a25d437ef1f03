/* SPDX-License-Identifier: MIT */
/* Trees of files as Intel's and AMD's drivers make them, from the kernel's documentation: layouts,
 * not captured. */
#include "sources/thermal.h"

#include <stdio.h>

#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "model/section.h"
#include "model/sections.h"
#include "test.h"
#include "tree.h"

#define CPU "sys/devices/system/cpu/cpu"

static void write_cpu(int root_fd, unsigned int cpu, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), CPU "%u/%s", cpu, file);
	tree_write(root_fd, path, text);
}

/* Two packages of two cores with two CPUs each: CPUs 0, 4 are core 0 of package 0; 2, 6 are core 0
 * of package 1. */
static int made_intel(const char *name)
{
	static const char *const kilohertz[] = {
		"3700000\n", "1300000\n", "2900000\n", "3100000\n",
		"800000\n",  "2300000\n", "1900000\n", "4100000\n"
	};
	int fd = tree_open(name);

	tree_write(fd, "sys/devices/system/cpu/online", "0-7\n");
	for (unsigned int cpu = 0; cpu < 8; cpu++) {
		char text[16];

		write_cpu(fd, cpu, "topology/physical_package_id", cpu % 4 < 2 ? "0\n" : "1\n");
		write_cpu(fd, cpu, "topology/core_id", cpu % 2 ? "1\n" : "0\n");
		write_cpu(fd, cpu, "cpufreq/scaling_cur_freq", kilohertz[cpu]);
		snprintf(text, sizeof(text), "%u\n", 7 + cpu % 4);
		write_cpu(fd, cpu, "thermal_throttle/core_throttle_count", text);
		write_cpu(fd, cpu, "thermal_throttle/package_throttle_count",
			  cpu % 4 < 2 ? "11\n" : "13\n");
	}
	tree_write(fd, "sys/class/hwmon/hwmon0/name", "acpitz\n");
	tree_write(fd, "sys/class/hwmon/hwmon0/temp1_input", "99000\n");
	tree_write(fd, "sys/class/hwmon/hwmon1/name", "coretemp\n");
	tree_write(fd, "sys/class/hwmon/hwmon1/temp1_label", "Package id 0\n");
	tree_write(fd, "sys/class/hwmon/hwmon1/temp1_input", "61003\n");
	tree_write(fd, "sys/class/hwmon/hwmon1/temp2_label", "Core 0\n");
	tree_write(fd, "sys/class/hwmon/hwmon1/temp2_input", "97000\n");
	tree_write(fd, "sys/class/hwmon/hwmon2/name", "coretemp\n");
	tree_write(fd, "sys/class/hwmon/hwmon2/temp1_label", "Package id 1\n");
	tree_write(fd, "sys/class/hwmon/hwmon2/temp1_input", "73009\n");
	tree_write(fd, "sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
	tree_write(fd, "sys/class/thermal/thermal_zone0/temp", "88000\n");
	return fd;
}

static struct thermal_moment get(struct thermal *t, const char *cpus)
{
	struct cpulist list = {};
	struct thermal_moment m;

	thermal_sweep(t);
	if (cpus)
		ASSERT_OK(cpulist_parse(cpus, &list));
	thermal_get(t, cpus ? &list : NULL, &m);
	return m;
}

TEST(all_cpus_and_the_warmer_package)
{
	_cleanup_close_ int fd = made_intel("made-sysfs-intel");
	_cleanup_(thermal_closep) struct thermal *t = NULL;
	struct thermal_moment m;
	size_t sensors;

	ASSERT_OK(thermal_open(fd, &t));
	ASSERT(thermal_has_any(t));
	m = get(t, NULL);
	ASSERT_EQ(m.cpus, UINT64_C(8));
	ASSERT_EQ(m.frequency_hz, UINT64_C(20100000000) / 8);
	ASSERT_EQ(m.frequency_min_hz, UINT64_C(800000000));
	ASSERT_EQ(m.frequency_max_hz, UINT64_C(4100000000));
	ASSERT(m.has_temperature);
	ASSERT_EQ(m.millicelsius, UINT64_C(73009));
	/* cores 0 and 1 of both packages, each once: 7 + 8 + 9 + 10 */
	ASSERT_EQ(m.core_throttles_total, UINT64_C(34));
	ASSERT_EQ(m.package_throttles_total, UINT64_C(24));
	ASSERT_EQ(m.core_throttles, UINT64_C(0)); /* since when is not known */
	(void)thermal_sensors(t, &sensors);
	ASSERT_EQ(sensors, UINT64_C(2)); /* neither a core's, nor what stands there a second time */
}

TEST(some_cpus_and_their_package_alone)
{
	_cleanup_close_ int fd = made_intel("made-sysfs-some");
	_cleanup_(thermal_closep) struct thermal *t = NULL;
	struct thermal_moment m;

	ASSERT_OK(thermal_open(fd, &t));
	m = get(t, "0-1,4");
	ASSERT_EQ(m.cpus, UINT64_C(3));
	ASSERT_EQ(m.frequency_hz, UINT64_C(5800000000) / 3);
	ASSERT_EQ(m.frequency_min_hz, UINT64_C(800000000));
	ASSERT_EQ(m.millicelsius, UINT64_C(61003));
	ASSERT_EQ(m.core_throttles_total, UINT64_C(15)); /* CPUs 0 and 4 are one core */
	ASSERT_EQ(m.package_throttles_total, UINT64_C(11));
}

TEST(throttling_is_counted_from_sweep_to_sweep_and_never_twice)
{
	_cleanup_close_ int fd = made_intel("made-sysfs-throttled");
	_cleanup_(thermal_closep) struct thermal *t = NULL;
	struct thermal_moment m;

	ASSERT_OK(thermal_open(fd, &t));
	get(t, NULL);
	write_cpu(fd, 0, "thermal_throttle/core_throttle_count", "10\n"); /* of 7 */
	write_cpu(fd, 4, "thermal_throttle/core_throttle_count", "10\n"); /* the same core heard of
									     it */
	write_cpu(fd, 0, "thermal_throttle/package_throttle_count", "16\n");
	m = get(t, NULL);
	ASSERT_EQ(m.core_throttles, UINT64_C(3));
	ASSERT_EQ(m.package_throttles, UINT64_C(5));
	write_cpu(fd, 0, "thermal_throttle/core_throttle_count", "2\n"); /* it was off meanwhile */
	m = get(t, NULL);
	ASSERT_EQ(m.core_throttles, UINT64_C(0));
	write_cpu(fd, 0, "thermal_throttle/core_throttle_count", "4\n");
	m = get(t, NULL);
	ASSERT_EQ(m.core_throttles, UINT64_C(2));
}

TEST(amds_true_temperature_comes_before_the_one_that_steers_the_fan)
{
	_cleanup_close_ int fd = tree_open("made-sysfs-amd");
	_cleanup_(thermal_closep) struct thermal *t = NULL;
	const struct thermal_sensor *sensors;
	struct thermal_moment m;
	size_t count;

	tree_write(fd, "sys/devices/system/cpu/online", "0-1\n");
	write_cpu(fd, 0, "topology/physical_package_id", "0\n");
	write_cpu(fd, 1, "topology/physical_package_id", "1\n");
	for (unsigned int i = 0; i < 2; i++) {
		static const char *const files[][2] = { { "name", "k10temp\n" },
							{ "temp1_label", "Tctl\n" },
							{ "temp1_input", "90000\n" },
							{ "temp2_label", "Tdie\n" } };
		char path[128];

		for (size_t k = 0; k < 4; k++) {
			snprintf(path, sizeof(path), "sys/class/hwmon/hwmon%u/%s", i, files[k][0]);
			tree_write(fd, path, files[k][1]);
		}
		snprintf(path, sizeof(path), "sys/class/hwmon/hwmon%u/temp2_input", i);
		tree_write(fd, path, i ? "67000\n" : "63000\n");
	}
	ASSERT_OK(thermal_open(fd, &t));
	sensors = thermal_sensors(t, &count);
	ASSERT_EQ(count, UINT64_C(2));
	ASSERT_STREQ(sensors[0].name, "Tdie");
	ASSERT_EQ(sensors[0].package, 0u); /* as many as packages: in their order */
	ASSERT_EQ(sensors[1].package, 1u);
	m = get(t, "0");
	ASSERT_EQ(m.millicelsius, UINT64_C(63000));
	ASSERT_EQ(m.cpus, UINT64_C(0)); /* no cpufreq */
	ASSERT(!m.has_throttles);
}

TEST(a_zone_does_where_no_chip_is_known)
{
	_cleanup_close_ int fd = tree_open("made-sysfs-zone");
	_cleanup_(thermal_closep) struct thermal *t = NULL;

	tree_write(fd, "sys/devices/system/cpu/online", "0\n");
	tree_write(fd, "sys/class/thermal/thermal_zone0/type", "acpitz\n");
	tree_write(fd, "sys/class/thermal/thermal_zone0/temp", "27800\n");
	tree_write(fd, "sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
	tree_write(fd, "sys/class/thermal/thermal_zone1/temp", "41000\n");
	ASSERT_OK(thermal_open(fd, &t));
	ASSERT_EQ(get(t, NULL).millicelsius, UINT64_C(41000));
}

TEST(without_sensors_there_is_nothing_and_no_zero)
{
	_cleanup_close_ int fd = tree_open("made-sysfs-none");
	_cleanup_(thermal_closep) struct thermal *t = NULL;
	struct thermal_moment m;

	tree_write(fd, "sys/devices/system/cpu/online", "0-3\n");
	ASSERT_OK(thermal_open(fd, &t));
	ASSERT(!thermal_has_any(t));
	m = get(t, NULL);
	ASSERT_EQ(m.cpus, UINT64_C(0));
	ASSERT(!m.has_temperature && !m.has_throttles);
	ASSERT(thermal_close(NULL) == NULL);
}

TEST(rubbish_is_not_known)
{
	_cleanup_close_ int fd = made_intel("made-sysfs-rubbish");
	_cleanup_(thermal_closep) struct thermal *t = NULL;
	struct thermal_moment m;

	for (unsigned int cpu = 0; cpu < 8; cpu++)
		write_cpu(fd, cpu, "cpufreq/scaling_cur_freq",
			  cpu == 3 ? "3100000\n"
			  : cpu	   ? "<unknown>\n"
				   : "99999999999\n");
	tree_write(fd, "sys/class/hwmon/hwmon1/temp1_input", "-3000\n");
	tree_write(fd, "sys/class/hwmon/hwmon2/temp1_input", "500000000\n");
	ASSERT_OK(thermal_open(fd, &t));
	m = get(t, NULL);
	ASSERT_EQ(m.cpus, UINT64_C(1));
	ASSERT_EQ(m.frequency_hz, UINT64_C(3100000000));
	ASSERT(!m.has_temperature);
}

/* ---- what moments add up to ---- */

static const struct thermal_moment warm = { .cpus = 3,
					    .frequency_hz = 2900000000,
					    .frequency_min_hz = 1300000000,
					    .has_temperature = true,
					    .millicelsius = 61003,
					    .has_throttles = true,
					    .core_throttles = 5,
					    .package_throttles = 2 };
static const struct thermal_moment hot = { .cpus = 3,
					   .frequency_hz = 2100000000,
					   .frequency_min_hz = 800000000,
					   .has_temperature = true,
					   .millicelsius = 73009,
					   .has_throttles = true,
					   .core_throttles = 7,
					   .package_throttles = 3 };

TEST(means_are_of_the_samples_and_extremes_of_any)
{
	struct thermal_sums sums = {};
	struct thermal_samples s;

	thermal_sums_add(&sums, &warm);
	thermal_sums_add(&sums, &hot);
	s = thermal_samples_of(&sums);
	ASSERT_EQ(s.samples.number, UINT64_C(2));
	ASSERT_EQ(s.frequency_hz.number, UINT64_C(2500000000));
	ASSERT_EQ(s.frequency_min_hz.number, UINT64_C(800000000));
	ASSERT_EQ(s.temperature.number, UINT64_C(67006));
	ASSERT_EQ(s.temperature_max.number, UINT64_C(73009));
	ASSERT_EQ(s.core_throttles.number, UINT64_C(7)); /* the first moment's were before the job
							  */
	ASSERT_EQ(s.package_throttles.number, UINT64_C(3));
}

TEST(what_no_moment_knew_is_not_known)
{
	const struct thermal_moment nothing = {};
	struct thermal_sums sums = {};
	struct thermal_samples s = thermal_samples_of(&sums);

	ASSERT(!s.samples.is_known);
	thermal_sums_add(&sums, &nothing);
	s = thermal_samples_of(&sums);
	ASSERT_EQ(s.samples.number, UINT64_C(1));
	ASSERT(!s.frequency_hz.is_known && !s.frequency_min_hz.is_known);
	ASSERT(!s.temperature.is_known && !s.temperature_max.is_known);
	ASSERT(!s.core_throttles.is_known && !s.package_throttles.is_known);
}

TEST(records_merge_by_their_samples)
{
	struct thermal_sums one = {}, three = {};
	struct thermal_samples a, b, both;

	thermal_sums_add(&one, &hot);
	for (int i = 0; i < 3; i++)
		thermal_sums_add(&three, &warm);
	a = thermal_samples_of(&one);
	b = thermal_samples_of(&three);
	both = a;
	ASSERT_OK(thermal_section.add(&both, &b));
	ASSERT_EQ(both.samples.number, UINT64_C(4));
	ASSERT_EQ(both.frequency_hz.number, UINT64_C(2700000000));
	ASSERT_EQ(both.frequency_min_hz.number, UINT64_C(800000000));
	ASSERT_EQ(both.temperature.number, UINT64_C(64004));
	ASSERT_EQ(both.temperature_max.number, UINT64_C(73009));
	ASSERT_EQ(both.core_throttles.number, UINT64_C(10));
	a = (struct thermal_samples){};
	both = a;
	ASSERT_OK(thermal_section.add(&both, &b));
	ASSERT(!both.samples.is_known && !both.frequency_hz.is_known);
}
