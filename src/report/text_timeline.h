/* SPDX-License-Identifier: MIT */
/* text_timeline - curves of blocks over time, and marks below them where something was found. */
#pragma once

#include <stdbool.h>

struct page;
struct rows_timeline;

/* Nothing, if there are too few buckets for a curve, or nothing happened.  Not @is_full: cores, and
 * what was read or written, whichever is more. */
void text_timeline(const struct rows_timeline *t, const char *label, bool is_full,
		   struct page *page);
