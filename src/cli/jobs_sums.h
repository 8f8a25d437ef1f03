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

/*
 * Rows of @jobs, which jobs_complete() has seen, by the text of @by; those without one are together
 * in a row without one.  The most core time comes first.  NULL: no memory.  The caller unrefs.
 */
json_t *jobs_sums(const json_t *jobs, const struct jobs_column *by);
