/* SPDX-License-Identifier: MIT */
#include "sources/thermal_event.h"

#include "basic/macro.h"

void thermal_event_take(struct thermal_event *e, uint64_t millicelsius, uint64_t boot_ns)
{
	const uint64_t margin = e->is_on ? MIN(THERMAL_EVENT_MARGIN, e->limit) : 0;
	const bool is_on = millicelsius >= e->limit - margin;

	if (e->is_on)
		e->ns += boot_ns - e->last_ns;
	e->count += is_on && !e->is_on;
	e->is_on = is_on;
	e->last_ns = boot_ns;
}
