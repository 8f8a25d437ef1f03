/* SPDX-License-Identifier: MIT */
/* report_timeline - when a job did what, in a few small curves. */
#pragma once

struct page;
struct patterns;
struct record;

/* Nothing, if it has no timeline or took only some seconds.  @patterns are marked below the curves;
 * NULL: none. */
void report_timeline(const struct record *r, const struct patterns *patterns, struct page *page);
