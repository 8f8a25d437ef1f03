/* SPDX-License-Identifier: MIT */
/* report_waits - the part of a report that says what threads waited for. */
#pragma once

#include "page.h"

struct record;

/* A sentence with the causes that took the most time, as far as each took a hundredth of all; nothing where they are
 * not known, or threads were hardly ever blocked. */
void report_waits(const struct record *r, struct page *page);
