/* SPDX-License-Identifier: MIT */
/*
 * hwmon - sensors below sys/class/hwmon: energy and power, with the part of the node that
 * they cover; temperatures; fans.
 *
 * One table maps chips to parts: the ACPI meter (of the node, and on NVIDIA Grace one for each of
 * Module, Grace, CPU and SysIO, identified by oem_info), GPUs of AMD and Intel, amd_energy. Other
 * chips are shown as parts, and never added. Temperatures of processor packages belong to the
 * source thermal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/energy_sensor.h"

#define HWMON_EACH_MAX 64 /* of each kind */
#define HWMON_PATH_SIZE 128
#define HWMON_PERIOD_MAX_MS 60000 /* of a mean: longer ones say nothing about now */

enum hwmon_kind {
	HWMON_ENERGY, /* microjoules */
	HWMON_POWER, /* microwatts */
	HWMON_TEMPERATURE, /* millidegrees Celsius */
	HWMON_FAN, /* turns a minute */
	HWMON_KIND_COUNT,
};

struct hwmon_sensor {
	enum hwmon_kind kind;
	char chip[33]; /* "amdgpu" */
	char path[HWMON_PATH_SIZE]; /* below the root */
	struct energy_sensor energy; /* of energies and powers */
};

struct hwmon_sensors {
	struct hwmon_sensor items[HWMON_KIND_COUNT * HWMON_EACH_MAX];
	size_t count;
	size_t per_kind[HWMON_KIND_COUNT];
	size_t left_out; /* means over more than HWMON_PERIOD_MAX_MS, or over an unknown period */
};

/* What is there now.  What is not there, or cannot be read, is no error. */
void hwmon_sensors_find(int root_fd, struct hwmon_sensors *ret);
