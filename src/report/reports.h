/* SPDX-License-Identifier: MIT */
/*
 * reports - a record as a person reads it, on a terminal and in a ticket: what it was, cores,
 * memory, files, and what is not known.  html_report has the page.
 *
 * Whatever is not known is "-"; the reason stands in the last lines.
 */
#pragma once

#include <stdio.h>

struct analysis;
struct page;
struct record;
struct records;
struct rules;

/* @last is the run of the same command before, or NULL; @rules tell what stands out. */
void report_text(const struct record *now, const struct record *last, const struct rules *rules,
		 struct page *page);

/* One line a record, for a few ranks or nodes, and the least, the mean and the most of all. */
void report_list(const struct records *records, struct page *page);

/* In short; @analysis is of @r. */
void markdown_report(const struct record *r, const struct analysis *analysis, FILE *out);
