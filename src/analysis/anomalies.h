/* SPDX-License-Identifier: MIT */
/*
 * anomalies - outliers: a job against earlier similar jobs, a node against its peers on similar
 * jobs, a rank against the others of its job.
 *
 * An outlier is further from the median of the others than five times their scatter (1.4826 times
 * the median distance: Huber 1981) and than a quarter of that median. Fewer than ANOMALY_LIKE_MIN
 * others give no result. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rank_time;
struct rank_times;

#define ANOMALY_LIKE_MIN 8
#define ANOMALY_LIKE_MAX 64 /* of earlier jobs the newest count */
#define ANOMALY_NUMBERS 5

struct deviation {
	double value, median, scatter;
	size_t count; /* of the others */
};

/* The others are put in order, and lost.  False: it does not differ, or there are too few. */
bool deviation_of(double value, double *others, size_t count, struct deviation *ret);

struct anomaly_job {
	const char *like; /* equal for jobs that are alike: the user's, of a name and a size */
	const char *node; /* NULL: it ran on several */
	uint64_t start_ns;
	double numbers[ANOMALY_NUMBERS]; /* NAN: not known; the first is the time that it took */
	size_t tag; /* the caller's */
};

struct anomaly {
	const struct anomaly_job *job; /* NULL: of a node */
	const char *node; /* whose jobs took more or less time than similar jobs on its peers; NULL:
			     of a job */
	size_t number; /* of a job: which of its numbers */
	struct deviation deviation; /* of a node: of the median of time / usual time */
};

/* The rank that did most more than the others of its job, else the one that did least; by seconds
 * of work. NULL: none differs, or there are too few. */
const struct rank_time *rank_deviation(const struct rank_times *ranks, struct deviation *ret);

/* Sorts the jobs: similar ones together, the earliest first. @take is called for each outlier; a
 * negative result ends the search. -ENOMEM. */
int anomalies_find(struct anomaly_job *jobs, size_t count,
		   int (*take)(void *context, const struct anomaly *anomaly), void *context);
