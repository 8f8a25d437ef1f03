/* SPDX-License-Identifier: MIT */
#include "sources/sensors.h"

#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "test.h"
#include "tree.h"

#define POWERCAP "sys/class/powercap/"
#define HWMON "sys/class/hwmon/"

TEST(a_node_without_sensors_has_none)
{
	_cleanup_close_ int root = tree_open("empty");
	_cleanup_(sensors_clear) struct sensors s = {};

	ASSERT_OK(sensors_read(root, &s));
	ASSERT_EQ(s.count, (uint64_t)0);
}

TEST(zones_are_listed_with_those_in_them_and_a_package_once)
{
	_cleanup_close_ int root = tree_open("powercap");
	_cleanup_(sensors_clear) struct sensors s = {};

	tree_write(root, POWERCAP "intel-rapl/enabled", "1\n");
	tree_write(root, POWERCAP "intel-rapl:0/name", "package-0\n");
	tree_write(root, POWERCAP "intel-rapl:0/energy_uj", "1\n");
	tree_write(root, POWERCAP "intel-rapl:0:0/name", "dram\n");
	tree_write(root, POWERCAP "intel-rapl:0:0/energy_uj", "1\n");
	tree_write(root, POWERCAP "intel-rapl:1/name", "a zone without energy\n");
	tree_write(root, POWERCAP "intel-rapl-mmio:0/name", "package-0\n");
	tree_write(root, POWERCAP "intel-rapl-mmio:0/energy_uj", "1\n");
	ASSERT_OK(sensors_read(root, &s));
	ASSERT_EQ(s.count, (uint64_t)2);
	ASSERT_STREQ(s.items[0].source, "powercap");
	ASSERT_STREQ(s.items[0].name, "package-0");
	ASSERT_STREQ(s.items[0].path, POWERCAP "intel-rapl:0/energy_uj");
	ASSERT(s.items[0].is_readable);
	ASSERT_STREQ(s.items[1].name, "dram");
}

TEST(chips_are_listed_by_their_figures)
{
	_cleanup_close_ int root = tree_open("hwmon");
	_cleanup_(sensors_clear) struct sensors s = {};

	tree_write(root, HWMON "hwmon0/name", "power_meter\n");
	tree_write(root, HWMON "hwmon0/power1_average", "1\n");
	tree_write(root, HWMON "hwmon0/power1_average_interval", "1000\n");
	tree_write(root, HWMON "hwmon0/temp1_input", "1\n");
	tree_write(root, HWMON "hwmon1/energy1_input", "1\n"); /* without a name */
	ASSERT_OK(sensors_read(root, &s));
	ASSERT_EQ(s.count, (uint64_t)2);
	ASSERT_STREQ(s.items[0].name, "power_meter power1");
	ASSERT_STREQ(s.items[1].name, "hwmon1 energy1");
}

TEST(files_of_older_drivers_are_the_devices)
{
	_cleanup_close_ int root = tree_open("hwmon-device");
	_cleanup_(sensors_clear) struct sensors s = {};

	tree_write(root, HWMON "hwmon0/name", "power_meter\n");
	tree_write(root, HWMON "hwmon0/device/power1_average", "1\n");
	tree_write(root, HWMON "hwmon1/name", "amd_energy\n");
	tree_write(root, HWMON "hwmon1/energy1_input", "1\n");
	tree_write(root, HWMON "hwmon1/device/energy1_input", "1\n");
	ASSERT_OK(sensors_read(root, &s));
	ASSERT_EQ(s.count, (uint64_t)2);
	ASSERT_STREQ(s.items[0].name, "power_meter power1");
	ASSERT_STREQ(s.items[0].path, HWMON "hwmon0/device/power1_average");
	ASSERT_STREQ(s.items[1].path, HWMON "hwmon1/energy1_input");
}

TEST(the_board_and_the_blade_are_seen)
{
	_cleanup_close_ int root = tree_open("fixed");
	_cleanup_(sensors_clear) struct sensors s = {};

	tree_write(root, "dev/ipmi0", "");
	tree_write(root, "sys/cray/pm_counters/energy", "12 J 34 us\n");
	ASSERT_OK(sensors_read(root, &s));
	ASSERT_EQ(s.count, (uint64_t)2);
	ASSERT_STREQ(s.items[0].source, "ipmi");
	ASSERT_STREQ(s.items[1].source, "pm_counters");
}

TEST(a_name_that_is_empty_or_does_not_fit_is_the_directories)
{
	_cleanup_close_ int root = tree_open("names");
	_cleanup_(sensors_clear) struct sensors s = {};
	char path[300], name[101];

	memset(name, 'x', 100);
	name[100] = '\0';
	tree_write(root, POWERCAP "intel-rapl:0/name", "\n");
	tree_write(root, POWERCAP "intel-rapl:0/energy_uj", "1\n");
	tree_write(root, POWERCAP "intel-rapl:1/name", name);
	tree_write(root, POWERCAP "intel-rapl:1/energy_uj", "1\n");
	/* cut, the next two would be another's */
	snprintf(path, sizeof(path), HWMON "%s/energy1_input", name);
	tree_write(root, path, "1\n");
	snprintf(path, sizeof(path), POWERCAP "intel-rapl:%s/energy_uj", name);
	tree_write(root, path, "1\n");
	ASSERT_OK(sensors_read(root, &s));
	ASSERT_EQ(s.count, (uint64_t)2);
	ASSERT_STREQ(s.items[0].name, "intel-rapl:0");
	ASSERT_STREQ(s.items[1].name, "intel-rapl:1");
}
