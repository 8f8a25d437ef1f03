/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints: bursts of writes at a period.
 *
 * A burst is a run of buckets in which more is written than a part of the way from the usual rate
 * (the median) to the peak; for the peak the count-th greatest bucket is taken, so that one burst
 * that is greater than all hides no others.  Readings do not fall on the bursts, so what a burst
 * left in the bucket before and behind it, above the usual rate, is its, too.  They are
 * checkpoints if most of them keep the period, which is the median distance of their beginnings,
 * and are of one size.  The period that is told is the slope of the least squares through the
 * beginnings by their number.  How often is best follows from what one costs: Young 1974, Daly
 * 2006.
 *
 * The cost is the CPU time that is missing in bursts, and behind them until half of the mean rate
 * between them is there again (data go to storage after they were written), over that rate.
 */
#include <string.h>

#include "analysis/pattern_internal.h"
#include "analysis/robust.h"

#define BURSTS_MAX (TIMELINE_BUCKETS_MAX / 2)
#define AWAKE 0.5 /* of the usual CPU rate: it computes again */

struct burst {
	size_t first, end;
	double bytes;
	bool is_after_gap; /* something unknown is between it and the one before */
};

struct bursts {
	const struct checkpoint_settings *settings;
	const struct rates *r;
	double usual, threshold; /* bytes a second */
	struct burst items[BURSTS_MAX];
	size_t count;
	double period; /* in buckets */
};

static double written(const struct bursts *b, size_t i)
{
	return b->r->of[RATE_WRITE][i];
}

/* ---- bursts ---- */

/* False: there is no burst. */
static bool set_threshold(struct bursts *b, double *values, size_t known)
{
	double peak;

	b->usual = robust_median(values, known); /* they are in order now */
	peak = values[known - (size_t)b->settings->count];
	b->threshold = b->usual + b->settings->height * (peak - b->usual);
	return peak > 0 && peak >= b->settings->above * b->usual;
}

/* The bytes of a burst in bucket @i beside it. */
static double spilled(const struct bursts *b, size_t i)
{
	double bytes = i < b->r->count ? (written(b, i) - b->usual) * b->r->width[i] : 0;

	return bytes > 0 ? bytes : 0; /* not if it is unknown */
}

static void add_burst(struct bursts *b, size_t first, size_t end, bool is_after_gap)
{
	struct burst *burst = &b->items[b->count++];
	size_t taken = b->count > 1 ? burst[-1].end + 1 : 0; /* by the one before */

	*burst = (struct burst){ .first = first, .end = end, .is_after_gap = is_after_gap };
	for (size_t i = first; i < end; i++)
		burst->bytes += written(b, i) * b->r->width[i];
	burst->bytes += spilled(b, end);
	if (first > taken)
		burst->bytes += spilled(b, first - 1);
}

static void take_bursts(struct bursts *b)
{
	bool is_after_gap = false;

	for (size_t i = 0; i < b->r->count && b->count < BURSTS_MAX;) {
		size_t end = i;

		while (end < b->r->count && written(b, end) > b->threshold)
			end++;
		is_after_gap |= isnan(written(b, i));
		if (end > i) {
			add_burst(b, i, end, is_after_gap);
			is_after_gap = false;
		}
		i = end > i ? end : i + 1;
	}
}

/* ---- are they regular? ---- */

static bool keeps_period(struct bursts *b)
{
	double distances[BURSTS_MAX];
	size_t known = 0, right = 0;

	for (size_t i = 0; i + 1 < b->count; i++) {
		if (!b->items[i + 1].is_after_gap)
			distances[known++] = (double)b->items[i + 1].first -
					     (double)b->items[i].first;
	}
	b->period = robust_median(distances, known);
	/* readings do not coincide with bursts: a bucket more or less means nothing */
	for (size_t i = 0; i < known; i++)
		right += fabs(distances[i] - b->period) <=
			 fmax(1, b->settings->tolerance * b->period);
	return (double)known + 1 >= b->settings->count && b->period >= b->settings->buckets &&
	       (double)right >= b->settings->regular * (double)known;
}

static bool keeps_size(const struct bursts *b)
{
	double bytes[BURSTS_MAX], usual;
	size_t right = 0;

	for (size_t i = 0; i < b->count; i++)
		bytes[i] = b->items[i].bytes;
	usual = robust_median(bytes, b->count);
	for (size_t i = 0; i < b->count; i++)
		right += b->items[i].bytes >= usual / 2 && b->items[i].bytes <= usual * 2;
	return usual >= b->settings->bytes &&
	       (double)right >= b->settings->regular * (double)b->count;
}

/* ---- numbers ---- */

