/* SPDX-License-Identifier: MIT */
/* report_core_time - where the core time went: on a CPU, lost to what, idle. */
#pragma once

#include <stdbool.h>

struct page;
struct record;

/* One bar a part, of which a hundredth or more went there, the rest as one.  False: it is not
 * known, and nothing was told. */
bool report_core_time(const struct record *r, struct page *page);
