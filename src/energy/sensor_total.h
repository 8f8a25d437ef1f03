/* SPDX-License-Identifier: MIT */
/*
 * sensor total - sums a sensor's energy since its source was opened, from a counter that wraps or
 * an integrated power.
 *
 * Pure: no clocks and no files.  All times are CLOCK_BOOTTIME in ns, which continues during a
 * suspend. A value that is not later than the previous one is left out.
 */
#pragma once

#include "model/energy_sensor.h"

/* A counter of energy that wraps at a known range, or does not. */
struct energy_counter { /* begins as {}, with its range and its greatest power set */
	uint64_t range_uj; /* the counter wraps to 0 after this; 0: unknown, and then an interval in
			      which it fell is a gap */
	uint64_t power_max_uw; /* more than this cannot go through the sensor; 0: 1 kW */
	struct energy_total total;
	bool has_last;
	uint64_t last_uj, last_ns;
};

/* If the counter can wrap twice since the last value, the interval is a gap. */
void energy_counter_take(struct energy_counter *c, uint64_t uj, uint64_t boot_ns);
/* The counter restarted (the driver was reloaded): the interval is a gap. */
void energy_counter_restart(struct energy_counter *c, uint64_t uj, uint64_t boot_ns);

/* A power that is read now and then: between two values the mean of both holds. */
struct energy_integral { /* begins as {}, with its limit set */
	uint64_t age_max_ns; /* two values further apart make a gap; 0: 60 s */
	struct energy_total total;
	bool has_last;
	uint64_t last_uw, last_ns;
	uint64_t rest; /* uW ns that make no whole microjoule yet */
	uint64_t gap_rest;
};

void energy_integral_take(struct energy_integral *i, uint64_t uw, uint64_t boot_ns);
