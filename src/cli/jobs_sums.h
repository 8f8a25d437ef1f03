/* SPDX-License-Identifier: MIT */
/*
 * jobs_sums - what jobs did together: a row for each user, account, class or whatever else tells
 * them apart.
 *
 * A row is as one of a job, so that the columns of jobs_columns fit: its numbers are sums over the
 * jobs that know them, of counters alone, since a sum of peaks is none of anything.
 */
#pragma once

#include <jansson.h>

struct jobs_column;
struct jobs_sums;

/* @by stays the caller's.  NULL: no memory. */
struct jobs_sums *jobs_sums_new(const struct jobs_column *by);
void jobs_sums_free(struct jobs_sums *s);

/* Add jobs, which jobs_complete() has seen; those without a text in the column are one row.
 * -ENOMEM. */
int jobs_sums_add(struct jobs_sums *s, const json_t *jobs);

/* The rows, the one with the most core time first.  NULL: no memory.  The caller unrefs. */
json_t *jobs_sums_rows(struct jobs_sums *s);

/* The same order of rows that another has added up, which it completes. */
json_t *jobs_sums_sort(json_t *rows);

static inline void jobs_sums_freep(struct jobs_sums **s)
{
	jobs_sums_free(*s);
}
