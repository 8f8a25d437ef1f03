/* SPDX-License-Identifier: MIT */
/* top_line - a tick as a line of JSON (jobmeter.snapshot/1), with each job's numbers since the
 * previous tick. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct top;

/* @is_all: the jobs that the filter hides too.  -ENOMEM, -EIO...: what it wrote is no line. */
int top_line_write(const struct top *t, bool is_all, FILE *out);
