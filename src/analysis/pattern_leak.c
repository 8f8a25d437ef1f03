/* SPDX-License-Identifier: MIT */
/*
 * A leak: memory that grows along a line through the second half of a job.
 *
 * The slope is the median of the slopes between all pairs of points (Theil 1950, Sen 1968);
 * ClusterCockpit's rule asks for a slope after ten minutes, too. A slope alone proves nothing: a
 * random walk has one as well. So the growth must be many times the scatter around the line, and
 * many times that of a random walk with steps of this size (the second half has BLOCKS parts, whose
 * medians make the steps). And since the kernel counts the page cache as the job's memory, growth
 * must be more than the bytes read and written meanwhile.
 */
#include "basic/macro.h"
#include "analysis/pattern_internal.h"
#include "analysis/robust.h"

#define POINTS_MAX 64
#define BLOCKS 16

struct line {
	size_t count;
	double at[POINTS_MAX], bytes[POINTS_MAX]; /* seconds since the first bucket */
	double slope, begin; /* at second 0 */
	double scatter;
	double pairs[POINTS_MAX * (POINTS_MAX - 1) / 2];
};

static size_t count_known(const struct rates *r, size_t first)
{
	size_t known = 0;

	for (size_t i = first; i < r->count; i++)
		known += !isnan(r->of[RATE_MEMORY][i]);
	return known;
}

static void take_points(const struct rates *r, size_t first, struct line *line)
{
	size_t step = MAX((count_known(r, first) + POINTS_MAX - 1) / POINTS_MAX, (size_t)1);
	size_t known = 0;

	for (size_t i = first; i < r->count; i++) {
		if (isnan(r->of[RATE_MEMORY][i]) || known++ % step)
			continue;
		line->at[line->count] = ((double)i + 0.5) * r->interval;
		line->bytes[line->count++] = r->of[RATE_MEMORY][i];
	}
}

static void fit(struct line *line)
{
	double rest[POINTS_MAX];
	size_t pairs = 0;

	for (size_t i = 0; i < line->count; i++) {
		for (size_t k = i + 1; k < line->count; k++)
			line->pairs[pairs++] = (line->bytes[k] - line->bytes[i]) /
					       (line->at[k] - line->at[i]);
	}
	line->slope = robust_median(line->pairs, pairs);
	for (size_t i = 0; i < line->count; i++)
		rest[i] = line->bytes[i] - line->slope * line->at[i];
	line->begin = robust_median(rest, line->count);
	line->scatter = robust_scatter(rest, line->count, line->begin);
}

/* Growth over the standard deviation of a random walk with such steps. NAN: a part is not known. */
static double steadiness(const struct rates *r, size_t first)
{
	double medians[BLOCKS], values[TIMELINE_BUCKETS_MAX], rise, mean, sum = 0;

	for (size_t block = 0; block < BLOCKS; block++) {
		size_t from = first + block * (r->count - first) / BLOCKS;
		size_t to = first + (block + 1) * (r->count - first) / BLOCKS, known = 0;

		for (size_t i = from; i < to; i++) {
			if (!isnan(r->of[RATE_MEMORY][i]))
				values[known++] = r->of[RATE_MEMORY][i];
		}
		medians[block] = robust_median(values, known);
	}
	rise = medians[BLOCKS - 1] - medians[0];
	mean = rise / (BLOCKS - 1);
	for (size_t i = 0; i + 1 < BLOCKS; i++)
		sum += pow(medians[i + 1] - medians[i] - mean, 2);
	return rise / sqrt(sum / (BLOCKS - 2) * (BLOCKS - 1));
}

/* Read and written in that time; NAN: not known. */
static double io_bytes(const struct rates *r, size_t first)
{
	double sum = 0;

	for (size_t i = first; i < r->count; i++)
		sum += rates_io(r, i) * r->width[i];
	return sum;
}

static double growth_of(const struct rates *r, size_t first, const struct line *line)
{
	return line->slope * rates_seconds(r, first, r->count);
}

static bool is_leak(const struct leak_settings *s, const struct rates *r, size_t first,
		    const struct line *line)
{
	double growth = growth_of(r, first, line);
	double middle = line->begin + line->slope * (line->at[0] + line->at[line->count - 1]) / 2;

	return growth >= s->bytes && growth >= s->growth * middle &&
	       growth >= s->scatter * line->scatter && steadiness(r, first) >= s->steady &&
	       growth > s->cache * io_bytes(r, first);
}

void find_leak(const struct leak_settings *s, const struct rates *r, double limit,
	       struct patterns *patterns)
{
	size_t first = r->count / 2, known = count_known(r, first);
	struct line line = {};
	struct pattern *p;
	double end;

	pattern_begin(patterns, PATTERN_LEAK, r, 2 * s->time);
	if ((double)known < s->buckets || 2 * known < r->count - first ||
	    rates_seconds(r, first, r->count) < s->time || isnan(io_bytes(r, first)))
		return;
	patterns->counts[PATTERN_LEAK] = amount_of(0);
	take_points(r, first, &line);
	fit(&line);
	if (line.slope <= 0 || !is_leak(s, r, first, &line))
		return;
	p = pattern_add(patterns, PATTERN_LEAK, r, first, r->count);
	p->numbers[LEAK_RATE] = amount_of(line.slope);
	p->numbers[LEAK_GROWTH] = amount_of(growth_of(r, first, &line));
	end = line.begin + line.slope * ((double)r->count * r->interval);
	if (!isnan(limit))
		p->numbers[LEAK_LIMIT_SECONDS] = amount_of(fmax(0, (limit - end) / line.slope));
}
