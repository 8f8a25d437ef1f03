/* SPDX-License-Identifier: MIT */
/* curve - a plot, or a layer of it, in a few columns of text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "basic/humanize.h"
#include "report/plot.h"

#define CURVE_MAX 48

/* How the columns lie over the buckets. */
struct curve_axis {
	const struct over_time *time;
	size_t group; /* buckets in a column */
	size_t columns, wide; /* width of each, more than 1 where there are few buckets */
};

struct curve {
	const char *name; /* "cores", "read" */
	double values[CURVE_MAX]; /* NAN: not known */
	double greatest; /* of them; 0: there was nothing */
	double most; /* of any bucket */
};

/* @room: at most CURVE_MAX. */
struct curve_axis curve_axis_of(const struct over_time *time, size_t room);

/* The @i-th curve of a plot: one of all its layers where it has a name, else one of each that has
 * one.  False: there is none. */
bool curve_of(const struct plot *plot, size_t i, const struct curve_axis *axis, struct curve *ret);

/* "2.1", "8 MiB/s" */
struct human curve_format(double value, enum axis_kind kind);
