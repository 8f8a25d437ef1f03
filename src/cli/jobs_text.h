/* SPDX-License-Identifier: MIT */
/* jobs_text - a list of jobs as a table for people, and as CSV. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct job_rows;
struct jobs_columns;

/* @fits: on a terminal that is too narrow names are shortened, and columns go.  Elsewhere all is
 * there, whatever the width. */
void jobs_text(const struct job_rows *rows, const struct jobs_columns *columns, bool has_head,
	       bool fits, FILE *out);
void jobs_csv(const struct job_rows *rows, const struct jobs_columns *columns, bool has_head,
	      FILE *out);
