/* SPDX-License-Identifier: MIT */
/* report_hot - the part of a report that says which files and folders were used most, and how. */
#pragma once

#include "page.h"

struct record;

/* Nothing, if the record does not tell of files one by one. */
void report_hot(const struct record *r, struct page *page);
