/* SPDX-License-Identifier: MIT */
/*
 * reports - a record as a person reads it, on a terminal and in a ticket: what it was, cores,
 * memory, files, and what is not known.  html_report has the page.
 *
 * Unknown values are "-"; the last lines give the reason.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct analysis;
struct page;
struct record;
struct records;
struct rules;

/* @last is the run of the same command before, or NULL; @rules give the findings. */
void report_text(const struct record *now, const struct record *last, const struct rules *rules,
		 struct page *page);

#define REPORT_COLUMNS_MAX 16

struct report_columns { /* of the list, in the order in which they stand; begins as {}: all */
	size_t items[REPORT_COLUMNS_MAX];
	size_t count;
};

/* "rank", "memory"...; NULL: there is no such column. */
const char *report_column_name(size_t i);

/* One line a record, for a few ranks or nodes, and the least, the mean and the most of all.  With
 * @wanted columns one line a record, however many there are, and nothing else. */
void report_list(const struct records *records, const struct report_columns *wanted,
		 struct page *page);

/* In short; @analysis is of @r. */
void markdown_report(const struct record *r, const struct analysis *analysis, FILE *out);

/* Five lines, however long: what it was, the first finding and what to do, CPU efficiency, memory
 * efficiency, and where more is. */
void summary_text(const struct record *r, const struct rules *rules, struct page *page);
