/* SPDX-License-Identifier: MIT */
/*
 * How busy the cores of a job were over its time, in a text of a few bytes that a list can draw: a
 * digit of base 36 for each part of the time, "-" where nothing was measured.  It stays when the
 * timeline it is made of is deleted.
 */
#include <math.h>
#include <string.h>

#include "analysis/rates.h"
#include "model/record.h"
#include "server/store/store_internal.h"

#define COLUMNS (STORE_SPARK_SIZE - 1)
#define LEAD_MAX (UINT64_C(1) << 40)

static char digit_of(double share)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";

	return isnan(share) ? '-' : digits[(int)lround(fmin(share, 1) * STORE_SPARK_MOST)];
}

int store_spark_level(char digit)
{
	return digit >= '0' && digit <= '9'   ? digit - '0'
	       : digit >= 'a' && digit <= 'z' ? digit - 'a' + 10
					      : -1;
}

const char *store_spark_of_record(const struct record *r, char ret[STORE_SPARK_SIZE])
{
	struct rates rates;
	size_t columns, lead = 0; /* of intervals before the timeline begins */

	rates_take(r, &rates);
	if (rates.interval_ns && rates.start_ns > r->time.start_ns)
		lead = MIN((rates.start_ns - r->time.start_ns) / rates.interval_ns, LEAD_MAX);
	columns = MIN(lead + rates.count, (size_t)COLUMNS);
	if (rates.count < 2 || !rates.is_known[RATE_ON_CPU] || !(rates.cores > 0) ||
	    !r->reading.values[METRIC_CPU_ALLOCATED].is_known)
		return NULL;
	for (size_t i = 0; i < columns; i++) {
		const size_t first = i * (lead + rates.count) / columns,
			     last = (i + 1) * (lead + rates.count) / columns;

		ret[i] = last <= lead ? '-'
				      : digit_of(rates_mean(&rates, RATE_ON_CPU,
							    MAX(first, lead) - lead, last - lead) /
						 rates.cores);
	}
	ret[columns] = '\0';
	return ret;
}

/* What a node's text says of each part of the job's time. */
static void add_node(const char *text, double begin, double end, double span, double *sums,
		     unsigned int *counts)
{
	const double length = (double)strlen(text);

	for (size_t i = 0; i < COLUMNS; i++) {
		const double at = ((double)i + .5) / COLUMNS * span;
		int level;

		if (!(at >= begin && at < end))
			continue;
		level = store_spark_level(text[(size_t)((at - begin) / (end - begin) * length)]);
		sums[i] += MAX(level, 0);
		counts[i] += level >= 0;
	}
}

const char *store_spark_of_job(struct store *s, uint64_t id, uint64_t start_ns, uint64_t end_ns,
			       char ret[STORE_SPARK_SIZE])
{
	struct statement *rows = store_ask(s,
					   "SELECT spark, start_ns - clock_offset_ns, end_ns FROM "
					   "records WHERE job = ?1 AND spark IS NOT NULL",
					   NUMBER(id));
	double sums[COLUMNS] = {};
	unsigned int counts[COLUMNS] = {};
	bool is_known = false;

	while (store_next(s, rows)) {
		add_node(COLUMN_TEXT(rows, 0), (double)(int64_t)(COLUMN_NUMBER(rows, 1) - start_ns),
			 (double)(int64_t)(COLUMN_NUMBER(rows, 2) - start_ns),
			 (double)(int64_t)(end_ns - start_ns), sums, counts);
	}
	for (size_t i = 0; i < COLUMNS; i++) {
		is_known |= counts[i];
		ret[i] = digit_of(counts[i] ? sums[i] / counts[i] / STORE_SPARK_MOST : NAN);
	}
	ret[COLUMNS] = '\0';
	return is_known ? ret : NULL;
}
