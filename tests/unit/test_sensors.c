/* SPDX-License-Identifier: MIT */
#include "sources/sensors.h"

#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
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

TEST(sensors_are_listed_with_their_source_name_and_path)
{
	/* clang-format off */
	static const struct {
		struct { const char *path, *text; } files[8];
		const char *found[2]; /* source, name and path */
	} rows[] = {
		/* zones with those in them, and a package once */
		{ { { POWERCAP "intel-rapl/enabled", "1\n" },
		    { POWERCAP "intel-rapl:0/name", "package-0\n" },
		    { POWERCAP "intel-rapl:0/energy_uj", "1\n" },
		    { POWERCAP "intel-rapl:0:0/name", "dram\n" },
		    { POWERCAP "intel-rapl:0:0/energy_uj", "1\n" },
		    { POWERCAP "intel-rapl:1/name", "a zone without energy\n" },
		    { POWERCAP "intel-rapl-mmio:0/name", "package-0\n" },
		    { POWERCAP "intel-rapl-mmio:0/energy_uj", "1\n" } },
		  { "powercap package-0 " POWERCAP "intel-rapl:0/energy_uj",
		    "powercap dram " POWERCAP "intel-rapl:0:0/energy_uj" } },
		/* chips by their figures; the second is without a name */
		{ { { HWMON "hwmon0/name", "power_meter\n" },
		    { HWMON "hwmon0/power1_average", "1\n" },
		    { HWMON "hwmon0/power1_average_interval", "1000\n" },
		    { HWMON "hwmon0/temp1_input", "1\n" },
		    { HWMON "hwmon1/energy1_input", "1\n" } },
		  { "hwmon hwmon1 energy1 " HWMON "hwmon1/energy1_input",
		    "hwmon power_meter power1 " HWMON "hwmon0/power1_average" } },
		/* files of older drivers are the device's */
		{ { { HWMON "hwmon0/name", "power_meter\n" },
		    { HWMON "hwmon0/device/power1_average", "1\n" },
		    { HWMON "hwmon1/name", "amd_energy\n" },
		    { HWMON "hwmon1/energy1_input", "1\n" },
		    { HWMON "hwmon1/device/energy1_input", "1\n" } },
		  { "hwmon amd_energy energy1 " HWMON "hwmon1/energy1_input",
		    "hwmon power_meter power1 " HWMON "hwmon0/device/power1_average" } },
		/* the board and the blade */
		{ { { "dev/ipmi0", "" }, { "sys/cray/pm_counters/energy", "12 J 34 us\n" } },
		  { "ipmi DCMI power dev/ipmi0", "pm_counters energy sys/cray/pm_counters/energy" } },
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char name[] = { 'r', 'o', 'w', (char)('0' + i), '\0' };
		_cleanup_close_ int root = tree_open(name);
		_cleanup_(sensors_clear) struct sensors s = {};

		for (size_t f = 0; f < ARRAY_SIZE(rows[i].files) && rows[i].files[f].path; f++)
			tree_write(root, rows[i].files[f].path, rows[i].files[f].text);
		ASSERT_OK(sensors_read(root, &s));
		ASSERT_EQ(s.count, ARRAY_SIZE(rows[i].found));
		for (size_t k = 0; k < s.count; k++) {
			char text[512];

			snprintf(text, sizeof(text), "%s %s %s", s.items[k].source, s.items[k].name,
				 s.items[k].path);
			ASSERT_STREQ(text, rows[i].found[k]);
			ASSERT(s.items[k].is_readable);
		}
	}
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
