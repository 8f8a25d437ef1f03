/* SPDX-License-Identifier: MIT */
/*
 * Times in which a job did nothing.
 *
 * idle tail: jobstats (Princeton) issue 28; TaskMaster's indicator of a job whose processes have
 * ended. hang: less than 1 % on CPU and no I/O for ten minutes after work. homogeneity: XDMoD
 * (SUPReMM), 1 - 1/(1 + 1000 c), with c the least ratio of the mean rate after a moment to that
 * before it; there of loads from the L1 cache, here of CPU time.
 */
#include "analysis/pattern_internal.h"

static bool has_rates(const struct rates *r)
{
	return r->count && r->is_known[RATE_ON_CPU] && r->is_known[RATE_READ] &&
	       r->is_known[RATE_WRITE];
}

static bool is_known_at(const struct rates *r, size_t i)
{
	return !isnan(r->of[RATE_ON_CPU][i]) && !isnan(rates_io(r, i));
}

/* What is not known is not idle. */
static bool is_idle_at(const struct idle_settings *s, const struct rates *r, size_t i)
{
	return is_known_at(r, i) && r->of[RATE_ON_CPU][i] < s->share * r->cores &&
	       r->of[RATE_ON_CPU][i] < s->cores && rates_io(r, i) < s->rate;
}

/* The first bucket of the idle ones right before @end. */
static size_t idle_from(const struct idle_settings *s, const struct rates *r, size_t end)
{
	while (end > 0 && is_idle_at(s, r, end - 1))
		end--;
	return end;
}

/* ---- idle tail ---- */

void find_idle_tail(const struct idle_settings *s, const struct rates *r, struct patterns *patterns)
{
	struct pattern *p;
	double seconds, work = 0;
	size_t first;

	pattern_begin(patterns, PATTERN_IDLE_TAIL, r, s->time);
	if (!has_rates(r) || !is_known_at(r, r->count - 1))
		return;
	first = idle_from(s, r, r->count);
	seconds = rates_seconds(r, first, r->count);
	patterns->counts[PATTERN_IDLE_TAIL] = amount_of(0);
	for (size_t i = 0; i < first; i++)
		work += is_known_at(r, i) && !is_idle_at(s, r, i) ? r->width[i] : 0;
	if (seconds < s->time || seconds < s->part * r->elapsed || work < s->work)
		return;
	p = pattern_add(patterns, PATTERN_IDLE_TAIL, r, first, r->count);
	p->numbers[IDLE_TAIL_SECONDS] = amount_of(seconds);
	p->numbers[IDLE_TAIL_SHARE] = amount_of(seconds / fmax(r->elapsed, seconds));
	p->numbers[IDLE_TAIL_LOST] = amount_of(seconds * r->cores);
}

/* ---- hang ---- */

/* The mean over as long a time before; NAN: less than half of it is known. */
static double cores_before(const struct rates *r, size_t end, double time)
{
	size_t first = end;
	double seconds = 0, known = 0;

	while (first > 0 && seconds < time) {
		first--;
		seconds += r->width[first];
		known += isnan(r->of[RATE_ON_CPU][first]) ? 0 : r->width[first];
	}
	return known >= time / 2 ? rates_mean(r, RATE_ON_CPU, first, end) : NAN;
}

struct hang {
	size_t first, end; /* equal: none */
	double seconds, before;
};

/* The idle buckets right before @end, if they are one. */
static struct hang hang_before(const struct idle_settings *s, const struct rates *r, size_t end)
{
	struct hang h = { .first = idle_from(s, r, end), .end = end };

	h.seconds = rates_seconds(r, h.first, end);
	if (h.seconds >= s->time)
		h.before = cores_before(r, h.first, s->time);
	if (h.seconds < s->time || !(h.before >= s->busy))
		return (struct hang){ .first = h.first, .end = h.first };
	return h;
}

/* That at the end, if it is one; else the longest. */
static struct hang worst_hang(const struct idle_settings *s, const struct rates *r,
			      bool has_ended_well)
{
	struct hang worst = hang_before(s, r, r->count), other;
	size_t end = worst.first;

	if (worst.seconds > 0 && !has_ended_well)
		return worst;
	for (worst = (struct hang){}; end > 0; end = other.first) {
		other = hang_before(s, r, end - 1); /* before the one that is not idle */
		if (other.seconds > worst.seconds)
			worst = other;
	}
	return worst;
}

void find_hang(const struct idle_settings *s, const struct rates *r, bool has_ended_well,
	       struct patterns *patterns)
{
	struct pattern *p;
	struct hang worst;

	pattern_begin(patterns, PATTERN_HANG, r, s->time);
	if (!has_rates(r) || !is_known_at(r, r->count - 1))
		return;
	patterns->counts[PATTERN_HANG] = amount_of(0);
	worst = worst_hang(s, r, has_ended_well);
	if (worst.seconds <= 0)
		return;
	p = pattern_add(patterns, PATTERN_HANG, r, worst.first, worst.end);
	p->numbers[HANG_SECONDS] = amount_of(worst.seconds);
	p->numbers[HANG_CORES_BEFORE] = amount_of(worst.before);
	p->numbers[HANG_TO_END] = amount_of(worst.end == r->count);
}

/* ---- homogeneity ---- */

/* What is known of the CPU rate in a part of the time. */
struct part {
	double core_seconds, seconds;
};

static struct part add_bucket(struct part part, const struct rates *r, size_t i, double sign)
{
	if (isnan(r->of[RATE_ON_CPU][i]))
		return part;
	part.core_seconds += sign * r->of[RATE_ON_CPU][i] * r->width[i];
	part.seconds += sign * r->width[i];
	return part;
}

/* NAN: nothing is known. */
static double mean_of(const struct part *part, const struct rates *r)
{
	return part->seconds > r->interval / 4 ? fmax(0, part->core_seconds) / part->seconds : NAN;
}

/* The least ratio, and where; infinite: it was never at work before. */
static double least_ratio(const struct death_settings *s, const struct rates *r, size_t *ret)
{
	size_t edge = (size_t)ceil(s->part * (double)r->count);
	struct part before = {}, after = {};
	double least = INFINITY;

	for (size_t i = 0; i < r->count; i++)
		after = add_bucket(after, r, i, 1);
	for (size_t i = 0; i + edge <= r->count; i++) {
		double cores = mean_of(&before, r), ratio = mean_of(&after, r) / cores;

		if (i >= edge && cores >= s->busy && ratio < least) {
			least = ratio;
			*ret = i;
		}
		after = add_bucket(after, r, i, -1);
		before = add_bucket(before, r, i, 1);
	}
	return least;
}

void find_death(const struct death_settings *s, const struct rates *r, struct patterns *patterns)
{
	double ratio, homogeneity;
	size_t at = 0, known = 0;

	for (size_t i = 0; i < r->count; i++)
		known += !isnan(r->of[RATE_ON_CPU][i]);
	pattern_begin(patterns, PATTERN_DIED_INSIDE, r, s->time);
	if (!r->count || rates_seconds(r, 0, r->count) < s->time || (double)known < s->buckets)
		return;
	patterns->counts[PATTERN_DIED_INSIDE] = amount_of(0);
	ratio = least_ratio(s, r, &at);
	if (isinf(ratio))
		return;
	homogeneity = 1 - 1 / (1 + 1000 * ratio);
	patterns->numbers[HOMOGENEITY] = amount_of(homogeneity);
	if (homogeneity < s->least)
		pattern_add(patterns, PATTERN_DIED_INSIDE, r, at, r->count)->numbers[HOMOGENEITY] =
			amount_of(homogeneity);
}
