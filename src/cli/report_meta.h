/* SPDX-License-Identifier: MIT */
/* report_meta - the part of a report that says what was done with metadata, and how much of it
 * failed. */
#pragma once

#include "page.h"

struct record;

/* A table of the operations that the job used most, as many as fit, and a line of the others. */
void report_meta(const struct record *r, struct page *page);

/* A sentence for each operation on metadata that failed often (METADATA_FAILED_MIN times, and once
 * in METADATA_FAILED_SHARE calls), the most frequent first.  Returns how many were told. */
#define METADATA_FAILED_MIN 1000
#define METADATA_FAILED_SHARE 10
size_t report_meta_failures(const struct record *r, const char *label, struct page *page);
