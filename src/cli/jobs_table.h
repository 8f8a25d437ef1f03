/* SPDX-License-Identifier: MIT */
/* jobs_table - rows of jobs, or of sums over them, as `jobs` and `usage` write them: as a table, as
 * CSV, or as a document with all that the rows have. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/jobs_columns.h"

struct error;
struct output;

struct jobs_table {
	struct jobs_columns columns;
	const json_t *rows; /* the caller's */
	bool has_no_legend;
	bool has_standard_columns; /* not chosen: some are dropped on a narrow terminal */
	const char *schema, *list; /* of the document, and its member with the rows */
	const char *by; /* a member of its own; NULL: there is none */
};

/* An output_writer of a struct jobs_table. */
int jobs_table_write(const struct output *output, const void *what, FILE *out, struct error *err);
