/* SPDX-License-Identifier: MIT */
#include "report/axis.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"

#define MOST 1e18 /* larger numbers are printed as this */

/* 1, 2, 5, 10, 20... times 10^k, but not below @least. */
static double decimal_step(double least)
{
	double power = pow(10, floor(log10(least)));

	if (least <= power)
		return power;
	if (least <= 2 * power)
		return 2 * power;
	return least <= 5 * power ? 5 * power : 10 * power;
}

static double time_step(double least)
{
	static const double steps[] = { 1,   2,	  5,	10,   15,   30,	   60,	  120,	 300,
					600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400 };
	const double day = 86400;

	if (least > day)
		return day * decimal_step(least / day);
	for (size_t i = 0; least > 0.5 && i < ARRAY_SIZE(steps); i++) {
		if (steps[i] >= least)
			return steps[i];
	}
	return decimal_step(least);
}

static double step_of(double least, enum axis_kind kind)
{
	switch (kind) {
	case AXIS_BYTES:
	case AXIS_RATE:
		return exp2(ceil(log2(fmax(1, least))));
	case AXIS_TIME:
		return time_step(least);
	default:
		return decimal_step(least);
	}
}

struct ticks ticks_of(double most, enum axis_kind kind, size_t wanted)
{
	struct ticks ticks = { .count = 1 };
	size_t steps;

	assert(wanted > 0 && wanted < TICKS_MAX);
	if (!(most > 1e-12))
		return ticks;
	most = fmin(most, MOST);
	ticks.step = step_of(most / (double)wanted, kind);
	steps = (size_t)floor(most / ticks.step * (1 + 1e-9));
	for (; ticks.count <= MIN(steps, (size_t)TICKS_MAX - 1); ticks.count++)
		ticks.values[ticks.count] = (double)ticks.count * ticks.step;
	return ticks;
}

static struct human format_time(double seconds)
{
	static const struct {
		double seconds;
		const char *name;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "m" }, { 1, "s" } };
	struct human h = { "0" };
	size_t used = 0;

	if (seconds > 0 && seconds < 1)
		return humanize_duration((uint64_t)(seconds * 1e9 + 0.5));
	seconds = fmin(floor(seconds + 0.5), MOST);
	for (size_t i = 0; i < ARRAY_SIZE(units) && used < sizeof(h.text); i++) {
		double whole = floor(seconds / units[i].seconds);

		if (whole < 1)
			continue;
		seconds -= whole * units[i].seconds;
		used += (size_t)snprintf(h.text + used, sizeof(h.text) - used, "%s%.0f %s",
					 used ? " " : "", whole, units[i].name);
	}
	return h;
}

struct human wire_snapshot_format(double value, enum axis_kind kind)
{
	struct human h;

	switch (kind) {
	case AXIS_BYTES:
		return humanize_bytes((uint64_t)fmin(value, MOST));
	case AXIS_RATE:
		h = humanize_bytes((uint64_t)fmin(value, MOST));
		snprintf(h.text + strnlen(h.text, sizeof(h.text) - 3), 3, "/s");
		return h;
	case AXIS_TIME:
		return format_time(value);
	case AXIS_POWER:
		snprintf(h.text, sizeof(h.text), "%.4g W", fmin(value, MOST));
		return h;
	default:
		snprintf(h.text, sizeof(h.text), "%.6g", fmin(value, MOST));
		return h;
	}
}
