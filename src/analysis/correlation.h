/* SPDX-License-Identifier: MIT */
/*
 * correlation - Pearson's r of two series of a timeline.
 *
 * Its n is the number of readings, which may be less than that of buckets: a timeline divides the
 * change between two readings over the buckets in between, which are then one observation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CORRELATION_N_MIN 8 /* of fewer readings nothing is said */

struct correlation {
	double r; /* -1 to 1 */
	size_t n;
};

/*
 * Over @count buckets (at most TIMELINE_BUCKETS_MAX) in which both are known (NAN: not known).
 * Neighbours in which both are equal to a millionth are of one reading (so are two without
 * activity), and a single bucket beside such a run mixes two. False: too few readings, or a
 * constant series.
 */
bool correlation_of(const double *x, const double *y, size_t count, struct correlation *ret);
