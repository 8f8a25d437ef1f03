/* SPDX-License-Identifier: MIT */
/*
 * over_time - a record's timeline as plots need it: rates, from the start of the elapsed time to
 * its end.
 *
 * The first and the last bucket are shorter than the others, since the job ran in a part of them
 * only; their rates are over that part.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/timeline.h"

struct record;

struct over_time {
	double span; /* seconds from start to end */
	double width; /* of a whole bucket, in seconds */
	size_t count; /* of buckets */
	bool has_gaps; /* not measured at the beginning or at the end */
	double edges[TIMELINE_BUCKETS_MAX + 1]; /* seconds since the start, from 0 to span */
};

/* False: the record has no timeline. */
bool over_time_of(const struct record *r, struct over_time *ret);

/* Over how many seconds the rate of a bucket is. */
double over_time_part(const struct over_time *t, size_t bucket);

/* What a counter gained per second, or a gauge's value, in base units; NAN where it is not known.
 * False: it is not known at all. */
bool over_time_values(const struct over_time *t, const struct record *r, enum metric_id id,
		      double ret[TIMELINE_BUCKETS_MAX]);

/* Over what is known of @values: their mean and the greatest.  False: nothing is. */
bool over_time_sum_up(const struct over_time *t, const double *values, double *ret_mean,
		      double *ret_most);
