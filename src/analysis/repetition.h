/* SPDX-License-Identifier: MIT */
/*
 * repetition - how much the numbers of a command vary when it is run again and again.
 *
 * A run is an outlier where it lies further from the median than five times the scatter (1.4826
 * times the median distance from the median: Huber 1981), and than a tenth of the median.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analysis/amount.h"

struct record;
struct variable;

#define REPETITION_OUTLIERS_MIN 5 /* of fewer runs none is called an outlier */

struct repetition {
	size_t known; /* runs in which the number is known; the rest holds if it is not 0 */
	double mean, least, greatest, median;
	double deviation; /* the sample's standard deviation; 0 of one run */
	double limit; /* how far from the median no run is an outlier; INFINITY of few runs */
};

/* Of @variable, not of a mount, over @count records. -ENOMEM. */
int repetition_make(const struct variable *variable, struct record *const *records, size_t count,
		    struct repetition *ret);

/* Is @a known, and an outlier? */
bool repetition_is_outlier(const struct repetition *r, struct amount a);
