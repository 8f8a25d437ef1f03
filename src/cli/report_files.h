/* SPDX-License-Identifier: MIT */
/* report_files - the part of a report that says what was done with files, mount by mount. */
#pragma once

#include "page.h"

struct record;

/* What was read and written, opened and closed, what failed, and whether the books agree. */
void report_files(const struct record *r, struct page *page);

/* "≥" before figures that a note of the record calls a lower bound; else "". */
const char *report_bound(const struct record *r);
