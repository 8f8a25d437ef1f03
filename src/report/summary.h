/* SPDX-License-Identifier: MIT */
/* summary - a record in five lines, for the end of a job's output. */
#pragma once

struct page;
struct record;
struct rules;

/* Five lines, however long: what it was, the first finding and what to do, CPU efficiency, memory
 * efficiency, and where more is. */
void summary_text(const struct record *r, const struct rules *rules, struct page *page);
