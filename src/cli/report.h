/* SPDX-License-Identifier: MIT */
/* report - what people see of one record, or of several as one. */
#pragma once

struct error;
struct page;
struct records;

/* One record with what changed since the last local run of its command; several merged, and if they
 * are few each on a line.  There must be one at least. */
int report_print(const struct records *records, struct page *page, struct error *err);
