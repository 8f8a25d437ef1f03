/* SPDX-License-Identifier: MIT */
/*
 * correlation - whether two series of a timeline rise and fall together: Pearson's r.
 *
 * Its n says how many readings it is of, which may be fewer than buckets: a timeline divides what
 * came between two readings over the buckets in between, so that these are one look and not many.
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
 * Of @count buckets, TIMELINE_BUCKETS_MAX at most, those in which both are known (NAN: not known).
 * Neighbours in which both are the same to a millionth are of one reading (as are two in which
 * nothing happened), and a single bucket beside such a run is a mix of two.
 * False: too few readings, or one of the series stands still.
 */
bool correlation_of(const double *x, const double *y, size_t count, struct correlation *ret);
