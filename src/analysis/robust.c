/* SPDX-License-Identifier: MIT */
#include "analysis/robust.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double robust_median(double *numbers, size_t count)
{
	if (!count)
		return NAN;
	qsort(numbers, count, sizeof(*numbers), compare);
	return (numbers[(count - 1) / 2] + numbers[count / 2]) / 2;
}

double robust_scatter(double *numbers, size_t count, double middle)
{
	for (size_t i = 0; i < count; i++)
		numbers[i] = fabs(numbers[i] - middle);
	return 1.4826 * robust_median(numbers, count);
}
