/* SPDX-License-Identifier: MIT */
/* thermal_samples - how fast the CPUs that a job may use ran and how warm their packages were, at
 * the moments at which somebody looked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/reading.h"

/* Of some CPUs, at one moment; begins as {}, where nothing is known. */
struct thermal_moment {
	size_t cpus; /* whose frequency is known; 0: then there is no frequency */
	uint64_t frequency_hz, frequency_min_hz, frequency_max_hz; /* the mean, the least, the
								      greatest */
	bool has_temperature;
	uint64_t millicelsius; /* the greatest of their packages' */
	bool has_throttles;
	uint64_t core_throttles, package_throttles; /* since the moment before; of a core with
						       several CPUs once */
	uint64_t core_throttles_total, package_throttles_total; /* since the node was started */
};

/* What is scraped of a job's last moment; begins as {}, where nothing is known.  Small, since of
 * 1,024 jobs it is kept several times. */
struct thermal_now {
	uint32_t frequency_khz, frequency_min_khz; /* as cpufreq tells it; 0: not known */
	uint32_t millicelsius;
	uint32_t core_throttles; /* since the first moment */
	bool has_temperature, has_throttles;
};

struct thermal_sums;
/* @s: all that came until this moment, which it has taken in. */
struct thermal_now thermal_now_of(const struct thermal_moment *m, const struct thermal_sums *s);
/* What it says of a metric of SCOPE_JOB_NOW or SCOPE_JOB_COURSE. */
struct value thermal_now_value(const struct thermal_now *now, enum metric_id id);

/* What moments add up to; begins as {}. All are numbers, which are written down in this order. */
struct thermal_sums {
	uint64_t samples;
	uint64_t frequency_samples, frequency_sum_hz, frequency_min_hz;
	uint64_t temperature_samples, temperature_sum, temperature_max; /* millicelsius */
	uint64_t throttle_samples, core_throttles, package_throttles;
};
#define THERMAL_SUMS (sizeof(struct thermal_sums) / sizeof(uint64_t))

/* What was throttled before the first moment is not the job's. */
void thermal_sums_add(struct thermal_sums *s, const struct thermal_moment *m);

/* The same as people want it; begins as {}, which is not known. */
struct thermal_samples {
	struct value samples;
	struct value frequency_hz, frequency_min_hz; /* the mean over moments and CPUs; the least of
							any */
	struct value temperature, temperature_max; /* millicelsius: the mean over moments; the
						      greatest */
	struct value core_throttles, package_throttles;
};

struct thermal_samples thermal_samples_of(const struct thermal_sums *s);
