/* SPDX-License-Identifier: MIT */
/* thermal_event - times in which something is too warm: how many, and how long they were.  Between
 * two samples nothing is known: an event lasts from the first that found it to the one that found
 * it over. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* From which on an event begins, where nobody set another. */
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
