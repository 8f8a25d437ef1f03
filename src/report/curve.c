/* SPDX-License-Identifier: MIT */
#include "report/curve.h"

#include <math.h>

#include "basic/macro.h"

struct curve_axis curve_axis_of(const struct over_time *time, size_t room)
{
	struct curve_axis axis = { .time = time, .group = (time->count + room - 1) / room };

	axis.columns = (time->count + axis.group - 1) / axis.group;
	axis.wide = MAX(room / axis.columns, (size_t)1);
	return axis;
}

/* The mean of a rate over the time in which the job ran, the greatest of what is none; NAN: not
 * known. */
static double column_of(const struct curve_axis *axis, const double *values, size_t column,
			bool is_rate)
{
	const double *edges = axis->time->edges;
	size_t first = column * axis->group, end = MIN(first + axis->group, axis->time->count);
	double sum = 0, greatest = NAN, ran = 0;

	for (size_t i = first; i < end; i++) {
		ran += edges[i + 1] - edges[i];
		if (isnan(values[i]))
			continue;
		sum += values[i] * over_time_part(axis->time, i);
		greatest = fmax(greatest, values[i]);
	}
	return isnan(greatest) || !is_rate
		       ? greatest
		       : sum / (ran > 0 ? ran : (double)(end - first) * axis->time->width);
}

bool curve_of(const struct plot *plot, size_t i, const struct curve_axis *axis, struct curve *ret)
{
	size_t begin = plot->word ? 0 : i, end = plot->word ? plot->count : i + 1;

	*ret = (struct curve){ .name = plot->word };
	if (i >= (plot->word ? MIN(plot->count, (size_t)1) : plot->count))
		return false;
	if (!plot->word)
		ret->name = plot->layers[i].word;
	for (size_t k = 0; k < axis->columns; k++) {
		for (size_t layer = begin; layer < end; layer++)
			ret->values[k] += column_of(axis, plot->layers[layer].values, k,
						    plot->kind != AXIS_BYTES);
		ret->greatest = fmax(ret->greatest, ret->values[k]);
	}
	for (size_t k = 0; k < axis->time->count; k++) {
		double all = 0;

		for (size_t layer = begin; layer < end; layer++)
			all += plot->layers[layer].values[k];
		ret->most = fmax(ret->most, all);
	}
	return true;
}

struct human curve_format(double value, enum axis_kind kind)
{
	return kind == AXIS_NUMBER ? humanize_cores((uint64_t)fmin(value * 1000, 1e18))
				   : axis_format(value, kind);
}
