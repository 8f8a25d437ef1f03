/* SPDX-License-Identifier: MIT */
/* axis - the round numbers that stand beside a plot. */
#pragma once

#include <stddef.h>

#include "basic/humanize.h"

#define TICKS_MAX 12

enum axis_kind {
	AXIS_NUMBER,
	AXIS_BYTES,
	AXIS_RATE, /* bytes per second */
	AXIS_TIME, /* in seconds */
	AXIS_POWER, /* watts */
};

struct ticks {
	double step;
	size_t count;
	double values[TICKS_MAX]; /* the first is 0 */
};

/* At most @wanted steps (1 to TICKS_MAX - 1) from 0, none of them beyond @most.  Of what is no
 * number above 0 there is 0 alone. */
struct ticks ticks_of(double most, enum axis_kind kind, size_t wanted);

/* "2.5", "512 MiB", "1 m 30 s", "163 W" */
struct human wire_snapshot_format(double value, enum axis_kind kind);
