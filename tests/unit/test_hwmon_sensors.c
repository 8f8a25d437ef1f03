/* SPDX-License-Identifier: MIT */
/* Trees of files as the drivers make them: layouts from the kernel's documentation
 * (acpi_power_meter, amdgpu) and from NVIDIA's Grace Performance Tuning Guide, not captured. */
#include "sources/hwmon.h"

#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "test.h"
#include "tree.h"

#define HWMON "sys/class/hwmon/hwmon"

static void write_chip(int fd, unsigned int number, const char *file, const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), HWMON "%u/%s", number, file);
	tree_write(fd, path, text);
}

static void write_meter(int fd, unsigned int number, const char *oem_info)
{
	write_chip(fd, number, "name", "power_meter\n");
	write_chip(fd, number, "device/power1_average", "151000000\n");
	write_chip(fd, number, "device/power1_average_interval", "50\n");
	write_chip(fd, number, "device/power1_is_battery", "0\n");
	write_chip(fd, number, "device/power1_oem_info", oem_info);
}

static const struct hwmon_sensor *find(const struct hwmon_sensors *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i].energy.name, name) == 0)
			return &list->items[i];
	}
	return NULL;
}

static void expect(const struct hwmon_sensors *list, const char *name, enum energy_level level,
		   enum energy_part part, uint32_t socket)
{
	const struct hwmon_sensor *s = find(list, name);

	ASSERT(s != NULL);
	ASSERT_EQ((unsigned int)s->energy.level, (unsigned int)level);
	ASSERT_EQ((unsigned int)s->energy.part, (unsigned int)part);
	ASSERT_EQ(s->energy.socket, socket);
}

TEST(the_acpi_meter_sees_the_node)
{
	_cleanup_close_ int fd = tree_open("made-hwmon-acpi");
	struct hwmon_sensors list;

	write_meter(fd, 0, "\n");
	hwmon_sensors_find(fd, &list);
	ASSERT_EQ(list.count, UINT64_C(1));
	expect(&list, "power_meter hwmon0 power1", ENERGY_NODE, ENERGY_ALL, ENERGY_SOCKET_ANY);
	ASSERT_STREQ(list.items[0].path, HWMON "0/device/power1_average");
}

TEST(files_of_older_drivers_are_the_devices)
{
	_cleanup_close_ int fd = tree_open("made-hwmon-device");
	struct hwmon_sensors list;

	write_chip(fd, 2, "device/name", "ibmpowernv\n");
	write_chip(fd, 2, "device/power1_input", "151000000\n");
	write_chip(fd, 2, "device/fan1_input", "1013\n");
	write_chip(fd, 3, "name", "xe\n");
	write_chip(fd, 3, "energy1_input", "7\n");
	write_chip(fd, 3, "device/energy1_input", "7\n"); /* not a second time */
	hwmon_sensors_find(fd, &list);
	ASSERT_EQ(list.count, UINT64_C(3));
	expect(&list, "ibmpowernv hwmon2 power1", ENERGY_PART, ENERGY_MODULE, ENERGY_SOCKET_ANY);
	ASSERT_STREQ(find(&list, "ibmpowernv hwmon2 power1")->path, HWMON "2/device/power1_input");
	ASSERT_STREQ(find(&list, "xe hwmon3 energy1")->path, HWMON "3/energy1_input");
}

TEST(of_several_acpi_meters_nobody_knows_which_is_the_node)
{
	_cleanup_close_ int fd = tree_open("made-hwmon-meters");
	struct hwmon_sensors list;

	write_meter(fd, 0, "\n");
	write_meter(fd, 1, "PSU 1\n");
	hwmon_sensors_find(fd, &list);
	expect(&list, "power_meter hwmon0 power1", ENERGY_PART, ENERGY_MODULE, ENERGY_SOCKET_ANY);
	expect(&list, "power_meter hwmon1 power1", ENERGY_PART, ENERGY_MODULE, ENERGY_SOCKET_ANY);
}

TEST(grace_contains_cpu_and_sysio_and_is_in_module)
{
	_cleanup_close_ int fd = tree_open("made-hwmon-grace");
	struct hwmon_sensors list;

	write_meter(fd, 1, "Module Power Socket 0\n");
	write_meter(fd, 2, "Grace Power Socket 0\n");
	write_meter(fd, 3, "CPU Power Socket 0\n");
	write_meter(fd, 4, "SysIO Power Socket 0\n");
	write_meter(fd, 5, "Grace Power Socket 1\n");
	hwmon_sensors_find(fd, &list);
	ASSERT_EQ(list.count, UINT64_C(5));
	expect(&list, "Module Power Socket 0", ENERGY_COMPONENT, ENERGY_MODULE, 0);
	expect(&list, "Grace Power Socket 0", ENERGY_COMPONENT, ENERGY_PACKAGE, 0);
	expect(&list, "Grace Power Socket 1", ENERGY_COMPONENT, ENERGY_PACKAGE, 1);
	expect(&list, "CPU Power Socket 0", ENERGY_PART, ENERGY_CORES, 0);
	expect(&list, "SysIO Power Socket 0", ENERGY_PART, ENERGY_IO, 0);
	ASSERT(find(&list, "Module Power Socket 0")->energy.contains & 1u << ENERGY_PACKAGE);
}

