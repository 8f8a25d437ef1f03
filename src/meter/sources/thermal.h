/* SPDX-License-Identifier: MIT */
/*
 * thermal - frequencies of the node's CPUs and temperatures of their packages at a moment, and
 * counts of throttling, from sysfs: cpufreq, hwmon, thermal zones.
 *
 * Frequency and temperature are samples; the kernel counts throttling.
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
	uint32_t package; /* THERMAL_PACKAGE_ANY: not known */
	bool is_known; /* at the last sweep */
	uint64_t millicelsius;
};

/* Texts of a record about it begin with this. */
#define THERMAL_LABEL "frequency and temperature: "

/* Searches below @root_fd, the caller's, for what there is; CPUs that come later are not seen.
 * -ENOMEM. */
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

/* ---- too warm: how often, and for how long ---- */

/* An event lasts from the first sample that found it to the one that found it over. */

/* The default limits of an event. */
#define THERMAL_WARNING_CELSIUS 75
#define THERMAL_CRITICAL_CELSIUS 85

/* An event is over only when it is that much cooler, so that a temperature about the limit is one.
 */
#define THERMAL_EVENT_MARGIN UINT64_C(2000) /* millidegrees */

struct thermal_event { /* begins as {}, with its limit set */
	uint64_t limit; /* millidegrees Celsius */
	uint64_t count, ns; /* so far; never fall */
	bool is_on;
	uint64_t last_ns;
};

void thermal_event_take(struct thermal_event *e, uint64_t millicelsius, uint64_t boot_ns);
