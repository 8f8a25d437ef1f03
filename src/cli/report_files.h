/* SPDX-License-Identifier: MIT */
/* report_files - the part of a report that says what was done with files, mount by mount. */
#pragma once

#include "page.h"

struct record;

/* What was read and written, by which ways, what was done with metadata, what took the time, what
 * failed, what kernel threads did meanwhile, and whether the books agree. */
void report_files(const struct record *r, struct page *page);
