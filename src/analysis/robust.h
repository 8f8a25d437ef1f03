/* SPDX-License-Identifier: MIT */
/*
 * robust - the middle and the spread of numbers, which a few that lie far off do not move (Huber
 * 1981).
 */
#pragma once

#include <stddef.h>

/* The median of @count numbers, which are put in order.  NAN: there are none. */
double robust_median(double *numbers, size_t count);

/* 1.4826 times the median distance from @middle: of normal noise its standard deviation.  The
 * numbers are lost. */
double robust_scatter(double *numbers, size_t count, double middle);
