/* SPDX-License-Identifier: MIT */
#include "analysis/correlation.h"

#include <math.h>

#include "basic/macro.h"
#include "model/timeline.h"

#define SAME 1e-6 /* of a value: buckets of one reading differ by their rounding */

struct pairs {
	size_t count;
	double x[TIMELINE_BUCKETS_MAX], y[TIMELINE_BUCKETS_MAX];
};

static bool is_same(double a, double b)
{
	return fabs(a - b) <= SAME * fmax(fabs(a), fabs(b));
}

/* Runs in which neither changes, and single buckets that are in no place beside one. */
static size_t count_readings(const struct pairs *p)
{
	const size_t count = p->count;
	size_t lengths[TIMELINE_BUCKETS_MAX + 2] = {}, runs = 0, n = 0; /* none before, none after
									 */

	for (size_t i = 0; i < count; i++) {
		runs += i == 0 || !is_same(p->x[i - 1], p->x[i]) || !is_same(p->y[i - 1], p->y[i]);
		lengths[runs]++;
	}
	for (size_t i = 1; i <= runs; i++)
		n += lengths[i] > 1 || (lengths[i - 1] < 2 && lengths[i + 1] < 2);
	return n;
}

/* The values become their distances from the mean.  Returns their squares' sum; 0: all are the
 * same. */
static double center(double *values, size_t count)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < count; i++)
		mean += values[i] / (double)count;
	for (size_t i = 0; i < count; i++) {
		values[i] -= mean;
		squares += values[i] * values[i];
	}
	return sqrt(squares / (double)count) > SAME * fabs(mean) ? squares : 0;
}

bool correlation_of(const double *x, const double *y, size_t count, struct correlation *ret)
{
	struct pairs p = {};
	double xx, yy, xy = 0;
	size_t n;

	for (size_t i = 0; i < MIN(count, (size_t)TIMELINE_BUCKETS_MAX); i++) {
		if (isnan(x[i]) || isnan(y[i]))
			continue;
		p.x[p.count] = x[i];
		p.y[p.count++] = y[i];
	}
	n = count_readings(&p);
	if (n < CORRELATION_N_MIN)
		return false;
	xx = center(p.x, p.count);
	yy = center(p.y, p.count);
	for (size_t i = 0; i < p.count; i++)
		xy += p.x[i] * p.y[i];
	if (xx <= 0 || yy <= 0)
		return false;
	*ret = (struct correlation){ .r = fmax(-1, fmin(1, xy / sqrt(xx * yy))), .n = n };
	return true;
}
