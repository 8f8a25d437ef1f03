/* SPDX-License-Identifier: MIT */
/* reported - a report of a record as a text, for tests: by the rules that are built in; and rows
 * alone. */
#pragma once

#include <stdio.h>

struct analysis;
struct record;
struct rows;

typedef void (*report_writer)(const struct record *r, const struct analysis *analysis, FILE *out);

/* What @write writes of it; never NULL, and the caller frees. */
char *reported(report_writer write, const struct record *r);

/* The rows in a form of text (ROWS_SCREEN, ROWS_TEXT) on a page so wide; they are freed.  Never
 * NULL, and the caller frees. */
char *reported_rows(struct rows *rows, unsigned int form, unsigned int width);
