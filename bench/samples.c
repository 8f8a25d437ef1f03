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

/* Without a sign before 0. */
static double rounded(double value, int places)
{
	double scale = pow(10, places);
	double result = round(value * scale) / scale;

	return result == 0 ? 0 : result;
}

void samples_print(struct samples *s, int places, FILE *out)
{
	if (s->count)
		fprintf(out, "%.*f (%.*f..%.*f)", places, rounded(samples_quantile(s, 0.5), places),
			places, rounded(samples_quantile(s, 0.25), places), places,
			rounded(samples_quantile(s, 0.75), places));
	else
		fputc('-', out);
}