TEST(a_mean_over_minutes_or_over_nobody_knows_what_is_left_out)
{
	_cleanup_close_ int fd = tree_open("made-hwmon-mean");
	struct hwmon_sensors list;

	write_meter(fd, 0, "\n");
	write_chip(fd, 0, "device/power1_average_interval", "60001\n");
	hwmon_sensors_find(fd, &list);
	ASSERT_EQ(list.count, UINT64_C(0));
	ASSERT_EQ(list.left_out, UINT64_C(1));
	write_chip(fd, 0, "device/power1_average_interval", "not known\n");
	hwmon_sensors_find(fd, &list);
	ASSERT_EQ(list.count, UINT64_C(0));
	write_chip(fd, 0, "device/power1_average_interval", "60000\n");
	hwmon_sensors_find(fd, &list);
	ASSERT_EQ(list.count, UINT64_C(1));
	write_chip(fd, 0, "device/power1_is_battery", "1\n");
	hwmon_sensors_find(fd, &list);
	ASSERT_EQ(list.count, UINT64_C(0));
}

TEST(a_gpu_is_one_sensor_with_its_temperatures_and_fan_beside_it)
{
	_cleanup_close_ int fd = tree_open("made-hwmon-amdgpu");
	struct hwmon_sensors list;

	for (unsigned int i = 3; i < 5; i++) {
		char path[64];

		write_chip(fd, i, "name", "amdgpu\n");
		write_chip(fd, i, "power1_average", "89000000\n");
		write_chip(fd, i, "power1_input", "91000000\n");
		write_chip(fd, i, "power1_label", "PPT\n");
		write_chip(fd, i, "power1_cap", "300000000\n");
		write_chip(fd, i, "temp1_input", "47000\n");
		write_chip(fd, i, "temp1_crit", "100000\n");
		write_chip(fd, i, "fan1_input", "1013\n");
		snprintf(path, sizeof(path), HWMON "%u/device", i);
		tree_link(fd, path, i == 3 ? "../../../0000:c1:00.0" : "../../../0000:c5:00.0");
	}
	hwmon_sensors_find(fd, &list);
	ASSERT_EQ(list.per_kind[HWMON_POWER], UINT64_C(2));
	ASSERT_EQ(list.per_kind[HWMON_TEMPERATURE], UINT64_C(2));
	ASSERT_EQ(list.per_kind[HWMON_FAN], UINT64_C(2));
	expect(&list, "amdgpu 0000:c1:00.0 power1", ENERGY_COMPONENT, ENERGY_GPU, 0);
	expect(&list, "amdgpu 0000:c5:00.0 power1", ENERGY_COMPONENT, ENERGY_GPU, 1);
	ASSERT_STREQ(find(&list, "amdgpu 0000:c1:00.0 power1")->path, HWMON "3/power1_average");
}

TEST(a_counter_of_energy_comes_before_a_power_and_cores_are_left_out)
{
	_cleanup_close_ int fd = tree_open("made-hwmon-energy");
	struct hwmon_sensors list;

	write_chip(fd, 0, "name", "amd_energy\n");
	write_chip(fd, 0, "energy1_input", "1\n");
	write_chip(fd, 0, "energy1_label", "Ecore000\n");
	write_chip(fd, 0, "energy2_input", "2\n");
	write_chip(fd, 0, "energy2_label", "Esocket1\n");
	write_chip(fd, 1, "name", "i915\n");
	write_chip(fd, 1, "energy1_input", "3\n");
	write_chip(fd, 1, "power1_average", "4\n");
	hwmon_sensors_find(fd, &list);
	expect(&list, "Esocket1", ENERGY_COMPONENT, ENERGY_PACKAGE, 1);
	expect(&list, "i915 hwmon1 energy1", ENERGY_COMPONENT, ENERGY_GPU, 0);
	ASSERT_EQ(list.per_kind[HWMON_POWER], UINT64_C(0));
	ASSERT_EQ(list.per_kind[HWMON_ENERGY], UINT64_C(2));
}

TEST(what_no_row_knows_is_a_part_and_packages_are_another_sources)
{
	_cleanup_close_ int fd = tree_open("made-hwmon-unknown");
	struct hwmon_sensors list;

	write_chip(fd, 0, "name", "ina226\n");
	write_chip(fd, 0, "power1_input", "17000000\n");
	write_chip(fd, 1, "name", "coretemp\n");
	write_chip(fd, 1, "temp1_input", "61000\n");
	write_chip(fd, 2, "name", "nvme\n");
	write_chip(fd, 2, "temp1_input", "38850\n");
	hwmon_sensors_find(fd, &list);
	ASSERT_EQ(list.count, UINT64_C(2));
	expect(&list, "ina226 hwmon0 power1", ENERGY_PART, ENERGY_MODULE, ENERGY_SOCKET_ANY);
	ASSERT_STREQ(list.items[1].chip, "nvme");
}
