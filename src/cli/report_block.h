/* SPDX-License-Identifier: MIT */
/* report_block - the part of a report that says what block devices did. */
#pragma once

#include "page.h"

struct record;

/* A table of devices, where there was any request. */
void report_block(const struct record *r, struct page *page);
