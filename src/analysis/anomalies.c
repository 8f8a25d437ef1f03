/* SPDX-License-Identifier: MIT */
#include "analysis/anomalies.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/robust.h"
#include "basic/cleanup.h"
#include "basic/macro.h"
#include "model/sections/load_balance.h"

#define SCATTERS 5
#define SHARE 0.25

bool deviation_of(double value, double *others, size_t count, struct deviation *ret)
{
	struct deviation d = { .value = value, .count = count };

	if (count < ANOMALY_LIKE_MIN || isnan(value))
		return false;
	d.median = robust_median(others, count);
	d.scatter = robust_scatter(others, count, d.median);
	if (fabs(value - d.median) <= fmax(SCATTERS * d.scatter, SHARE * fabs(d.median)))
		return false;
	*ret = d;
	return true;
}

static int compare_jobs(const void *a, const void *b)
{
	const struct anomaly_job *x = a, *y = b;
	int order = strcmp(x->like, y->like);

	return order ? order : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* @first: the earliest that is like @job. */
static int compare_with_earlier(const struct anomaly_job *first, const struct anomaly_job *job,
				int (*take)(void *context, const struct anomaly *anomaly),
				void *context)
{
	int r = 0;

	for (size_t k = 0; r >= 0 && k < ANOMALY_NUMBERS; k++) {
		struct anomaly anomaly = { .job = job, .number = k };
		double others[ANOMALY_LIKE_MAX];
		size_t count = 0;

		for (const struct anomaly_job *j = job; j-- > first && count < ANOMALY_LIKE_MAX;) {
			if (!isnan(j->numbers[k]))
				others[count++] = j->numbers[k];
		}
		if (deviation_of(job->numbers[k], others, count, &anomaly.deviation))
			r = take(context, &anomaly);
	}
	return r;
}

/* ---- nodes ---- */

struct ratio { /* of a job's time to that of all like jobs */
	const char *node;
	double number;
};

static int compare_ratios(const void *a, const void *b)
{
	return strcmp(((const struct ratio *)a)->node, ((const struct ratio *)b)->node);
}

/* Of similar jobs; returns how many were added. */
static size_t add_ratios(const struct anomaly_job *jobs, size_t count, double *numbers,
			 struct ratio *ret)
{
	size_t known = 0, added = 0;
	double median;

	for (size_t i = 0; i < count; i++) {
		if (!isnan(jobs[i].numbers[0]))
			numbers[known++] = jobs[i].numbers[0];
	}
	median = robust_median(numbers, known);
	if (known < ANOMALY_LIKE_MIN || median <= 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (jobs[i].node && !isnan(jobs[i].numbers[0]))
			ret[added++] = (struct ratio){ jobs[i].node, jobs[i].numbers[0] / median };
	}
	return added;
}

/* One ratio a node: the median of its jobs, where there are enough of them. */
static size_t keep_medians(struct ratio *ratios, size_t count, double *numbers)
{
	size_t kept = 0;

	qsort(ratios, count, sizeof(*ratios), compare_ratios);
	for (size_t i = 0, next; i < count; i = next) {
		const char *node = ratios[i].node;

		for (next = i; next < count && strcmp(ratios[next].node, node) == 0; next++)
			numbers[next - i] = ratios[next].number;
		if (next - i >= ANOMALY_LIKE_MIN)
			ratios[kept++] = (struct ratio){ node, robust_median(numbers, next - i) };
	}
	return kept;
}

static int compare_nodes(const struct ratio *nodes, size_t count, double *numbers,
			 int (*take)(void *context, const struct anomaly *anomaly), void *context)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < count; i++) {
		struct anomaly anomaly = { .node = nodes[i].node };
		size_t others = 0;

		for (size_t k = 0; k < count; k++) {
			if (k != i)
				numbers[others++] = nodes[k].number;
		}
		if (deviation_of(nodes[i].number, numbers, others, &anomaly.deviation))
			r = take(context, &anomaly);
	}
	return r;
}

/* ---- ranks ---- */

static const struct rank_time *take_if_odd(const struct rank_times *ranks, size_t odd,
					   double *others, struct deviation *ret)
{
	const struct rank_time *rank = &ranks->items[odd];
	size_t count = 0;

	for (size_t i = 0; i < ranks->count; i++) {
		const struct rank_time *r = &ranks->items[i];

		if (i == odd)
			continue;
		if (r->rank == rank->rank && strcmp(r->node, rank->node) == 0)
			return NULL; /* runs of one rank, one after the other */
		others[count++] = (double)r->work_ns / 1e9;
	}
	return deviation_of((double)rank->work_ns / 1e9, others, count, ret) ? rank : NULL;
}

const struct rank_time *rank_deviation(const struct rank_times *ranks, struct deviation *ret)
{
	_cleanup_free_ double *others = calloc(ranks->count + 1, sizeof(*others));
	size_t most = 0, least = 0;
	const struct rank_time *found;

	if (!others || ranks->count <= ANOMALY_LIKE_MIN)
		return NULL;
	for (size_t i = 1; i < ranks->count; i++) {
		most = ranks->items[i].work_ns > ranks->items[most].work_ns ? i : most;
		least = ranks->items[i].work_ns < ranks->items[least].work_ns ? i : least;
	}
	found = take_if_odd(ranks, most, others, ret);
	return found ? found : take_if_odd(ranks, least, others, ret);
}

int anomalies_find(struct anomaly_job *jobs, size_t count,
		   int (*take)(void *context, const struct anomaly *anomaly), void *context)
{
	_cleanup_free_ double *numbers = calloc(count + 1, sizeof(*numbers));
	_cleanup_free_ struct ratio *ratios = calloc(count + 1, sizeof(*ratios));
	size_t ratio_count = 0;
	int r = 0;

	if (!numbers || !ratios)
		return -ENOMEM;
	if (count)
		qsort(jobs, count, sizeof(*jobs), compare_jobs);
	for (size_t i = 0, next; r >= 0 && i < count; i = next) {
		for (next = i; next < count && strcmp(jobs[next].like, jobs[i].like) == 0; next++)
			r = r < 0 ? r : compare_with_earlier(&jobs[i], &jobs[next], take, context);
		ratio_count += add_ratios(&jobs[i], next - i, numbers, &ratios[ratio_count]);
	}
	if (r < 0)
		return r;
	ratio_count = keep_medians(ratios, ratio_count, numbers);
	return compare_nodes(ratios, ratio_count, numbers, take, context);
}
