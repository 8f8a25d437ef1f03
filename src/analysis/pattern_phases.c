/* SPDX-License-Identifier: MIT */
/*
 * Phases: where the mean of the CPU or the I/O rate changes at once.
 *
 * Edges are those of each signal's cheapest division: squared distances from each phase's mean, in
 * units of the noise, and a penalty for each edge (optimal partitioning, Jackson et al. 2005, IEEE
 * Signal Processing Letters 12; the penalty grows as in Yao 1988, with the logarithm of the length;
 * the noise is taken from neighbours' differences, which phases hardly move).  Since that divides
 * slow drifts, too, an edge stays only if the means on both sides differ by more than their spread,
 * and if the rate jumps there as it does nowhere else; the worst one goes first, until all are
 * right.
 */
#include "basic/macro.h"
#include "analysis/pattern_internal.h"
#include "analysis/robust.h"

#define SIGNALS 2 /* cores, and bytes read and written */
#define JUMP_BUCKETS 4 /* on each side of an edge */
#define CORES_MIN 0.1 /* less is nothing */
#define NOISE_MIN 0.01 /* of the scale: smaller differences are none */

struct signal {
	double scale; /* changes are relative to this */
	double least; /* and the least change */
	double noise, usual_jump;
	double values[TIMELINE_BUCKETS_MAX];
	double sum[TIMELINE_BUCKETS_MAX + 1], squares[TIMELINE_BUCKETS_MAX + 1]; /* up to there */
};

struct division {
	const struct phase_settings *settings;
	size_t length; /* of a phase, at least */
	size_t count; /* buckets that are known */
	size_t buckets[TIMELINE_BUCKETS_MAX]; /* which these are */
	struct signal signals[SIGNALS];
	size_t signal_count;
	/* The beginnings of phases, 0 first; then the count. */
	size_t edges[TIMELINE_BUCKETS_MAX + 1];
	size_t phase_count;
};

/* ---- signals ---- */

static double mean_of(const struct signal *s, size_t first, size_t end)
{
	return (s->sum[end] - s->sum[first]) / (double)(end - first);
}

/* Squared distances from the mean. */
static double spread_of(const struct signal *s, size_t first, size_t end)
{
	double sum = s->sum[end] - s->sum[first];

	return fmax(0, s->squares[end] - s->squares[first] - sum * sum / (double)(end - first));
}

static double jump_at(const struct signal *s, size_t at)
{
	return mean_of(s, at, at + JUMP_BUCKETS) - mean_of(s, at - JUMP_BUCKETS, at);
}

/* Sums around the middle, so that squares of great numbers lose nothing. */
static void sum_up(struct signal *s, size_t count)
{
	double middle = 0;

	for (size_t i = 0; i < count; i++)
		middle += s->values[i] / (double)count;
	for (size_t i = 0; i < count; i++) {
		double value = s->values[i] - middle;

		s->sum[i + 1] = s->sum[i] + value;
		s->squares[i + 1] = s->squares[i] + value * value;
	}
}

static void measure(struct signal *s, size_t count)
{
	double differences[TIMELINE_BUCKETS_MAX];
	size_t jumps = 0;

	for (size_t i = 0; i + 1 < count; i++)
		differences[i] = s->values[i + 1] - s->values[i];
	s->noise = robust_scatter(differences, count - 1, 0) / M_SQRT2;
	for (size_t i = JUMP_BUCKETS; i + JUMP_BUCKETS <= count; i++)
		differences[jumps++] = jump_at(s, i);
	s->usual_jump = robust_scatter(differences, jumps, 0);
	s->noise = fmax(s->noise, NOISE_MIN * s->scale);
	s->usual_jump = fmax(s->usual_jump, NOISE_MIN * s->scale);
}

static double value_of(const struct rates *r, bool is_io, size_t bucket)
{
	return is_io ? rates_io(r, bucket) : r->of[RATE_ON_CPU][bucket];
}

static void add_signal(struct division *d, const struct rates *r, bool is_io, double scale,
		       double least)
{
	struct signal *s = &d->signals[d->signal_count];

	for (size_t i = 0; i < d->count; i++)
		s->values[i] = value_of(r, is_io, d->buckets[i]);
	s->scale = scale;
	s->least = least;
	sum_up(s, d->count);
	measure(s, d->count);
	d->signal_count++;
}

static double greatest_of(const struct division *d, const struct rates *r, bool is_io)
{
	double greatest = 0;

	for (size_t i = 0; i < d->count; i++)
		greatest = fmax(greatest, value_of(r, is_io, d->buckets[i]));
	return greatest;
}

static bool has_io(const struct rates *r)
{
	return r->is_known[RATE_READ] && r->is_known[RATE_WRITE];
}

static void take_signals(struct division *d, const struct rates *r)
{
	double io = has_io(r) ? greatest_of(d, r, true) : 0, cores = greatest_of(d, r, false);

	d->length = (size_t)fmax(d->settings->length, ceil(d->settings->part * (double)d->count));
	if (cores >= CORES_MIN)
		add_signal(d, r, false, cores, 0);
	if (io >= d->settings->rate)
		add_signal(d, r, true, io, d->settings->rate);
}

/* ---- the cheapest division ---- */

static double cost_of(const struct signal *s, size_t first, size_t end)
{
	return spread_of(s, first, end) / (s->noise * s->noise);
}

