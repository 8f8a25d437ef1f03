/* SPDX-License-Identifier: MIT */
/* text_timeline - curves of blocks over time, and marks below them where something was found. */
#pragma once

struct page;
struct rows_timeline;

/* Nothing, if there are too few buckets for a curve, or nothing happened. */
void text_timeline(const struct rows_timeline *t, const char *label, struct page *page);
