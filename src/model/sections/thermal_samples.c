/* SPDX-License-Identifier: MIT */
#include "model/sections/thermal_samples.h"

#include "basic/macro.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"

#define HERTZ 1000 /* of a kilohertz */

void thermal_sums_add(struct thermal_sums *s, const struct thermal_moment *m)
{
	s->samples++;
	if (m->cpus) {
		s->frequency_min_hz = s->frequency_samples
					      ? MIN(s->frequency_min_hz, m->frequency_min_hz)
					      : m->frequency_min_hz;
		s->frequency_sum_hz += m->frequency_hz;
		s->frequency_samples++;
	}
	if (m->has_temperature) {
		s->temperature_max = MAX(s->temperature_max, m->millicelsius);
		s->temperature_sum += m->millicelsius;
		s->temperature_samples++;
	}
	if (m->has_throttles) {
		s->core_throttles += s->throttle_samples ? m->core_throttles : 0;
		s->package_throttles += s->throttle_samples ? m->package_throttles : 0;
		s->throttle_samples++;
	}
}

static struct value value_of(uint64_t number, bool is_known)
{
	return (struct value){ is_known ? MIN(number, VALUE_MAX) : 0, is_known };
}

struct thermal_now thermal_now_of(const struct thermal_moment *m, const struct thermal_sums *s)
{
	return (struct thermal_now){
		.frequency_khz =
			m->cpus ? (uint32_t)MIN(m->frequency_hz / HERTZ, UINT64_C(0xffffffff)) : 0,
		.frequency_min_khz = m->cpus ? (uint32_t)MIN(m->frequency_min_hz / HERTZ,
							     UINT64_C(0xffffffff))
					     : 0,
		.millicelsius = (uint32_t)MIN(m->millicelsius, UINT64_C(0xffffffff)),
		.has_temperature = m->has_temperature,
		.core_throttles = (uint32_t)MIN(s->core_throttles, UINT64_C(0xffffffff)),
		.has_throttles = m->has_throttles,
	};
}

struct value thermal_now_value(const struct thermal_now *now, enum metric_id id)
{
	const uint32_t khz = id == METRIC_JOB_FREQUENCY_MIN ? now->frequency_min_khz
							    : now->frequency_khz;

	if (id == METRIC_JOB_THROTTLES)
		return value_of(now->core_throttles, now->has_throttles);
	if (id == METRIC_JOB_TEMPERATURE)
		return value_of(now->millicelsius, now->has_temperature);
	return value_of((uint64_t)khz * HERTZ, khz > 0);
}

static struct value mean_of(uint64_t sum, uint64_t count)
{
	return value_of(count ? sum / count : 0, count > 0);
}

struct thermal_samples thermal_samples_of(const struct thermal_sums *s)
{
	return (struct thermal_samples){
		.samples = value_of(s->samples, s->samples > 0),
		.frequency_hz = mean_of(s->frequency_sum_hz, s->frequency_samples),
		.frequency_min_hz = value_of(s->frequency_min_hz, s->frequency_samples > 0),
		.temperature = mean_of(s->temperature_sum, s->temperature_samples),
		.temperature_max = value_of(s->temperature_max, s->temperature_samples > 0),
		.core_throttles = value_of(s->core_throttles, s->throttle_samples > 0),
		.package_throttles = value_of(s->package_throttles, s->throttle_samples > 0),
	};
}

static struct value merge_means(const struct value *a, uint64_t a_count, const struct value *b,
				uint64_t b_count)
{
	const unsigned __int128 count = (unsigned __int128)a_count + b_count;
	const unsigned __int128 sum = (unsigned __int128)a->number * a_count +
				      (unsigned __int128)b->number * b_count;

	return value_of(count ? (uint64_t)(sum / count) : 0, a->is_known && b->is_known && count);
}

static struct value sum_of(const struct value *a, const struct value *b)
{
	return value_of((uint64_t)a->number + b->number, a->is_known && b->is_known);
}

/* Known where both know it; means by their samples. */
static int thermal_merge(void *sum, const void *part)
{
	const struct thermal_samples *a = sum, *b = part;

	if (!a->samples.is_known || !b->samples.is_known) {
		*(struct thermal_samples *)sum = (struct thermal_samples){};
		return 0;
	}
	*(struct thermal_samples *)sum = (struct thermal_samples){
		.samples = sum_of(&a->samples, &b->samples),
		.frequency_hz = merge_means(&a->frequency_hz, a->samples.number, &b->frequency_hz,
					    b->samples.number),
		.frequency_min_hz =
			value_of(MIN(a->frequency_min_hz.number, b->frequency_min_hz.number),
				 a->frequency_min_hz.is_known && b->frequency_min_hz.is_known),
		.temperature = merge_means(&a->temperature, a->samples.number, &b->temperature,
					   b->samples.number),
		.temperature_max =
			value_of(MAX(a->temperature_max.number, b->temperature_max.number),
				 a->temperature_max.is_known && b->temperature_max.is_known),
		.core_throttles = sum_of(&a->core_throttles, &b->core_throttles),
		.package_throttles = sum_of(&a->package_throttles, &b->package_throttles),
	};
	return 0;
}

/* Means and extremes cannot be taken apart. */
static int thermal_subtract(void *later, const void *earlier, struct strings *notes UNUSED)
{
	if (((const struct thermal_samples *)earlier)->samples.is_known)
		*(struct thermal_samples *)later = (struct thermal_samples){};
	return 0;
}

static bool thermal_is_known(const void *section)
{
	return ((const struct thermal_samples *)section)->samples.is_known;
}

const struct section thermal_section = {
	.name = "thermal",
	.size = sizeof(struct thermal_samples),
	.offset = offsetof(struct record, thermal),
	.is_known = thermal_is_known,
	.add = thermal_merge,
	.subtract = thermal_subtract,
};
