/* SPDX-License-Identifier: MIT */
#include "samples.h"

#include <math.h>
#include <stdlib.h>

void samples_add(struct samples *s, double value)
{
	if (s->count < SAMPLES_MAX)
		s->items[s->count++] = value;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double samples_quantile(struct samples *s, double share)
{
	double place, below;
	size_t i;

	if (!s->count)
		return NAN;
	qsort(s->items, s->count, sizeof(*s->items), compare);
	place = share * (double)(s->count - 1);
	i = (size_t)place;
	below = s->items[i];
	if (i + 1 >= s->count)
		return below;
	return below + (s->items[i + 1] - below) * (place - (double)i);
}
