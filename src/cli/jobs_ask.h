/* SPDX-License-Identifier: MIT */
/* jobs_ask - rows of jobs, and of what they add up to, wherever they are read from. */
#pragma once

#include <jansson.h>

struct document;
struct error;
struct job_filter;
struct jobs_column;
struct reader;

/* jobs_complete() of each. */
void jobs_complete_all(json_t *jobs);

/* What the jobs that match add up to, a row for each text of the column @by, the one with the most
 * core time first; the caller unrefs *ret. */
int jobs_ask_sums(struct reader *reader, const struct jobs_column *by,
		  const struct job_filter *filter, json_t **ret, struct error *err);

/* Adds to rows of jobs, or of what they are summed by (@by: its key), what they emitted and cost.
 * @filter: that of the rows.  -ENOTSUP: it is not known here. */
int jobs_add_emissions(struct reader *reader, const char *by, const struct job_filter *filter,
		       json_t *jobs, struct error *err);

/* A row as a map. */
void jobs_row_format(json_t *row, struct document *d);