/* The best beginning of a phase that ends at @end; *ret_cost is that of all until there. */
static size_t best_beginning(const struct division *d, const struct signal *s, const double *costs,
			     size_t end, double *ret_cost)
{
	/* a mean and an edge more */
	double penalty = d->settings->penalty * 2 * log((double)d->count);
	size_t length = d->length, best = 0;

	*ret_cost = cost_of(s, 0, end);
	for (size_t i = length; i + length <= end; i++) {
		double cost = costs[i] + penalty + cost_of(s, i, end);

		if (cost < *ret_cost) {
			*ret_cost = cost;
			best = i;
		}
	}
	return best;
}

static void divide(struct division *d)
{
	bool is_edge[TIMELINE_BUCKETS_MAX] = {};

	/* each signal by itself: the bursts of one must not hide the edges of the other */
	for (size_t k = 0; k < d->signal_count; k++) {
		double costs[TIMELINE_BUCKETS_MAX + 1] = {};
		size_t from[TIMELINE_BUCKETS_MAX + 1] = {};

		for (size_t end = d->length; end <= d->count; end++)
			from[end] = best_beginning(d, &d->signals[k], costs, end, &costs[end]);
		for (size_t at = d->count; at > 0; at = from[at])
			is_edge[from[at]] = true;
	}
	for (size_t i = 0; i < d->count; i++) {
		if (is_edge[i])
			d->edges[d->phase_count++] = i;
	}
	d->edges[d->phase_count] = d->count;
}

/* ---- which edges are true ---- */

/* The smallest ratio to a required value, of one signal; below 1 it is no edge. */
static double score_of(const struct division *d, const struct signal *s, size_t edge)
{
	size_t before = d->edges[edge - 1], at = d->edges[edge], end = d->edges[edge + 1];
	double change = fabs(mean_of(s, at, end) - mean_of(s, before, at));
	double wilder = fmax(spread_of(s, before, at) / (double)(at - before),
			     spread_of(s, at, end) / (double)(end - at));
	double apart = d->settings->apart * sqrt(wilder), jump = d->settings->jump * s->usual_jump;
	double score = change / fmax(d->settings->change * s->scale, s->least);

	if (apart > 0)
		score = fmin(score, change / apart);
	return fmin(score, fabs(jump_at(s, at)) / jump);
}

static double score_edge(const struct division *d, size_t edge)
{
	double best = 0;

	for (size_t k = 0; k < d->signal_count; k++)
		best = fmax(best, score_of(d, &d->signals[k], edge));
	return best;
}

static size_t worst_edge(const struct division *d, double *ret)
{
	size_t worst = 1;

	*ret = INFINITY;
	for (size_t edge = 1; edge < d->phase_count; edge++) {
		double score = score_edge(d, edge);

		if (score < *ret) {
			*ret = score;
			worst = edge;
		}
	}
	return worst;
}

/* Of two that are nearer than a phase is long, the worse one; 0: there are none.  Both signals may
 * have found the same edge. */
static size_t crowded_edge(const struct division *d)
{
	for (size_t edge = 1; edge + 1 < d->phase_count; edge++) {
		if (d->edges[edge + 1] - d->edges[edge] < d->length)
			return score_edge(d, edge) < score_edge(d, edge + 1) ? edge : edge + 1;
	}
	return 0;
}

static void weed_out(struct division *d)
{
	while (d->phase_count > 1) {
		double score;
		size_t worst = worst_edge(d, &score), crowded = 0;

		if (score >= 1)
			crowded = crowded_edge(d);
		if (score >= 1 && !crowded && d->phase_count <= PHASES_MAX)
			return;
		for (size_t i = crowded ? crowded : worst; i < d->phase_count; i++)
			d->edges[i] = d->edges[i + 1];
		d->phase_count--;
	}
}

void find_phases(const struct phase_settings *settings, const struct rates *r,
		 struct patterns *patterns)
{
	struct division d = { .settings = settings };

	for (size_t i = 0; i < r->count; i++) {
		if (!isnan(r->of[RATE_ON_CPU][i]) && !(has_io(r) && isnan(rates_io(r, i))))
			d.buckets[d.count++] = i;
	}
	/* a job of fewer buckets is too short for phases */
	pattern_begin(patterns, PATTERN_PHASE, r, settings->buckets * r->interval);
	if ((double)d.count < fmax(settings->buckets, 2 * settings->length))
		return;
	patterns->counts[PATTERN_PHASE] = amount_of(0);
	take_signals(&d, r);
	if (!d.signal_count)
		return;
	divide(&d);
	weed_out(&d);
	if (d.phase_count < 2)
		return;
	patterns->counts[PATTERN_PHASE] = amount_of((double)d.phase_count);
	for (size_t i = 0; i < d.phase_count; i++) {
		size_t first = d.buckets[d.edges[i]];
		size_t end = i + 1 < d.phase_count ? d.buckets[d.edges[i + 1]] : r->count;
		struct pattern *p = pattern_add(patterns, PATTERN_PHASE, r, i ? first : 0, end);

		p->numbers[PHASE_CORES] = amount_of(rates_mean(r, RATE_ON_CPU, first, end));
		p->numbers[PHASE_READ_RATE] = amount_of(rates_mean(r, RATE_READ, first, end));
		p->numbers[PHASE_WRITE_RATE] = amount_of(rates_mean(r, RATE_WRITE, first, end));
	}
}
