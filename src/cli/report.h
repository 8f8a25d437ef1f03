/* SPDX-License-Identifier: MIT */
/* report - what people see of one record, or of several as one. */
#pragma once

struct error;
struct page;
struct records;
struct rules;

/* One record with what changed since the last local run of its command; several merged, and if they
 * are few each on a line; with what @rules say.  There must be one at least. */
int report_print(const struct records *records, const struct rules *rules, struct page *page,
		 struct error *err);
