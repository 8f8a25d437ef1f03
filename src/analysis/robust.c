/* SPDX-License-Identifier: MIT */
#include "analysis/robust.h"

#include <math.h>
#include <stdlib.h>

#include "basic/array.h"

double robust_median(double *numbers, size_t count)
{
	if (!count)
		return NAN;
	qsort(numbers, count, sizeof(*numbers), array_compare_doubles);
	return (numbers[(count - 1) / 2] + numbers[count / 2]) / 2;
}

double robust_scatter(double *numbers, size_t count, double middle)
{
	for (size_t i = 0; i < count; i++)
		numbers[i] = fabs(numbers[i] - middle);
	return 1.4826 * robust_median(numbers, count);
}
