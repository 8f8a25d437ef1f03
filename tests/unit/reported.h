/* SPDX-License-Identifier: MIT */
/* reported - a report of a record as a text, for tests: by the rules that are built in. */
#pragma once

#include <stdio.h>

struct analysis;
struct record;

typedef void (*report_writer)(const struct record *r, const struct analysis *analysis, FILE *out);

/* What @write writes of it; never NULL, and the caller frees. */
char *reported(report_writer write, const struct record *r);
