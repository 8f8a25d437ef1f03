/* SPDX-License-Identifier: MIT */
#include "energy/start.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/macro.h"

#define HOUR_NS (UINT64_C(3600) * 1000000000)
#define PAIRS_MAX 4096 /* the newest */

static bool is_forecast(const struct emission_factor *f, const char *zone)
{
	return f->kind == EMISSION_FORECAST && strcmp(f->zone, zone) == 0;
}

/* NAN: the forecasts have a gap, or end. */
static double mean_over(const struct emission_factors *table, const char *zone, uint64_t from_ns,
			uint64_t length_ns)
{
	const uint64_t end_ns = from_ns + length_ns;
	double sum = 0;

	for (uint64_t at_ns = from_ns; at_ns < end_ns;) {
		const struct emission_factor *f = emission_factor_at(table, zone, EMISSION_FORECAST,
								     at_ns);
		uint64_t until_ns;
		double grams;

		if (!f || at_ns >= f->until_ns)
			return NAN;
		grams = (double)f->milligrams / 1000;
		until_ns = MIN(f->until_ns, end_ns);
		/* up to the next that begins later, for intervals may lie within others */
		for (f++; f < table->items + table->count && is_forecast(f, zone); f++) {
			if (f->from_ns > at_ns) {
				until_ns = MIN(until_ns, f->from_ns);
				break;
			}
		}
		sum += grams * (double)(until_ns - at_ns);
		at_ns = until_ns;
	}
	return sum / (double)length_ns;
}

/* log(came / forecast) of an interval by its first forecast, the one made furthest ahead; NAN: one
 * of them is not known. */
static double miss_of(const struct emission_factors *table, const struct start_question *q,
		      const struct emission_factor *first)
{
	const struct emission_factor *came = emission_factor_at(table, q->zone, q->kind,
								first->from_ns);

	if (!came || came->until_ns <= first->from_ns || !came->milligrams || !first->milligrams)
		return NAN;
	return log((double)came->milligrams / (double)first->milligrams);
}

/* How wrong the ratio of two factors was that were as far apart as now and the start: the width on
 * the scale of logarithms that START_NOMINAL of the past pairs were within; negative: too few. */
static double ratio_width(const struct emission_factors *table, const struct start_question *q,
			  uint64_t shift_ns, unsigned int *ret_pairs)
{
	_cleanup_free_ double *misses = calloc(PAIRS_MAX, sizeof(*misses));
	size_t count = 0, rank, later = 0;

	for (size_t i = 0; misses && i < table->count; i++) {
		const struct emission_factor *f = &table->items[i], *pair;
		double miss;

		if (!is_forecast(f, q->zone) || f->from_ns + shift_ns >= q->now_ns ||
		    (i > 0 && is_forecast(f - 1, q->zone) && f[-1].from_ns == f->from_ns))
			continue;
		for (later = MAX(later, i + 1); later < table->count; later++) {
			pair = &table->items[later];
			if (!is_forecast(pair, q->zone) || pair->from_ns >= f->from_ns + shift_ns)
				break;
		}
		pair = &table->items[later];
		if (later == table->count || !is_forecast(pair, q->zone) ||
		    pair->from_ns >= MIN(q->now_ns, f->from_ns + shift_ns + HOUR_NS))
			continue;
		miss = miss_of(table, q, pair) - miss_of(table, q, f);
		if (!isnan(miss))
			misses[count++ % PAIRS_MAX] = fabs(miss);
	}
	count = MIN(count, (size_t)PAIRS_MAX);
	*ret_pairs = (unsigned int)count;
	rank = (size_t)ceil((double)(count + 1) * START_NOMINAL);
	if (!misses || count < START_PAIRS_LEAST || rank > count)
		return -1;
	qsort(misses, count, sizeof(*misses), array_compare_doubles);
	return misses[rank - 1];
}

/* The mean of a run of @length_ns that starts at @at_ns, in shares of one that starts now. */
static double ratio_at(const struct emission_factors *table, const struct start_question *q,
		       uint64_t at_ns, uint64_t length_ns)
{
	return mean_over(table, q->zone, at_ns, length_ns) /
	       mean_over(table, q->zone, q->now_ns, length_ns);
}

static double error_of(const struct emission_factors *table, const struct start_question *q,
		       const struct start *s, unsigned int *ret_pairs)
{
	const double width = ratio_width(table, q, s->at_ns - q->now_ns, ret_pairs);
	const double ratio = s->best / s->now;
	const double low = ratio_at(table, q, s->at_ns, q->low_ns) - ratio,
		     high = ratio_at(table, q, s->at_ns, q->high_ns) - ratio;

	return width < 0 || isnan(low) || isnan(high)
		       ? -1
		       : ratio * (exp(width) - 1) + fmax(fabs(low), fabs(high));
}

int start_find(const struct emission_factors *table, const struct start_question *q,
	       struct start *ret)
{
	const uint64_t slack_ns = MIN(q->slack_ns, START_SLACK_MAX);
	struct start found = { .at_ns = q->now_ns, .error = -1 };

	found.best = found.now = q->length_ns ? mean_over(table, q->zone, q->now_ns, q->length_ns)
					      : NAN;
	if (isnan(found.now) || found.now <= 0)
		return -ENODATA;
	for (size_t i = 0; i < table->count; i++) {
		const struct emission_factor *f = &table->items[i];
		double mean;

		if (!is_forecast(f, q->zone) || f->from_ns <= q->now_ns ||
		    f->from_ns > q->now_ns + slack_ns ||
		    (i > 0 && is_forecast(f - 1, q->zone) && f[-1].from_ns == f->from_ns))
			continue;
		mean = mean_over(table, q->zone, f->from_ns, q->length_ns);
		if (mean < found.best) { /* of equal ones the first; a gap is none */
			found.best = mean;
			found.at_ns = f->from_ns;
		}
	}
	if (found.at_ns > q->now_ns)
		found.error = error_of(table, q, &found, &found.pairs);
	*ret = found;
	return 0;
}
