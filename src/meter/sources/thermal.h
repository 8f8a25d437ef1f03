/* SPDX-License-Identifier: MIT */
/*
 * thermal - how fast the node's CPUs run and how warm their packages are, at a moment, and how
 * often they were slowed down for it: what sysfs says of frequency (cpufreq), temperature (hwmon,
 * thermal zones) and throttling.
 *
 * Samples: between two nothing is known of frequency and temperature; throttling is counted by the
 * kernel.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/sections/thermal_samples.h"

struct cpulist;
struct thermal;

#define THERMAL_SENSORS_MAX 256
#define THERMAL_PACKAGE_ANY UINT32_MAX

struct thermal_sensor {
	char chip[32], name[64]; /* "coretemp", "Package id 0" */
	char path[128]; /* below the root */
	uint32_t package; /* THERMAL_PACKAGE_ANY: not known whose it is */
	bool is_known; /* at the last sweep */
	uint64_t millicelsius;
};

/* What a record says of it begins with this. */
#define THERMAL_LABEL "frequency and temperature: "

/* Looks for what there is below @root_fd, the caller's; CPUs that come later are not seen. -ENOMEM.
 */
int thermal_open(int root_fd, struct thermal **ret);
struct thermal *thermal_close(struct thermal *t); /* NULL is fine; returns NULL */
void thermal_closep(struct thermal **t);

/* There is anything to be read. */
bool thermal_has_any(const struct thermal *t);

/* Read all of it now. */
void thermal_sweep(struct thermal *t);
/* What the last sweep found, of @cpus; NULL: of all. */
void thermal_get(const struct thermal *t, const struct cpulist *cpus, struct thermal_moment *ret);
const struct thermal_sensor *thermal_sensors(const struct thermal *t, size_t *ret_count);
