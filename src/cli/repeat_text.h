/* SPDX-License-Identifier: MIT */
/* repeat_text - what `run --repeat` says of all its runs together. */
#pragma once

struct page;
struct records;
struct variables;

/* How the numbers that everybody asks first vary, which runs are outliers, and which failed.  There
 * must be one record at least, in the order of the runs. */
void repeat_text(const struct records *runs, const struct variables *variables, struct page *page);