/* In seconds; those that are missing in between are counted. */
static double period_of(const struct bursts *b)
{
	double n = 0, x = 0, y = 0, xx = 0, xy = 0;

	for (size_t i = 0; i < b->count; i++) {
		double at = (double)b->items[i].first - (double)b->items[0].first;
		double number = round(at / b->period);

		n++;
		x += number;
		y += at;
		xx += number * number;
		xy += number * at;
	}
	return (n * xy - x * y) / (n * xx - x * x) * b->r->interval;
}

/* ---- cost ---- */

/* The mean on CPU between the first and the last burst, outside the marks: before and after, the
 * job may do something else. */
static double usual_cores(const struct bursts *b, const bool *is_marked)
{
	const struct rates *r = b->r;
	double sum = 0, seconds = 0;

	for (size_t i = b->items[0].first; i < b->items[b->count - 1].end; i++) {
		if (is_marked[i] || isnan(r->of[RATE_ON_CPU][i]))
			continue;
		sum += r->of[RATE_ON_CPU][i] * r->width[i];
		seconds += r->width[i];
	}
	return seconds > 0 ? sum / seconds : NAN;
}

static void mark(const struct bursts *b, double asleep, bool *is_marked)
{
	const struct rates *r = b->r;

	memset(is_marked, 0, r->count * sizeof(*is_marked));
	for (size_t k = 0; k < b->count; k++) {
		size_t next = k + 1 < b->count ? b->items[k + 1].first : r->count;
		size_t limit = (size_t)((double)b->items[k].first + b->period), i;

		for (i = b->items[k].first; i < b->items[k].end; i++)
			is_marked[i] = true;
		for (; i < next && i < limit && r->of[RATE_ON_CPU][i] < asleep; i++)
			is_marked[i] = true;
	}
}

/* The CPU time that is missing where it is marked, in core seconds. */
static double missing_time(const struct rates *r, const bool *is_marked, double usual)
{
	double sum = 0;

	for (size_t i = 0; i < r->count; i++) {
		if (is_marked[i] && !isnan(r->of[RATE_ON_CPU][i]))
			sum += (usual - r->of[RATE_ON_CPU][i]) * r->width[i];
	}
	return fmax(0, sum);
}

static void add_cost(const struct bursts *b, struct pattern *p)
{
	bool is_marked[TIMELINE_BUCKETS_MAX];
	double usual, lost;

	mark(b, 0, is_marked);
	usual = usual_cores(b, is_marked);
	mark(b, AWAKE * usual, is_marked);
	usual = usual_cores(b, is_marked);
	if (!(usual > 0))
		return; /* nothing is computed in between: then nothing is lost */
	lost = missing_time(b->r, is_marked, usual);
	p->numbers[CHECKPOINT_LOST] = amount_of(lost);
	p->numbers[CHECKPOINT_COST] = amount_of(lost / usual);
	p->numbers[CHECKPOINT_COST_SHARE] =
		amount_of(lost / usual / rates_seconds(b->r, 0, b->r->count));
}

static void add_checkpoints(const struct bursts *b, struct patterns *patterns)
{
	struct pattern *p = pattern_add(patterns, PATTERN_CHECKPOINTS, b->r, b->items[0].first,
					b->items[b->count - 1].end);
	double bytes = 0, seconds = 0;

	for (size_t i = 0; i < b->count; i++) {
		bytes += b->items[i].bytes;
		seconds += rates_seconds(b->r, b->items[i].first, b->items[i].end);
	}
	p->numbers[CHECKPOINT_COUNT] = amount_of((double)b->count);
	p->numbers[CHECKPOINT_PERIOD] = amount_of(period_of(b));
	p->numbers[CHECKPOINT_DURATION] = amount_of(seconds / (double)b->count);
	p->numbers[CHECKPOINT_BYTES] = amount_of(bytes / (double)b->count);
	if (b->r->is_known[RATE_ON_CPU])
		add_cost(b, p);
	patterns->counts[PATTERN_CHECKPOINTS] = p->numbers[CHECKPOINT_COUNT];
}

void find_checkpoints(const struct checkpoint_settings *settings, const struct rates *r,
		      struct patterns *patterns)
{
	struct bursts b = { .settings = settings, .r = r };
	double least = settings->count * settings->buckets; /* buckets */
	double values[TIMELINE_BUCKETS_MAX], spread;
	size_t known = 0;

	for (size_t i = 0; i < r->count; i++) {
		if (!isnan(written(&b, i)))
			values[known++] = written(&b, i);
	}
	pattern_begin(patterns, PATTERN_CHECKPOINTS, r, least * r->interval);
	if ((double)known < least)
		return;
	patterns->counts[PATTERN_CHECKPOINTS] = amount_of(0);
	if (!set_threshold(&b, values, known))
		return;
	take_bursts(&b);
	if ((double)b.count < settings->count || !keeps_period(&b) || !keeps_size(&b))
		return;
	spread = (double)b.items[b.count - 1].end - (double)b.items[0].first;
	if (spread >= settings->span * (double)r->count)
		add_checkpoints(&b, patterns);
}
